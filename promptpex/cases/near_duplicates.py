"""Situations: whether two cases tell the same story in other words, as far as code can see.

Two cases are compared by the longer words of their texts, in any order and without their endings; where there are too
few of them, as in scripts without blanks, by the wording. Numbers have to be the same, since a boundary may lie between
them; only long ones are taken for ids, which mean nothing. So have the values that are not texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from promptpex.cases.comparable_words import words
from promptpex.cases.duplicates import THRESHOLD
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.records import Case

ALIKE = 0.6
"""The share of their words that two texts have in common from which they tell the same."""
LEAST = 3
"""Longer words that a text must have to be compared by them."""
SHORTEST = 12
"""Characters that a text must have to be compared by its wording."""
STEM = 5
"""Letters of a word that are compared, so that ``shipped`` and ``shipping`` count as one."""
_ID = re.compile(r"\d{5,}")


@dataclass(frozen=True, slots=True)
class Situation:
    """What of a case is compared.

    Attributes:
        stems: the beginnings of the longer words of its texts.
        wording: all their words.
        numbers: the numbers in them, ids aside.
        rest: its other values, ids masked.
    """

    stems: frozenset[str]
    wording: str
    numbers: frozenset[str]
    rest: tuple[tuple[str, str], ...]


def situation_of(inputs: Mapping[str, Any]) -> Situation:
    """The situation that these inputs describe."""
    texts = {name: value for name, value in inputs.items() if isinstance(value, str) and not _is_record(value)}
    spoken = [word for text in texts.values() for word in words(text)]
    return Situation(
        stems=frozenset(word[:STEM] for word in spoken if len(word) > 3 and word.isalpha()),
        wording=" ".join(spoken),
        numbers=frozenset(word for word in spoken if word.isdecimal() and not _ID.fullmatch(word)),
        rest=tuple((name, _ID.sub("0", value_text(inputs[name]))) for name in sorted(set(inputs) - set(texts))),
    )


def first_alike(case: Case, others: Iterable[tuple[Case, Situation]]) -> Case | None:
    """The first of the other cases that has this one's situation, surely enough to ask for another."""
    own = situation_of(case.inputs)
    return next((other for other, situation in others if _same(own, situation)), None)


def _same(a: Situation, b: Situation) -> bool:
    if (a.numbers, a.rest) != (b.numbers, b.rest):
        return False
    if min(len(a.stems), len(b.stems)) < LEAST:
        return min(len(a.wording), len(b.wording)) >= SHORTEST and _ratio(a.wording, b.wording) >= THRESHOLD
    return len(a.stems & b.stems) >= ALIKE * len(a.stems | b.stems)


def _ratio(a: str, b: str) -> float:
    from rapidfuzz import fuzz

    return float(fuzz.ratio(a, b, score_cutoff=THRESHOLD * 100)) / 100


def _is_record(text: str) -> bool:
    """Whether a text is JSON or the like, whose words are names of keys."""
    return text.lstrip().startswith(("{", "[")) and text.rstrip().endswith(("}", "]"))
