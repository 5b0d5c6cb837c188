"""A suite as CSV and as JSON lines, both ways without loss.

CSV has a column for each field, one for each input (``inputs.NAME``), and ``other``: JSON for what a cell cannot say,
such as a number among texts, an input that is absent, an expected output that is empty. JSON lines name the prompt
(and, where the suite says one, the comparison with expected outputs as ``suite_match``); then comes a case per line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptpex.codecs import jsonl, safe_csv
from promptpex.core.errors import SuiteError
from promptpex.core.match_kinds import DEFAULT_MATCH, match_name
from promptpex.core.records import Case, Problem, Suite
from promptpex.documents.editable_file import CASES, Reading
from promptpex.documents.ownership import called, claimed, derived_id
from promptpex.documents.record_problems import record_problems, unknown_key

PREFIX = "inputs."
MATCH = "suite_match"
"""The column of the suite's own comparison with expected outputs, where it names one."""
FIELDS = (
    "id", "rule", "inverse", "reasoning", "expected", "match", "origin", "scenario", "answer_in_context",
    "inputs_fingerprint", "expanded_from", "expected_from", "invalid", "aside", "content",
)  # fmt: skip
_KNOWN = ("prompt", *FIELDS, "other", MATCH)
NOUN = CASES.items[0].noun


def csv_text(suite: Suite, before: str = "") -> str:
    """The suite as CSV that a spreadsheet opens without running anything; what the file said ``before`` does not
    matter."""
    return safe_csv.dumps(rows_of(suite))


def is_of_csv(value: object) -> bool:
    """Whether a cell of CSV can hold a value, and other programs read it back."""
    return isinstance(value, str) and "\0" not in value


def rows_of(suite: Suite, fits: Callable[[object], bool] = is_of_csv) -> list[list[Any]]:
    """The suite as rows of a table, the names of the columns first.

    Args:
        fits: whether a cell can hold a value; what it cannot goes into ``other``.
    """
    names = dict.fromkeys(name for case in suite.cases for name in case.inputs if fits(PREFIX + name))
    prompt = suite.prompt if fits(suite.prompt) else ""
    rows: list[list[Any]] = [
        ["prompt", "id", "rule", "inverse", *(PREFIX + name for name in names), *FIELDS[3:], "other"]
    ]
    rows += [_row(prompt, case, names, fits) for case in suite.cases]
    if not suite.cases:
        rows.append([prompt] + [""] * (len(rows[0]) - 1))
    if suite.match:
        rows = [[*row, MATCH if number == 0 else suite.match] for number, row in enumerate(rows)]
    return rows


def _row(prompt: str, case: Case, names: Collection[str], fits: Callable[[object], bool]) -> list[Any]:
    other: dict[str, Any] = {"also_right": list(case.also_right)}
    fields = [_cell(name, getattr(case, name), other, fits) for name in FIELDS]
    fitting = {name: value for name, value in case.inputs.items() if name in names and fits(value)}
    other["rating"] = case.rating.to_dict() if case.rating is not None else None
    other["inputs"] = {name: value for name, value in case.inputs.items() if name not in fitting}
    other["absent"] = [name for name in names if name not in case.inputs]
    order = list(case.inputs)
    other["order"] = order if order != [name for name in names if name in case.inputs] else None
    rest = {name: value for name, value in other.items() if value not in (None, [], {})}
    inputs = (fitting.get(name, "") for name in names)
    return [prompt, *fields[:3], *inputs, *fields[3:], jsonl.dumps(rest) if rest else ""]


def _cell(name: str, value: Any, other: dict[str, Any], fits: Callable[[object], bool]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if (value == "" and name != "reasoning") or (value and not fits(value)):
        other[name] = value
        return ""
    return value or ""


def parse_csv(text: str, path: Path | str) -> Reading[Suite]:
    rows = safe_csv.loads(text, path=path, error=SuiteError)
    head = [name.strip() for name in rows[0].cells] if rows else []
    check_columns(head, path)
    filled = [row for row in rows[1:] if any(row.cells)]
    return gather([(row.line, fields_of(cells_by_name(head, row, path), path, row.line)) for row in filled], path)


def cells_by_name(head: Sequence[str], row: safe_csv.CsvRow, path: Path | str) -> dict[str, Any]:
    if len(row.cells) != len(head):
        message = f"this row has {len(row.cells)} cells; the first row names {len(head)}"
        raise SuiteError(message, path=path, line=row.line)
    return dict(zip(head, row.cells, strict=True))


def are_ours(names: Iterable[str]) -> bool:
    names = set(names)
    return any(name.startswith(PREFIX) for name in names) or {"id", "other"} <= names


def check_columns(names: Sequence[str], path: Path | str) -> None:
    """Refuses columns that mean nothing here."""
    for name, times in Counter(names).items():
        if name not in _KNOWN and not name.startswith(PREFIX):
            message, hint = unknown_key(name, [*_KNOWN, PREFIX + "NAME"])
            raise SuiteError(f"{message.replace('key', 'column')}; {hint}", path=path, line=1)
        if times > 1:
            raise SuiteError(f"the column {name!r} appears twice", path=path, line=1)
    if not are_ours(names):
        raise SuiteError("the first row must name the columns, with 'inputs.NAME' among them", path=path, line=1)


def fields_of(row: Mapping[str, Any], path: Path | str, line: int) -> dict[str, Any]:
    """The fields of a case from a row of such a table, by its columns; empty cells say nothing."""
    cells = dict(row)
    other = _other(cells.pop("other", ""), path, line)
    absent = other.pop("absent", [])
    odd = other.pop("inputs", {})
    order = other.pop("order", None)
    inputs = {name.removeprefix(PREFIX): cells.pop(name) for name in row if name.startswith(PREFIX)}
    inputs = {name: value for name, value in inputs.items() if name not in absent} | odd
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


def jsonl_text(suite: Suite, before: str = "") -> str:
    """The suite as JSON lines; lines of ``before`` that still say the same are kept as they are."""
    old = {jsonl.dumps(line.value): line.text for line in jsonl.parse(before, error=SuiteError)}
    values: list[Any] = [{"prompt": suite.prompt, **({MATCH: suite.match} if suite.match else {})}]
    values += [{**case.to_dict(), "inverse": case.inverse, "origin": case.origin} for case in suite.cases]
    return "".join(f"{old.get(line, line)}\n" for line in map(jsonl.dumps, values))


def parse_jsonl(text: str, path: Path | str) -> Reading[Suite]:
    """The suite of a JSON lines text, the line of each case, and what is wrong with the rest."""
    return gather(objects(text, path), path)


def objects(text: str, path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line in jsonl.parse(text, path=path, error=SuiteError):
        if not isinstance(line.value, dict):
            raise SuiteError("each line must hold one case, a JSON object", path=path, line=line.number)
        yield line.number, line.value


def gather(rows: Iterable[tuple[int, dict[str, Any]]], path: Path | str) -> Reading[Suite]:
    """The suite of these rows, each with its line.

    A row may name the prompt under ``prompt``, and under ``suite_match`` how outputs are compared where a case does not
    say it; one with neither an id nor inputs says nothing else. A case without an id is called by its inputs.
    """
    prompt, match = "", ""
    cases: dict[str, Case] = {}
    lines: dict[str, int] = {}
    problems: list[Problem] = []
    for line, row in rows:
        fields = dict(row)
        prompt = str(fields.pop("prompt", "") or "") or prompt
        named = str(fields.pop(MATCH, "") or "")
        wrong = _match_problems(named, line, path)
        problems += wrong
        match = match if wrong else named or match
        if not fields or (fields.get("id") is None and not fields.get("inputs")):
            continue
        is_named = fields.get("id") is not None
        if not is_named:
            fields["id"] = derived_id(fields["inputs"], NOUN)
        try:
            case = claimed(Case.model_validate(fields), fields)
        except ValidationError as failure:
            problems += [
                Problem(path=str(path), line=line, message=problem.message, suggestion=problem.suggestion)
                for problem in record_problems(failure, Case)
            ]
            continue
        if case.id in cases:
            problems.append(Problem(path=str(path), line=line, message=f"the case id {case.id!r} is used twice"))
            continue
        cases[case.id], lines[case.id] = case, line
        if not is_named:
            problems.append(Problem.info(path, line, called(NOUN, case.id)))
    suite = Suite(prompt=prompt, match=match or None, cases=tuple(cases.values()))
    return Reading(suite, tuple(problems), lines, error=SuiteError, path=path)


def _match_problems(named: str, line: int, path: Path | str) -> list[Problem]:
    try:
        match_name(named or DEFAULT_MATCH)
    except ValueError as error:
        return [Problem(path=str(path), line=line, message=f"suite_match: {error}")]
    return []
