"""A suite as the rows of a table, both ways without loss: what CSV, Excel and Parquet files of cases share.

A column for each field, one for each input variable (``inputs.NAME``), and ``other``: JSON for what a cell cannot
say, such as a number among texts, an input that is absent, an expected output that is empty.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpex.codecs import jsonl
from promptpex.core.errors import SuiteError
from promptpex.core.records import Case, Suite
from promptpex.documents.record_problems import unknown_key

PREFIX = "inputs."
MATCH = "suite_match"
"""The column of the suite's own comparison with expected outputs, where it names one."""
FIELDS = (
    "id", "rule", "inverse", "reasoning", "expected", "match", "origin", "scenario", "answer_in_context",
    "inputs_fingerprint", "expanded_from", "expected_from", "invalid", "aside", "content",
)  # fmt: skip


def _is_text(name: str, value: object) -> bool:
    return isinstance(value, str)


@dataclass(frozen=True, slots=True)
class Cells:
    """What the cells of a kind of table can say.

    Attributes:
        unfit: what no text of a cell may hold.
        fits: whether the value of the input of this name may stand in its column, beside that.
        blank: what an empty cell is.
    """

    unfit: re.Pattern[str]
    fits: Callable[[str, object], bool] = _is_text
    blank: str | None = ""

    def holds(self, name: str, value: object) -> bool:
        """Whether the value of an input may stand in its column."""
        return self.fits(name, value) and not (isinstance(value, str) and self.unfit.search(value))


CSV_CELLS = Cells(re.compile("\0"))
"""What a CSV file can hold, and other programs read back."""


def rows_of(suite: Suite, cells: Cells = CSV_CELLS) -> list[list[Any]]:
    """The suite as rows, the names of the columns first."""
    names = list(dict.fromkeys(name for case in suite.cases for name in case.inputs))
    rows: list[list[Any]] = [
        ["prompt", "id", "rule", "inverse", *(PREFIX + name for name in names), *FIELDS[3:], "other"]
    ]
    rows += [_row(suite.prompt, case, names, cells) for case in suite.cases]
    if not suite.cases:
        rows.append([suite.prompt] + [cells.blank] * (len(rows[0]) - 1))
    if suite.match:
        rows = [[*row, MATCH if number == 0 else suite.match] for number, row in enumerate(rows)]
    return rows


def _row(prompt: str, case: Case, names: Sequence[str], cells: Cells) -> list[Any]:
    other: dict[str, Any] = {}
    fields = {name: _cell(name, getattr(case, name), other, cells) for name in FIELDS}
    inputs: list[Any] = []
    odd: dict[str, Any] = {}
    absent: list[str] = []
    for name in names:
        value = case.inputs.get(name)
        fits = cells.holds(name, value)
        inputs.append(value if fits else cells.blank)
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
    rest = jsonl.dumps(other) if other else cells.blank
    return [
        prompt,
        fields["id"],
        fields["rule"],
        fields["inverse"],
        *inputs,
        *(fields[key] for key in FIELDS[3:]),
        rest,
    ]


def _cell(name: str, value: Any, other: dict[str, Any], cells: Cells) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if (value == "" and name != "reasoning") or (value and cells.unfit.search(value)):
        other[name] = value
        return cells.blank
    return value or cells.blank


def is_ours(names: Sequence[str]) -> bool:
    """Whether columns of these names are those of a suite."""
    return any(name.startswith(PREFIX) for name in names) or {"id", "other"} <= set(names)


def check_columns(names: Sequence[str], path: Path | str) -> None:
    """Refuses columns that mean nothing here.

    Raises:
        SuiteError: a column is unknown, or there twice, or there are no inputs.
    """
    known_columns = ("prompt", *FIELDS, "other", MATCH)
    times = Counter(names)
    for name in names:
        if name not in known_columns and not name.startswith(PREFIX):
            message, hint = unknown_key(name, [*known_columns, PREFIX + "NAME"])
            raise SuiteError(f"{message.replace('key', 'column')}; {hint}", path=path, line=1)
        if times[name] > 1:
            raise SuiteError(f"the column {name!r} appears twice", path=path, line=1)
    if not is_ours(names):
        raise SuiteError("the first row must name the columns, with 'inputs.NAME' among them", path=path, line=1)


def fields_of(row: Mapping[str, Any], path: Path | str, line: int) -> dict[str, Any]:
    """The fields of a case from a row of such a table, by its columns; empty cells say nothing.

    Raises:
        SuiteError: ``other`` is not what ``rows_of`` writes.
    """
    cells = dict(row)
    other = _other(cells.pop("other", ""), path, line)
    absent = other.pop("absent", [])
    odd = other.pop("inputs", {})
    order = other.pop("order", None)
    inputs = {name.removeprefix(PREFIX): cells.pop(name) for name in row if name.startswith(PREFIX)}
    inputs = {name: odd.get(name, value) for name, value in inputs.items() if name not in absent}
    inputs = {name: value for name, value in inputs.items() if value is not None or name in odd}
    data: dict[str, Any] = {name: value for name, value in cells.items() if value not in ("", None)}
    if isinstance(order, list) and set(map(str, order)) == set(inputs):
        inputs = {str(name): inputs[str(name)] for name in order}
    return {**data, **other, "inputs": inputs}


def _other(cell: object, path: Path | str, line: int) -> dict[str, Any]:
    if not cell:
        return {}
    try:
        value = json.loads(cell) if isinstance(cell, str) else None
    except (ValueError, RecursionError):
        value = None
    shapes = {"inputs": dict, "absent": list, "order": list}
    if not isinstance(value, dict) or any(not isinstance(value.get(key, kind()), kind) for key, kind in shapes.items()):
        raise SuiteError("the column 'other' must hold a JSON object or nothing", path=path, line=line)
    return value
