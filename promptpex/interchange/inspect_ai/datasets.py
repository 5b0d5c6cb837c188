"""Datasets of Inspect (CSV, JSON, JSON lines with ``input`` and ``target``) as cases; of chats also the prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from promptpex.codecs import safe_csv
from promptpex.codecs.files.text_file import read_text
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.errors import InputError
from promptpex.core.records import INPUT_VARIABLE
from promptpex.core.translation import stored
from promptpex.interchange.case_tables import csv_table
from promptpex.interchange.format import Imported
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Unfit, messages_of
from promptpex.interchange.reading.exchanges import Exchange
from promptpex.interchange.reading.foreign_rows import JSON_ENDINGS, first_row, json_rows
from promptpex.interchange.reading.foreign_values import At, mapping
from promptpex.interchange.reading.inferred_project import assembled

_READ = frozenset(("input", "target", "choices", "id"))
_KEYS = _READ | {"metadata", "files", "setup", "sandbox", "description"}
_OF_TURNS = frozenset(("role", "content", "type", "text"))
"""Keys of turns, which stand among those of a row that is too long to be looked at whole."""
_WHAT = "dataset"


def read(path: Path) -> Imported:
    """The cases of a dataset; where inputs are chats, also the prompt that they share.

    Raises:
        InputError: it is not an Inspect dataset, or nothing in it can come over; with file and line.
    """
    log = Log()
    return assembled(list(_exchanges(path, log)), path, log)


def _exchanges(path: Path, log: Log) -> Iterator[Exchange]:
    rows = _csv_rows(path) if path.suffix.lower() == ".csv" else json_rows(path, _WHAT)
    for value, at in rows:
        row = mapping(value, at, "a sample")
        for name in row:
            if row[name] is not None and name not in _READ:
                log.left_out(name, stored("promptpex has no equivalent"), at.path, at.line)
        try:
            yield _exchange(row, at)
        except Unfit as failure:
            log.left_out(at.name, failure.why, at.path, at.line)


def _exchange(row: Mapping[str, object], at: At) -> Exchange:
    input_value, name, choices = row.get("input"), row.get("id"), row.get("choices")
    if input_value is None or input_value == "":
        raise Unfit(stored("a sample needs an input"))
    inputs: dict[str, object] = {} if choices in (None, []) else {"choices": choices}
    named_as = "" if name is None else value_text(name)
    if isinstance(input_value, str):
        return Exchange(at, inputs={INPUT_VARIABLE: input_value, **inputs}, name=named_as, expected=right_of(row))
    return Exchange(at, messages_of(input_value), inputs, name=named_as, expected=right_of(row))


def right_of(row: Mapping[str, object]) -> tuple[str, ...]:
    """The right outputs of a sample, none where its target is empty."""
    target = row.get("target")
    targets = target if isinstance(target, list) else [target]
    return tuple(value_text(one) for one in targets if one is not None and one != "")


def _csv_rows(path: Path) -> Iterator[tuple[object, At]]:
    text = read_text(path, error=InputError, what=_WHAT, limit=safe_csv.MAX_BYTES)
    for line, row in csv_table(text, path).rows:
        yield {name: _cell(name, value, path, line) for name, value in row.items()}, At(path, row=line)


def _cell(name: str, value: object, path: Path, line: int) -> object:
    """A cell as Inspect reads it: empty ones are nothing, choices stand between commas."""
    if not isinstance(value, str) or value == "":
        return None
    if name == "choices":
        choices = safe_csv.cells_of(value, path=path, line=line, strict=False)
        return [choice.strip() for choice in choices if choice.strip()]
    return value


def recognise(path: Path) -> bool:
    """Whether samples have an input and a target, and nothing that Inspect's lack."""
    if path.suffix.lower() not in (".csv", *JSON_ENDINGS):
        return False
    names = first_row(path).keys()
    return {"input", "target"} <= names and names <= _KEYS | _OF_TURNS
