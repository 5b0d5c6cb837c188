"""The verdicts of a large run as a table in a Parquet file, in place of ``verdicts.jsonl`` and ``verdicts.csv``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptpex.codecs import parquet_tables
from promptpex.codecs.files.atomic import writing
from promptpex.core.errors import RunError
from promptpex.core.records import Suite, Verdict

CUBE = "verdicts.parquet"

MOST_LINES = 2_000_000
"""Verdicts up to which a run keeps them as lines of JSON: outputs times rules, and what several judges add."""

ROWS = 100_000
"""Verdicts that are written at a time."""

COLUMNS: Mapping[str, parquet_tables.Kind] = {
    "case": "category",
    "aim": "category",
    "inverse": "flag",
    "scenario": "category",
    "model": "category",
    "repeat": "whole",
    "rule": "category",
    "status": "category",
    "reason": "text",
    "unscored": "category",
    "source": "category",
    "counts": "flag",
    "turn": "whole",
    "confidence": "number",
    "fingerprint": "category",
}
"""The columns of the table, those of ``tables.verdicts``; ``aim``, ``inverse`` and ``scenario`` are the case's."""

_FIELDS = tuple(name for name in COLUMNS if name in Verdict.model_fields)


def write(folder: Path, suite: Suite, verdicts: Iterable[Verdict]) -> bool:
    """Writes the verdicts of a run of these cases into its folder; whether that could be done: not without pyarrow, nor
    where a text holds half of a character (a lone surrogate), which Parquet does not have.

    Raises:
        OSError: the folder cannot be written.
    """
    if not parquet_tables.is_available():
        return False
    try:
        with writing(folder / CUBE, links=False) as file:
            parquet_tables.write(file, COLUMNS, _parts(suite, verdicts))
    except ValueError:
        return False
    return True


def lacks_parquet(folder: Path, verdicts: int, most_lines: int = MOST_LINES) -> bool:
    """Whether so many verdicts of a run are lines of JSON in its folder alone since pyarrow is not installed."""
    return verdicts > most_lines and not (folder / CUBE).exists() and not parquet_tables.is_available()


def read(folder: Path) -> Iterator[Verdict]:
    """The verdicts that a folder keeps in a table, each held against its record.

    Raises:
        RunError: the file is damaged, or pyarrow is not installed.
    """
    path = folder / CUBE
    batches = parquet_tables.read(path, _FIELDS, what="table of verdicts", error=RunError)
    rows = (values for columns in batches for values in zip(*columns, strict=True))
    for number, values in enumerate(rows, 1):
        try:
            yield Verdict.model_validate(dict(zip(_FIELDS, values, strict=True)))
        except ValidationError as error:
            first = error.errors()[0]
            why = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
            raise RunError(f"is damaged ({why}) in row {number}", path=path) from error


def _parts(suite: Suite, verdicts: Iterable[Verdict]) -> Iterator[dict[str, list[Any]]]:
    cases, left = suite.by_id, iter(verdicts)
    while part := list(islice(left, ROWS)):
        of_cases = [cases.get(one.case) for one in part]
        columns: dict[str, list[Any]] = {name: [getattr(one, name) for one in part] for name in _FIELDS}
        columns["aim"] = [case and case.rule for case in of_cases]
        columns["inverse"] = [case and case.inverse for case in of_cases]
        columns["scenario"] = [case and case.scenario for case in of_cases]
        yield {name: columns[name] for name in COLUMNS}
