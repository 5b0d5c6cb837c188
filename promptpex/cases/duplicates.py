"""Cases that test the same input twice, or tell the same story in other words; how many independent cases there are.

Two cases are as similar as their least similar variable: a shared document with two questions is two cases. Cases of
the same text are compared with the first of their kind alone, so that a thousand copies make 999 pairs. Situations are
compared by the longer words of their texts, in any order and without endings; where there are too few, as in scripts
without blanks, by the wording. Numbers and values that are not texts have to be the same; long numbers are ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from promptpex.cases.comparable_words import folded, words
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.ids import canonical
from promptpex.core.records import Case

How = Literal["exact", "normalised", "similar"]

THRESHOLD = 0.9
"""Similarity (0..1) from which two cases are near-duplicates: about one character in ten differs."""
BLOCK = 128
"""Texts that are compared with as many others in one call: a matrix of 64 KB."""


@dataclass(frozen=True, slots=True)
class DuplicatePair:
    """Two cases with the same or nearly the same input.

    Attributes:
        a, b: their ids, the one that comes first in the suite first.
        how: ``exact``: the same values; ``normalised``: the same but for case, blanks, punctuation and width;
            ``similar``: by indel distance.
        score: 1 for the first two, else the similarity, 0..1.
        within: whether both aim at the same rule (or at none).
    """

    a: str
    b: str
    how: How
    score: float
    within: bool


def duplicates(cases: Sequence[Case], *, threshold: float = THRESHOLD) -> list[DuplicatePair]:
    """All pairs of duplicates, in the order of the cases.

    Args:
        threshold: similarity (0..1, of the normalised texts) from which two cases are near-duplicates; above 1, only
            exact and normalised ones are named.
    """
    return [_pair(cases[a], cases[b], how, score) for a, b, how, score in sorted(_positions(cases, threshold))]


def _positions(cases: Sequence[Case], threshold: float) -> Iterator[tuple[int, int, How, float]]:
    """Positions of duplicates: the earlier case, the later one, how, and how much."""
    keys = [tuple(sorted((name, _normalised(value)) for name, value in case.inputs.items())) for case in cases]
    exact: dict[str, int] = {}
    normal: dict[Any, int] = {}
    for index, case in enumerate(cases):
        same = exact.setdefault(_exact(case), index)
        alike = normal.setdefault(keys[index], index)
        if same != index:
            yield same, index, "exact", 1.0
        elif alike != index:
            yield alike, index, "normalised", 1.0
    if threshold <= 1:
        first = sorted(normal.values())
        for a, b, score in _similar([dict(keys[index]) for index in first], threshold):
            yield first[a], first[b], "similar", score


def independent(cases: Sequence[Case], *, threshold: float = THRESHOLD) -> int:
    """How many clusters the cases fall into when duplicates, near ones included, count once."""
    return len(clusters(cases, threshold=threshold))


def clusters(cases: Sequence[Case], *, threshold: float = THRESHOLD) -> list[list[str]]:
    """The ids of the cases, those that are linked by duplicates together, in the order of the cases."""
    parent = list(range(len(cases)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for a, b, _, _ in _positions(cases, threshold):
        first, second = sorted((root(a), root(b)))
        parent[second] = first
    groups: dict[int, list[str]] = {}
    for index, case in enumerate(cases):
        groups.setdefault(root(index), []).append(case.id)
    return list(groups.values())


def _pair(a: Case, b: Case, how: How, score: float) -> DuplicatePair:
    return DuplicatePair(a.id, b.id, how, round(score, 4), a.rule == b.rule)


def _exact(case: Case) -> str:
    return "\n".join(f"{name}={_canonical(case.inputs[name])}" for name in sorted(case.inputs))


def _canonical(value: Any) -> str:
    try:
        return canonical(value)
    except (TypeError, ValueError):
        return repr(value)


def _normalised(value: Any) -> str:
    """The words of a value; a text that has none (``?!``, ``🙂``) without its blanks."""
    text = value_text(value)
    return folded(text) or "".join(text.split())


def _similar(texts: Sequence[dict[str, str]], threshold: float) -> Iterator[tuple[int, int, float]]:
    """Pairs of positions with their similarity, among cases that fill the same variables."""
    by_names: dict[tuple[str, ...], list[int]] = {}
    for index, text in enumerate(texts):
        by_names.setdefault(tuple(sorted(text)), []).append(index)
    for names, members in by_names.items():
        for a, b, score in _similar_columns([[texts[index][name] for index in members] for name in names], threshold):
            yield min(members[a], members[b]), max(members[a], members[b]), score


def _similar_columns(columns: Sequence[Sequence[str]], threshold: float) -> Iterator[tuple[int, int, float]]:
    """In blocks ordered by length: texts whose lengths differ too much cannot be similar and are never compared."""
    if not columns:
        return
    order = sorted(range(len(columns[0])), key=lambda index: len(columns[0][index]))
    lengths = [len(columns[0][index]) for index in order]
    for start in range(0, len(order), BLOCK):
        for other in range(start, len(order), BLOCK):
            shortest = lengths[other]
            longest = lengths[min(start + BLOCK, len(order)) - 1]
            if other > start and 2 * longest < threshold * (longest + shortest):
                break
            rows, across = order[start : start + BLOCK], order[other : other + BLOCK]
            yield from _in_block(columns, rows, across, threshold)


def _in_block(
    columns: Sequence[Sequence[str]], rows: Sequence[int], across: Sequence[int], threshold: float
) -> Iterator[tuple[int, int, float]]:
    least: Any = None
    for column in columns:
        scores = _scores([column[index] for index in rows], [column[index] for index in across], threshold)
        least = scores if least is None else least.clip(max=scores)
        if not least.any():
            return
    for row, place in zip(*least.nonzero(), strict=True):
        a, b = rows[int(row)], across[int(place)]
        if rows is not across and rows[0] == across[0] and int(place) <= int(row):
            continue
        if a != b:
            yield a, b, float(least[row, place]) / 100


def _scores(left: list[str], right: list[str], threshold: float) -> Any:
    """The matrix of similarities, 0..100, those under the threshold as 0."""
    from rapidfuzz import fuzz, process

    # A hair below the threshold: the cutoff is compared in other floating point steps than ours.
    return process.cdist(left, right, scorer=fuzz.ratio, score_cutoff=max(threshold * 100 - 1e-6, 1e-6), workers=1)


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
    return text.lstrip().startswith(("{", "[")) and text.rstrip().endswith(("}", "]"))
