"""Cases on one line each, cut around what sets them apart: an author who is to write other situations reads these.

Of a JSON object the members are shown that differ from what most of the cases have, of texts that all begin alike what
follows the beginning; and a value that needs less than its share of the room leaves the rest to the others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut
from promptpex.core.records import Case
from promptpex.core.sentences import on_one_line

LEAST_SHARE = 20
"""Characters that a value is shown of at least; a common beginning has to be as long to be left out."""
DEEPEST = 3
"""Levels of a JSON object that are looked into."""


class CaseExcerpts:
    """What sets each of some cases apart from the others."""

    def __init__(self, cases: Sequence[Case]) -> None:
        members = Counter(member for case in cases for member in _members(case.inputs))
        self._usual = {member for member, count in members.items() if count > len(cases) / 2 and count > 1}
        names = dict.fromkeys(name for case in cases for name in case.inputs)
        self._beginnings = {name: _common_beginning([case.inputs.get(name, "") for case in cases]) for name in names}

    def of(self, case: Case, room: int) -> str:
        """The values of a case in about ``room`` characters, those of several variables behind each other."""
        texts = [self._shown(name, value) for name, value in case.inputs.items()]
        shares = _shares([len(text) for text in texts], room)
        return " | ".join(cut(text, share) for text, share in zip(texts, shares, strict=True))

    def _shown(self, name: str, value: Any) -> str:
        record = _record(value)
        if record is None:
            text = _on_one_line(value)
            beginning = self._beginnings[name]
            return f"…{text[len(beginning) :]}" if beginning else text
        unusual = [(path, text) for path, text in _leaves(record) if (name, path, text) not in self._usual]
        return ", ".join(f"{path}: {text}" for path, text in unusual) or "{…}"


def _members(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The variable, path and text of each member of the JSON objects among the inputs."""
    for name, value in inputs.items():
        for path, text in _leaves(_record(value) or {}):
            yield name, path, text


def _record(value: Any) -> dict[str, Any] | None:
    """A value that is a JSON object, as it is or as its text; None for all others."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) and value else None


def _leaves(record: Mapping[str, Any], path: str = "", level: int = 1) -> Iterator[tuple[str, str]]:
    for name, value in record.items():
        if isinstance(value, dict) and value and level < DEEPEST:
            yield from _leaves(value, f"{path}{name}.", level + 1)
        else:
            yield f"{path}{name}", _on_one_line(value)


def _common_beginning(values: Sequence[Any]) -> str:
    """The words with which all values begin, where there are several and they are texts that have many in common."""
    if len(values) < 2 or not all(isinstance(value, str) and _record(value) is None for value in values):
        return ""
    texts = [_on_one_line(value) for value in values]
    first, last = min(texts), max(texts)
    alike = next((at for at, (one, two) in enumerate(zip(first, last, strict=False)) if one != two), len(first))
    beginning = first[: first.rfind(" ", 0, alike) + 1]
    return beginning if len(beginning) >= LEAST_SHARE else ""


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """How many characters each of several texts gets: short ones what they need, the others equal parts of the rest."""
    shares = [0] * len(lengths)
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
    for settled, index in enumerate(by_length):
        shares[index] = max(LEAST_SHARE, min(lengths[index], room // (len(lengths) - settled)))
        room = max(0, room - shares[index])
    return shares


def _on_one_line(value: Any) -> str:
    return on_one_line(value_text(value))


def by_number(cases: Sequence[Case]) -> dict[str, Case]:
    """The cases by the names that a request gives them, ``i1``, ``i2``: an id may say what the case is for."""
    return {f"i{number}": case for number, case in enumerate(cases, 1)}
