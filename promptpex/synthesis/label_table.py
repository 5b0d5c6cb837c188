"""A table of labels: CSV or JSON lines with outputs that people called good or bad, or with keys of a run's outputs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpex.codecs import json_text, jsonl, safe_csv
from promptpex.codecs.files.text_file import read_text
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut, named, plural
from promptpex.core.errors import SynthesisError
from promptpex.core.records import GradeValue

WHAT = "table of labels"
MAX_BYTES = 100_000_000
MAX_ROWS = 100_000
"""More than people label, and enough for the outputs of a large run."""

LABELS: Mapping[str, GradeValue] = {
    **dict.fromkeys(("good", "1", "1.0", "true", "pass"), "good"),
    **dict.fromkeys(("bad", "0", "0.0", "false", "fail"), "bad"),
    **dict.fromkeys(("", "unsure"), "unsure"),
}
"""What a label may be written as, in capitals too."""

OUTPUT, LABEL, PREFIX = ("output", "response"), "label", "inputs."
_KNOWN = frozenset((*OUTPUT, LABEL, "inputs", "case", "model", "repeat", "grader", "prompt"))
_REPEAT = re.compile(r"[0-9]{1,9}(\.0)?")


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A row: an output with its inputs, or the key of one of a run's outputs, and what somebody says of it.

    Attributes:
        line: of the file, from 1.
        value: good, bad, or unsure, also where the cell is empty.
        inputs, output: None where the row does not give them.
        case, model, repeat: the key, as far as it is given.
        grader: who says it; empty where the row does not say.
        prompt: what the model was sent.
    """

    line: int
    value: GradeValue
    inputs: dict[str, Any] | None = None
    output: str | None = None
    case: str = ""
    model: str | None = None
    repeat: int | None = None
    grader: str = ""
    prompt: str = ""


@dataclass(slots=True)
class LabelTable:
    """The rows of a table, and the columns that mean nothing here."""

    path: Path
    rows: list[LabelRow] = field(default_factory=list)
    ignored: tuple[str, ...] = ()


def read_labels(path: Path, variables: Sequence[str]) -> LabelTable:
    """The rows of a CSV file, or of JSON lines where the name ends so.

    Columns are known by their names: ``output`` (or ``response``), ``label``, ``case``, ``model``, ``repeat``,
    ``grader``, ``prompt``, ``inputs`` with a JSON object; ``inputs.NAME``, or the name of a variable of the prompt, is
    the value of that input.

    Raises:
        SynthesisError: with file and line.
    """
    rows = _json_rows(path) if path.suffix.lower() in (".jsonl", ".ndjson") else _csv_rows(path)
    table, ignored = LabelTable(path), dict[str, None]()
    for line, cells in rows:
        if len(table.rows) == MAX_ROWS:
            raise _wrong(f"the {WHAT} has more than {MAX_ROWS:,} rows; split it", path, line)
        table.rows.append(_row(line, cells, variables, path))
        ignored.update(dict.fromkeys(name for name in cells if not _means_something(name, variables)))
    if not table.rows:
        raise SynthesisError(f"the {WHAT} has no rows; give one for each output", path=path)
    table.ignored = tuple(ignored)
    return table


def _means_something(name: str, variables: Sequence[str]) -> bool:
    return name in _KNOWN or name in variables or name.startswith(PREFIX)


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    text = read_text(path, error=SynthesisError, what=WHAT, limit=MAX_BYTES)
    rows = iter(safe_csv.loads(text, path=path, error=SynthesisError))
    head = next(rows, None)
    names = [name.strip() for name in head.cells] if head is not None else []
    _check_head(names, path)
    for row in rows:
        if not any(cell.strip() for cell in row.cells):
            continue
        if len(row.cells) != len(names):
            raise _wrong(
                f"the row has {plural(len(row.cells), 'cell')} where the head has {len(names)}", path, row.line
            )
        yield row.line, {name: cell for name, cell in zip(names, row.cells, strict=True) if name}


def _check_head(names: Sequence[str], path: Path) -> None:
    twice = next((name for name, times in Counter(names).items() if name and times > 1), None)
    if twice is not None:
        raise _wrong(f"the {WHAT} has the column {twice!r} twice; rename one", path, 1)
    if LABEL not in names and not set(OUTPUT) & set(names):
        other = next((sign for sign in ";\t|" if len(names) == 1 and sign in names[0]), None)
        if other is not None:
            raise _wrong(f"the columns are divided by {other!r}; save the {WHAT} with commas", path, 1)
        names_shown = named([cut(name, 30) for name in names]) or "none"
        raise _wrong(f"the {WHAT} has no column {LABEL!r} (its columns: {names_shown}); name one so", path, 1)


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    text = read_text(path, error=SynthesisError, what=WHAT, limit=MAX_BYTES)
    for line in jsonl.parse(text, path=path, error=SynthesisError):
        if not isinstance(line.value, dict):
            raise _wrong("a row is an object with an output and a label", path, line.number)
        twice = _repeated_key(line.text)
        if twice is not None:
            raise _wrong(f"the row has {cut(twice, 40)!r} twice; keep one", path, line.number)
        yield line.number, line.value


def _repeated_key(text: str) -> str | None:
    """A key that an object of a JSON text has twice, of which JSON would keep the last without a word."""
    twice: list[str] = []

    def seen(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in pairs)
        twice.extend(name for name, count in counts.items() if count > 1)

    json.loads(text, object_pairs_hook=seen)
    return twice[0] if twice else None


def _row(line: int, cells: Mapping[str, Any], variables: Sequence[str], path: Path) -> LabelRow:
    outputs = [name for name in OUTPUT if cells.get(name) not in (None, "")]
    if len(outputs) > 1:
        raise _wrong(f"the row has both {outputs[0]} and {outputs[1]}; keep one", path, line)
    row = LabelRow(
        line=line,
        value=_value(cells.get(LABEL), path, line),
        inputs=_inputs(cells, variables, path, line),
        output=_text(cells[outputs[0]]) if outputs else None,
        case=_text(cells.get("case")),
        model=_text(cells.get("model")) or None,
        repeat=_repeat(cells.get("repeat"), path, line),
        grader=_text(cells.get("grader")),
        prompt=_text(cells.get("prompt")),
    )
    if row.output is None and not row.case:
        raise _wrong("the row names no output; give its text under output, or its case", path, line)
    return row


def _value(given: object, path: Path, line: int) -> GradeValue:
    written = "" if given is None else _text(given).strip().lower()
    if written not in LABELS:
        allowed = "good or bad, 1 or 0, true or false, pass or fail, unsure or nothing"
        raise _wrong(f"the label {cut(str(given), 40)!r} is not one of {allowed}", path, line)
    return LABELS[written]


def _inputs(cells: Mapping[str, Any], variables: Sequence[str], path: Path, line: int) -> dict[str, Any] | None:
    cell = cells.get("inputs")
    values: dict[str, Any] = {}
    if isinstance(cell, str) and cell.strip() and "inputs" not in variables:
        try:
            cell = json_text.loads(cell)
        except (ValueError, RecursionError) as failure:
            raise _wrong(f"the cell inputs is not JSON: {json_text.why_not_json(failure)}", path, line) from None
    if cell not in (None, "") and "inputs" not in variables:
        if not isinstance(cell, Mapping):
            raise _wrong("inputs is not a JSON object of values by the names of variables", path, line)
        values |= cell
    values |= {name: cells[name] for name in variables if name in cells and name not in _KNOWN - {"inputs"}}
    values |= {name.removeprefix(PREFIX): value for name, value in cells.items() if name.startswith(PREFIX)}
    return values if any(value != "" for value in values.values()) else None


def _repeat(given: object, path: Path, line: int) -> int | None:
    written = _text(given).strip()
    if not written:
        return None
    if not _REPEAT.fullmatch(written):
        raise _wrong(f"the repeat {cut(written, 40)!r} is not a whole number from 0", path, line)
    return int(float(written))


def _text(given: object) -> str:
    return "" if given is None else value_text(given)


def _wrong(message: str, path: Path, line: int) -> SynthesisError:
    return SynthesisError(message, path=path, line=line)
