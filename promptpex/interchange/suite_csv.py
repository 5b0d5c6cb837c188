"""``csv``: a suite as a table, both ways without loss.

A column for each field, one for each input variable (``inputs.NAME``), and ``other``: JSON for what a cell cannot
say, such as a number among texts, an input that is absent, an expected output that is empty.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from promptpex.codecs import jsonl, safe_csv
from promptpex.core.errors import SuiteError
from promptpex.core.records import Case, Suite
from promptpex.documents.document import Reading
from promptpex.documents.record_problems import unknown_key
from promptpex.interchange.format import Exported, Format, Imported, Mapped, Source, columns
from promptpex.interchange.suite_rows import gather, suite_of

PREFIX = "inputs."
MATCH = "suite_match"
"""The column of the suite's own comparison with expected outputs, where it names one."""
FIELDS = (
    "id", "rule", "inverse", "reasoning", "expected", "match", "origin", "scenario", "answer_in_context",
    "inputs_fingerprint", "expanded_from", "expected_from", "invalid", "aside", "content",
)  # fmt: skip
_UNFIT = re.compile("\0")
"""What a CSV file cannot hold, or no other program reads back."""


def text(suite: Suite, before: str = "") -> str:
    """The suite as CSV; what the file said ``before`` does not matter."""
    return safe_csv.dumps(rows_of(suite))


def rows_of(suite: Suite) -> list[list[str]]:
    """The suite as rows of CSV, the names of the columns first."""
    names = list(dict.fromkeys(name for case in suite.cases for name in case.inputs))
    rows = [["prompt", "id", "rule", "inverse", *(PREFIX + name for name in names), *FIELDS[3:], "other"]]
    rows += [_row(suite.prompt, case, names) for case in suite.cases]
    if not suite.cases:
        rows.append([suite.prompt] + [""] * (len(rows[0]) - 1))
    if suite.match:
        rows = [[*row, MATCH if number == 0 else suite.match] for number, row in enumerate(rows)]
    return rows


def _row(prompt: str, case: Case, names: list[str]) -> list[str]:
    other: dict[str, Any] = {}
    cells = {name: _cell(name, getattr(case, name), other) for name in FIELDS}
    inputs: list[str] = []
    odd: dict[str, Any] = {}
    absent: list[str] = []
    for name in names:
        value = case.inputs.get(name)
        fits = isinstance(value, str) and not _UNFIT.search(value)
        inputs.append(str(value) if fits else "")
        if name not in case.inputs:
            absent.append(name)
        elif not fits:
            odd[name] = value
    if case.also_right:
        other["also_right"] = list(case.also_right)
    if case.rating is not None:
        other["rating"] = case.rating.to_dict()
    if odd:
        other["inputs"] = odd
    if absent:
        other["absent"] = absent
    order = list(case.inputs)
    if order != [name for name in names if name in case.inputs]:
        other["order"] = order
    rest = jsonl.dumps(other) if other else ""
    return [prompt, cells["id"], cells["rule"], cells["inverse"], *inputs, *(cells[name] for name in FIELDS[3:]), rest]


def _cell(name: str, value: Any, other: dict[str, Any]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if (value == "" and name != "reasoning") or (value and _UNFIT.search(value)):
        other[name] = value
        return ""
    return value or ""


def parse(text: str, path: Path | str) -> Reading[Suite]:
    """The suite of a CSV text, the line of each case, and what is wrong with the rest.

    Raises:
        SuiteError: it is not CSV, or has columns that mean nothing here.
    """
    rows = safe_csv.loads(text, path=path, error=SuiteError)
    head = [name.strip() for name in rows[0].cells] if rows else []
    _check_columns(head, path)
    filled = [row for row in rows[1:] if any(row.cells)]
    return gather([(row.line, _case(head, row, path)) for row in filled], path)


def _check_columns(head: list[str], path: Path | str) -> None:
    columns = ("prompt", *FIELDS, "other", MATCH)
    for name in head:
        if name not in columns and not name.startswith(PREFIX):
            message, hint = unknown_key(name, [*columns, PREFIX + "NAME"])
            raise SuiteError(f"{message.replace('key', 'column')}; {hint}", path=path, line=1)
        if head.count(name) > 1:
            raise SuiteError(f"the column {name!r} is there twice", path=path, line=1)
    if not any(name.startswith(PREFIX) for name in head) and not {"id", "other"} <= set(head):
        raise SuiteError("the first row must name the columns, with 'inputs.NAME' among them", path=path, line=1)


def _case(head: list[str], row: safe_csv.CsvRow, path: Path | str) -> dict[str, Any]:
    if len(row.cells) != len(head):
        raise SuiteError(
            f"this row has {len(row.cells)} cells; the first row names {len(head)}", path=path, line=row.line
        )
    cells = dict(zip(head, row.cells, strict=True))
    other = _other(cells.pop("other", ""), path, row.line)
    absent = other.pop("absent", [])
    odd = other.pop("inputs", {})
    order = other.pop("order", None)
    inputs = {name.removeprefix(PREFIX): cells.pop(name) for name in head if name.startswith(PREFIX)}
    inputs = {name: odd.get(name, value) for name, value in inputs.items() if name not in absent}
    data: dict[str, Any] = {name: value for name, value in cells.items() if value != ""}
    if isinstance(order, list) and set(order) == set(inputs):
        inputs = {name: inputs[name] for name in order}
    return {**data, **other, "inputs": inputs}


def _other(cell: str, path: Path | str, line: int) -> dict[str, Any]:
    if not cell:
        return {}
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        value = None
    shapes = {"inputs": dict, "absent": list, "order": list}
    if not isinstance(value, dict) or any(not isinstance(value.get(key, kind()), kind) for key, kind in shapes.items()):
        raise SuiteError("the column 'other' must hold a JSON object or nothing", path=path, line=line)
    return value


def read(path: Path) -> Imported:
    """The suite of a CSV file.

    Raises:
        SuiteError: the first mistake, with file and line.
    """
    return Imported(suite=suite_of(path, parse))


def write(source: Source) -> Exported:
    """The suite as CSV that a spreadsheet opens without running anything."""
    return Exported(text(source.suite()))


def recognise(path: Path) -> bool:
    """Whether the columns are those of a suite."""
    names = columns(path)
    return any(name.startswith(PREFIX) for name in names) or {"id", "other"} <= names


FORMAT = Format(
    name="csv",
    summary="the cases as a table; a column for each field and input",
    extensions=(".csv",),
    reads="suite",
    writes="suite",
    read=read,
    write=write,
    recognise=recognise,
    maps=(
        Mapped("a row", "a case"),
        Mapped("a column `inputs.NAME`", "an input"),
        Mapped("columns `id`, `rule`, `expected` and so on", "the field of this name"),
        Mapped("the column `other`", "what no cell can say, as JSON"),
    ),
)
