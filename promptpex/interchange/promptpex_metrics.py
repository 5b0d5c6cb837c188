"""The metrics of a PromptPex context: files ``NAME.metric.prompty``, which are metrics here as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PureWindowsPath

from promptpex.core.records import EXPECTED
from promptpex.core.translation import stored
from promptpex.interchange.format import ImportedMetric
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.foreign_values import At, items, mapping

_ENDING = ".metric.prompty"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 40
_TAKEN = re.compile(rf"(?:_scored|_ci_low|_ci_high)\Z|\A{EXPECTED}\Z")
"""Names of columns that other figures have."""


def metrics_of(value: object, at: At, text: str, log: Log) -> tuple[ImportedMetric, ...]:
    """The metrics, by name; of two that PromptPex calls the same the later one, as there.

    Args:
        text: of the whole file, in which each is looked for.

    Raises:
        InputError: they are not a list of files.
    """
    by_name: dict[str, ImportedMetric] = {}
    for metric in _files(value, at, text, log):
        before = by_name.pop(metric.name, None)
        if before is not None:
            name, path, line = before.place
            log.left_out(name, stored("a later metric has the same name"), path, line)
        by_name[metric.name] = metric
    return tuple(by_name.values())


def _files(value: object, at: At, text: str, log: Log) -> Iterator[ImportedMetric]:
    start = max(text.find('"metrics"'), 0)
    for item, place in items(value, at, "metrics"):
        file = mapping(item, place, "a metric")
        file_name, content = file.get("filename"), file.get("content")
        if not isinstance(file_name, str) or not isinstance(content, str) or not content.strip():
            log.left_out(place.name, stored("it is not a text file"), place.path, None)
            continue
        base = PureWindowsPath(file_name).name
        file_place = replace(place, keys=(base,), row=_line(text, file_name, start))
        name = _name(base.removesuffix(_ENDING))
        if name != base.removesuffix(_ENDING):
            log.changed(file_place.name, stored("its name here is {name}", name=name), file_place.path, file_place.line)
        yield ImportedMetric(
            name, content.replace("\r\n", "\n"), (file_place.name, str(file_place.path), file_place.line)
        )


def _line(text: str, name: str, start: int) -> int | None:
    """The line of a file's name in the context, from 1."""
    places = (text.find(json.dumps(name, ensure_ascii=is_ascii), start) for is_ascii in (False, True))
    place = next((place for place in places if place >= 0), None)
    return text.count("\n", 0, place) + 1 if place is not None else None


def _name(wanted: str) -> str:
    """The name as one of ours: a letter first, then letters, digits, ``-`` and ``_``."""
    name = _NOT_IN_NAMES.sub("-", wanted).strip("-_") or "metric"
    name = name if name[0].isalpha() else f"metric-{name}"
    name = name[:_LONGEST].rstrip("-_")
    return f"{name[: _LONGEST - 7]}-metric" if _TAKEN.search(name) else name
