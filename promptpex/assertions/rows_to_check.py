"""Rows to check: outputs with what belongs to them, read one by one from JSON lines, CSV, Parquet or a run's folder."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Unscorable
from promptpex.codecs import jsonl, safe_csv, table_files
from promptpex.codecs.files.ordinary_files import read_bytes
from promptpex.codecs.files.packed import plain_name
from promptpex.core.errors import CheckError
from promptpex.core.judge_questions import Answers
from promptpex.core.match_kinds import DEFAULT_MATCH, match_name

WHAT = "file of rows"
_ASSERTIONS = ("assert", "asserts", "assertions", "checks")
_COLUMNS = frozenset(
    ("id", "output", "text", "vars", "inputs", "cost", "cost_usd", "latency_ms", "logprobs", "finish_reason")
) | {"threshold", "prompt", "metadata", "error", "message", "expected", *_ASSERTIONS}
"""What the columns of a CSV file may mean; every other column is a variable."""
TIMES = ("time", "timestamp", "created_at", "created", "date", "datetime")
"""What the time of a row may be called."""
_NUMBERS = ("cost", "cost_usd", "latency_ms", "threshold")
CSV, PARQUET = ".csv", ".parquet"
OUTPUTS, INPUTS = "outputs.jsonl", "inputs.json"
LONGEST_LINE = 100_000_000
"""Bytes of the longest line that is read: memory has a few of them at a time."""
INPUTS_LIMIT = 200_000_000
"""Bytes that are read of a run's inputs at most: a hundred thousand cases of 2 kB."""


@dataclass(slots=True)
class CheckRow:
    """An output to check.

    Attributes:
        id: as the file gives it, else the line's number.
        output: a text or any JSON value; None = there is none.
        measured: cost, latency_ms, logprobs, finish_reason, prompt, metadata, where the file gives them.
        vars: for templates and scripts.
        threshold: the least score that passes.
        asserts: the row's own assertions; None = it brings none.
        expected: the right output, where the row names one apart from its variables; also_right: further ones.
        match: how they are compared with.
        problem: why the row cannot be checked at all.
        line: of the file, from 1; of a Parquet file the row.
        file: what the row was read from.
        length: of what the file has of it, in characters.
        unnamed: whether the id is the line's number, since the file gives none.
        answers: what a judge has said to questions about the output; not sent to other processes, where none is asked.
        time: when it came about, where a row of JSON says so under one of ``TIMES``; nothing is checked by it.
    """

    id: object
    output: object
    vars: Mapping[str, object] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    asserts: list[object] | None = None
    expected: str | None = None
    also_right: tuple[str, ...] = ()
    match: str = DEFAULT_MATCH
    problem: Unscorable | None = None
    line: int | None = None
    file: Path | None = None
    length: int = 0
    unnamed: bool = False
    answers: Answers = field(default_factory=dict)
    time: object = None

    @property
    def text(self) -> str:
        return js_values.output_text(self.output)

    def __reduce__(self) -> tuple[object, ...]:
        """Sent to another process as JSON, which nests as deep as what was read; pickle manages half of that."""
        problem = (self.problem.code, self.problem.message) if self.problem is not None else None
        data = (
            self.id,
            self.output,
            self.vars,
            self.measured,
            self.threshold,
            self.asserts,
            self.expected,
            self.also_right,
            self.match,
        )
        try:
            return _received, (json.dumps(data), problem, self.line, self.file)
        except RecursionError:
            problem = ("memory", "the output nests too deep to be checked")
            return _received, ("[null, null]", problem, self.line, self.file)


def _received(data: str, problem: tuple[str, str] | None, line: int | None, file: Path | None) -> CheckRow:
    row = CheckRow(*json.loads(data))
    row.also_right = tuple(row.also_right)
    row.problem = Unscorable(*problem) if problem is not None else None
    row.line, row.file = line, file
    return row


def read_all(sources: Sequence[Path]) -> Iterator[CheckRow]:
    """The rows of several files or folders, one after the other; where there are several, a row without an id of its
    own is called FILE:LINE.

    Raises:
        CheckError: as ``read``; a file that is missing before the first row.
    """
    if len(sources) == 1:
        return read(sources[0])
    return chain.from_iterable([named_apart(read(source), source) for source in sources])


def named_apart(rows: Iterator[CheckRow], source: Path) -> Iterator[CheckRow]:
    for row in rows:
        if row.unnamed:
            row.id = f"{source}:{row.line}"
        yield row


def read(source: Path) -> Iterator[CheckRow]:
    """The rows of a file or of a run's folder, in order, one by one; ``-`` is stdin as JSON lines.

    Raises:
        CheckError: a file that cannot be read, or a line that is not a row, with its number.
    """
    if str(source) == "-":
        return json_rows(jsonl.read_stream(sys.stdin.buffer, path=source, error=CheckError), source, {})
    path = source / OUTPUTS if source.is_dir() else source
    if not path.is_file():
        raise CheckError("there is no such file; give a JSONL or CSV file, or a run's folder", path=path)
    if has_ending(path, CSV):
        return (csv_row(head, row, path) for head, row in csv_cells(path))
    if has_ending(path, PARQUET):
        return json_rows(jsonl.values(parquet_lines(path), path, CheckError, lenient=True), path, {})
    lines = jsonl.read(path, what=WHAT, error=CheckError, lenient=True, longest=LONGEST_LINE)
    return json_rows(lines, path, _cases_of_run(path))


def _cases_of_run(outputs: Path) -> dict[str, Any]:
    file = outputs.with_name(INPUTS)
    if outputs.name != OUTPUTS or not file.is_file():
        return {}
    try:
        suite = run_inputs(file)["suite"]
        return {case["id"]: {"match": suite.get("match"), **case} for case in suite.get("cases", [])}
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckError("the run's inputs cannot be read", path=file) from error


def run_inputs(path: Path) -> dict[str, Any]:
    """What a run's folder keeps of its prompt, spec and suite, as data.

    Raises:
        CheckError: it cannot be read, or is not a JSON object.
    """
    try:
        data = json.loads(read_bytes(path, error=CheckError, what="run's inputs", limit=INPUTS_LIMIT))
    except (ValueError, RecursionError) as error:
        raise CheckError("the run's inputs cannot be read", path=path) from error
    if not isinstance(data, dict):
        raise CheckError("the run's inputs cannot be read", path=path)
    return data


def has_ending(path: Path, ending: str) -> bool:
    return plain_name(path).suffix.lower() == ending


def json_rows(lines: Iterable[jsonl.JsonLine], path: Path, cases: Mapping[str, Any]) -> Iterator[CheckRow]:
    """The rows that lines of JSON hold, one by one; ``cases`` are those of the run whose outputs they are.

    Raises:
        CheckError: a line that is not a row, with its number.
    """
    for line in lines:
        if not isinstance(line.value, dict):
            raise CheckError("a row must be an object with an id and an output", path=path, line=line.number)
        row = row_of(line.value, line.number, cases)
        row.file, row.length = path, len(line.text)
        yield row


def row_of(data: Mapping[str, Any], number: int, cases: Mapping[str, Any] | None = None) -> CheckRow:
    """A row from its JSON object, ours or a run's output record; ``number`` is its line, ``cases`` are those of the
    run."""
    case = (cases or {}).get(str(data.get("case")), {})
    name = _row_id(data)
    row = CheckRow(number if name is None else name, data.get("output", data.get("text")), line=number)
    row.unnamed = name is None
    variables = data.get("vars", data.get("inputs"))
    if variables is None:
        variables = case.get("inputs", {})
    row.vars = variables if isinstance(variables, Mapping) else {}
    row.time = next((data[name] for name in TIMES if data.get(name) is not None), None)
    row.asserts = next((data[key] for key in _ASSERTIONS if key in data), None)
    if isinstance(row.asserts, Mapping):
        row.asserts = [row.asserts]
    row.problem = _problem(data, row, variables) or _set_expected(row, {**case, **data})
    row.threshold = _number(data.get("threshold"))
    row.measured = {
        "cost": _number(data.get("cost", data.get("cost_usd"))),
        "latency_ms": _number(data.get("latency_ms")),
        "logprobs": _logprobs(data.get("logprobs")),
        "finish_reason": data.get("finish_reason"),
        "prompt": data.get("prompt"),
        "metadata": data.get("metadata"),
    }
    return row


def _set_expected(row: CheckRow, given: Mapping[str, object]) -> Unscorable | None:
    """Gives the row its expected output, a text or any JSON value, and further ones; what is wrong with it, if anything
    is."""
    expected, match, others = (given.get(name) for name in ("expected", "match", "also_right"))
    try:
        row.expected = None if expected is None else as_text(expected)
        row.also_right = tuple(map(as_text, others)) if isinstance(others, list | tuple) else ()
        row.match = match_name(str(match)) if match is not None else DEFAULT_MATCH
    except ValueError as error:
        return Unscorable("bad-row", str(error))
    except RecursionError:
        return Unscorable("bad-row", "the expected output nests too deep")
    return None


def as_text(expected: object) -> str:
    return expected if isinstance(expected, str) else jsonl.dumps(expected)


def _row_id(data: Mapping[str, object]) -> object:
    if data.get("id") is not None:
        return data["id"]
    if "case" in data and "model" in data:
        return f"{data['case']}/{data['model']}/{data.get('repeat', 0)}"
    return None


def _problem(data: Mapping[str, object], row: CheckRow, variables: object) -> Unscorable | None:
    if data.get("error"):
        return Unscorable(str(data["error"]), str(data.get("message") or "the model gave no usable answer"))
    if row.asserts is not None and not isinstance(row.asserts, list):
        return Unscorable("bad-check", "the assertions of a row must be a list")
    if not isinstance(variables, Mapping):
        return Unscorable("bad-row", "the vars of a row must be an object")
    if js_values.is_number(data.get("threshold")) and _number(data["threshold"]) is None:
        return Unscorable("bad-row", "the threshold of a row is out of range")
    return None


def _number(value: object) -> float | None:
    """The number as a double; None where it is not a number, or does not fit into a double."""
    double = js_values.as_double(value) if js_values.is_number(value) else math.nan
    return double if math.isfinite(double) else None


def _logprobs(value: object) -> list[object] | None:
    if not isinstance(value, list):
        return None
    return [item.get("logprob") if isinstance(item, dict) else item for item in value]


def parquet_lines(path: Path) -> Iterator[jsonl.RawLine]:
    """The rows of a Parquet file as lines of JSON, for ``json_rows``.

    Raises:
        CheckError: the file cannot be read.
    """
    for number, line in enumerate(table_files.parquet_lines(path, what=WHAT, error=CheckError), 1):
        yield jsonl.RawLine(number, line[:-1], 0, True)


def csv_cells(path: Path) -> Iterator[tuple[list[str], safe_csv.CsvRow]]:
    """The head of a CSV file and each of its rows, for ``csv_row``.

    Raises:
        CheckError: the file cannot be read.
    """
    rows = safe_csv.stream(path, what=WHAT, error=CheckError)
    first = next(rows, None)
    head = [name.strip() for name in first.cells] if first is not None else []
    _check_head(head, path)
    for row in rows:
        yield head, row


def _check_head(head: list[str], path: Path) -> None:
    if "output" not in head and "text" not in head:
        raise CheckError("the CSV file has no column output", path=path, line=1)
    twice = next((name for name, times in Counter(head).items() if times > 1), None)
    if twice is not None:
        raise CheckError(f"the CSV file has the column {twice!r} twice", path=path, line=1)


def csv_row(head: list[str], row: safe_csv.CsvRow, path: Path) -> CheckRow:
    """A row of a CSV file: known columns by their names; every other column is a variable.

    Raises:
        CheckError: it is wrong, with its line.
    """
    if len(row.cells) != len(head):
        message = f"the row has {len(row.cells)} cells where the head has {len(head)}"
        raise CheckError(message, path=path, line=row.line)
    cells = dict(zip(head, row.cells, strict=True))
    data: dict[str, Any] = {name: value for name, value in cells.items() if name in _COLUMNS and value != ""}
    data |= {name: cells[name] for name in ("output", "text") if name in cells}
    for name in ("logprobs", "metadata", "vars", *_NUMBERS, *_ASSERTIONS):
        if name in data:
            data[name] = _json_cell(data[name], name, row.line, path)
    variables = {name: value for name, value in cells.items() if name not in _COLUMNS}
    data["vars"] = {**variables, **data.get("vars", {})}
    check_row = row_of(data, row.line)
    check_row.file, check_row.length = path, sum(map(len, row.cells))
    return check_row


def _json_cell(text: str, name: str, line: int, path: Path) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckError(f"the cell {name} is not JSON", path=path, line=line) from error
    if name in _NUMBERS and not js_values.is_number(value):
        raise CheckError(f"the cell {name} is not a number", path=path, line=line)
    if name == "vars" and not isinstance(value, dict):
        raise CheckError("the cell vars is not a JSON object", path=path, line=line)
    return value
