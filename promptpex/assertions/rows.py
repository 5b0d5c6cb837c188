"""Rows to check: outputs with what belongs to them, read one by one from JSON lines, CSV or a run's folder."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Unscorable
from promptpex.codecs.ordinary_files import opened, read_bytes
from promptpex.core.errors import CheckError

_OWN = ("assert", "asserts", "assertions", "checks")
_KNOWN = frozenset(
    ("id", "output", "text", "vars", "inputs", "cost", "cost_usd", "latency_ms", "logprobs", "finish_reason")
) | {"threshold", "prompt", "metadata", "error", "message", *_OWN}
_NUMBERS = ("cost", "cost_usd", "latency_ms", "threshold")
OUTPUTS, INPUTS = "outputs.jsonl", "inputs.json"
MAX_CELL = 10_000_000
INPUTS_LIMIT = 200_000_000
"""Bytes that are read of a run's inputs at most."""


@dataclass(slots=True)
class Row:
    """An output to check.

    Attributes:
        id: as the file gives it, else the line's number.
        output: a text or any JSON value; None = there is none.
        checked: cost, latency_ms, logprobs, finish_reason, prompt, metadata, where known.
        vars: for templates and scripts.
        threshold: the least score that passes.
        asserts: the row's own assertions; None = it brings none.
        problem: why the row cannot be judged at all.
    """

    id: Any
    output: Any
    vars: Mapping[str, Any] = field(default_factory=dict)
    checked: dict[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    asserts: list[Any] | None = None
    problem: Unscorable | None = None
    line: int | None = None


def read(source: Path) -> Iterator[Row]:
    """The rows of a file or of a run's folder, in order, one by one; ``-`` is stdin as JSON lines.

    Raises:
        CheckError: a file that cannot be read, or a line that is none, with its number.
    """
    if str(source) == "-":
        return _json_lines(sys.stdin, source, {})
    path = source / OUTPUTS if source.is_dir() else source
    if not path.is_file():
        raise CheckError("there is no such file; give a JSONL or CSV file, or a run's folder", path=path)
    return _from_file(path, _inputs_beside(path))


def _from_file(path: Path, inputs: Mapping[str, Any]) -> Iterator[Row]:
    try:
        opened_file = opened(path, error=CheckError, what="file of rows")
        with io.TextIOWrapper(opened_file, encoding="utf-8-sig", errors="strict", newline="") as file:
            if path.suffix.lower() == ".csv":
                yield from _csv_rows(file, path)
            else:
                yield from _json_lines(file, path, inputs)
    except UnicodeDecodeError as error:
        raise CheckError("the file is not UTF-8 text", path=path) from error
    except OSError as error:
        raise CheckError(f"the file cannot be read ({error.strerror})", path=path) from error


def _inputs_beside(path: Path) -> dict[str, Any]:
    """The inputs per case of a run, where the outputs stand in its folder."""
    beside = path.with_name(INPUTS)
    if path.name != OUTPUTS or not beside.is_file():
        return {}
    try:
        return {case["id"]: case["inputs"] for case in kept(beside)["suite"].get("cases", [])}
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckError("the run's inputs cannot be read", path=beside) from error


def kept(inputs: Path) -> dict[str, Any]:
    """What a run's folder keeps of its prompt, spec and suite, as data.

    Raises:
        CheckError: it cannot be read, or is no JSON object.
    """
    try:
        data = json.loads(read_bytes(inputs, error=CheckError, what="run's inputs", limit=INPUTS_LIMIT))
    except (ValueError, RecursionError) as error:
        raise CheckError("the run's inputs cannot be read", path=inputs) from error
    if not isinstance(data, dict):
        raise CheckError("the run's inputs cannot be read", path=inputs)
    return data


def _json_lines(lines: Iterable[str], path: Path, inputs: Mapping[str, Any]) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CheckError(f"the line is not JSON ({_not_json(error)})", path=path, line=number) from error
        if not isinstance(data, dict):
            raise CheckError("a row is an object with an id and an output", path=path, line=number)
        yield row_of(data, number, inputs)


def _not_json(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "it nests too deep" if isinstance(error, RecursionError) else "a number has too many digits"


def row_of(data: Mapping[str, Any], number: int, inputs: Mapping[str, Any] | None = None) -> Row:
    """A row from its JSON object, ours or a run's output record; ``number`` is its line."""
    made = Row(id=_row_id(data, number), output=data.get("output", data.get("text")), line=number)
    variables = data.get("vars", data.get("inputs"))
    if variables is None:
        variables = (inputs or {}).get(str(data.get("case")), {})
    made.vars = variables if isinstance(variables, Mapping) else {}
    made.asserts = next((data[key] for key in _OWN if key in data), None)
    if isinstance(made.asserts, Mapping):
        made.asserts = [made.asserts]
    made.problem = _problem(data, made, variables)
    made.threshold = _number(data.get("threshold"))
    made.checked = {
        "cost": _number(data.get("cost", data.get("cost_usd"))),
        "latency_ms": _number(data.get("latency_ms")),
        "logprobs": _logprobs(data.get("logprobs")),
        "finish_reason": data.get("finish_reason"),
        "prompt": data.get("prompt"),
        "metadata": data.get("metadata"),
    }
    return made


def _row_id(data: Mapping[str, Any], number: int) -> Any:
    if data.get("id") is not None:
        return data["id"]
    if "case" in data and "model" in data:
        return f"{data['case']}/{data['model']}/{data.get('repeat', 0)}"
    return number


def _problem(data: Mapping[str, Any], row: Row, variables: Any) -> Unscorable | None:
    if data.get("error"):
        return Unscorable(str(data["error"]), str(data.get("message") or "the model gave no usable answer"))
    if row.asserts is not None and not isinstance(row.asserts, list):
        return Unscorable("bad-check", "the assertions of a row are a list")
    if not isinstance(variables, Mapping):
        return Unscorable("bad-row", "the vars of a row are an object")
    if js_values.is_number(data.get("threshold")) and _number(data["threshold"]) is None:
        return Unscorable("bad-row", "the threshold of a row is out of range")
    return None


def _number(value: Any) -> float | None:
    """The number as a double; None for what is none, and for what no double holds."""
    double = js_values.as_double(value) if js_values.is_number(value) else math.nan
    return double if math.isfinite(double) else None


def _logprobs(value: Any) -> list[Any] | None:
    """The numbers of a list, or of the token records that a run keeps."""
    if not isinstance(value, list):
        return None
    return [item.get("logprob") if isinstance(item, dict) else item for item in value]


def _csv_rows(file: IO[str], path: Path) -> Iterator[Row]:
    reader = csv.reader(file, strict=True)
    line, limit = 1, csv.field_size_limit(MAX_CELL)
    try:
        head = [name.strip() for name in next(reader, [])]
        _check_head(head, path)
        line = reader.line_num + 1
        for cells in reader:
            if cells:
                yield _csv_row(head, cells, line, path)
            line = reader.line_num + 1
    except csv.Error as error:
        raise CheckError(f"the file is not CSV ({error})", path=path, line=line) from error
    finally:
        csv.field_size_limit(limit)


def _check_head(head: list[str], path: Path) -> None:
    if "output" not in head and "text" not in head:
        raise CheckError("the CSV file has no column output", path=path, line=1)
    twice = next((name for name in head if head.count(name) > 1), None)
    if twice is not None:
        raise CheckError(f"the CSV file has the column {twice!r} twice", path=path, line=1)


def _csv_row(head: list[str], cells: list[str], line: int, path: Path) -> Row:
    """Known columns by their names; every other column is a variable."""
    from promptpex.codecs.safe_csv import unguard

    if len(cells) != len(head):
        raise CheckError(f"the row has {len(cells)} cells where the head has {len(head)}", path=path, line=line)
    cell = {name: unguard(value) for name, value in zip(head, cells, strict=True)}
    data: dict[str, Any] = {name: value for name, value in cell.items() if name in _KNOWN and value != ""}
    for name in ("output", "text"):
        if name in cell:
            data[name] = cell[name]
    for name in ("logprobs", "metadata", "vars", *_NUMBERS, *_OWN):
        if name in data:
            data[name] = _json_cell(data[name], name, line, path)
    data["vars"] = {**{name: value for name, value in cell.items() if name not in _KNOWN}, **data.get("vars", {})}
    return row_of(data, line)


def _json_cell(text: str, name: str, line: int, path: Path) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckError(f"the cell {name} is not JSON", path=path, line=line) from error
    if name in _NUMBERS and not js_values.is_number(value):
        raise CheckError(f"the cell {name} is not a number", path=path, line=line)
    if name == "vars" and not isinstance(value, dict):
        raise CheckError("the cell vars is not a JSON object", path=path, line=line)
    return value


__all__ = ["Row", "read", "row_of"]
