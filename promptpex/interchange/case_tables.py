"""``csv``, ``jsonl``, ``excel``, ``parquet``: tables as cases, by one reader: with the columns of our own suites, or
with ``--columns``, which says what is what. All are written, too.

A text, a number, and true or false become an input as they are; dates and times are ISO texts by then. A list or a
mapping stays one, which a prompt shows as JSON. An empty cell or NaN is not a value: the case has no such input.
Where a text is wanted (``expected``, ``id``), a number becomes its digits.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from promptpex.codecs import safe_csv, table_files
from promptpex.codecs.files.ordinary_files import read_text
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import InputError, SuiteError
from promptpex.core.records import Suite
from promptpex.core.translation import stored
from promptpex.documents.editable_file import CASES
from promptpex.documents.ownership import derived_id
from promptpex.interchange import suite_files
from promptpex.interchange.format import Exported, Format, Imported, Option, Source
from promptpex.interchange.notes import Log, Note
from promptpex.interchange.reading.exchanges import Ids
from promptpex.interchange.reading.foreign_files import begins, columns, first_row
from promptpex.interchange.suite_files import PREFIX

COLUMNS = Option(
    "columns",
    "which columns are what: question=inputs.question,answer=expected.",
    metavar="THEIRS=OURS,...",
)
FIRST = Option("first", "read only the first N rows [all].", kind=int, minimum=1, metavar="N")
_TEXTS = ("id", "rule", "expected", "reasoning", "scenario", "match")
OURS = (*_TEXTS, "also_right", "inverse", "answer_in_context")
"""What a column may be besides an input."""
MOST_CASES = 100_000
_DEEPEST = 20
"""Levels of lists and mappings in an input."""
_SHOWN = 12
"""Columns that a sentence names."""
_JSON_LINES = (".jsonl", ".ndjson")
_LARGEST = 10**15
"""Excel keeps fifteen digits of a number."""
_SURROGATE = re.compile("[\ud800-\udfff]")

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class TableOfCases:
    """Rows of another tool.

    Attributes:
        columns: their names, as far as they are known before the rows are read.
        rows: the line, or number from 1, of each row, and its values by column, as JSON has them.
        unfit: columns that hold neither texts nor numbers, and what they hold; they are not in the rows.
        nested: whether rows may hold mappings that a name with dots leads into.
    """

    path: Path
    columns: tuple[str, ...]
    rows: Iterable[tuple[int, Row]]
    unfit: Mapping[str, str] = field(default_factory=dict)
    nested: bool = False


def read_csv(path: Path, *, columns: str | None = None, first: int | None = None) -> Imported:
    """The suite of a CSV file.

    Args:
        columns: which columns are what, where they are not called as ours are.
    """
    text = _text(path)
    table = csv_table(text, path)
    if columns is None and suite_files.are_ours(table.columns):
        return _first_of(suite_files.parse_csv(text, path).require(), first)
    return imported(table, columns=columns, first=first)


def read_jsonl(path: Path, *, columns: str | None = None, first: int | None = None) -> Imported:
    """As ``read_csv``, of JSON lines; dots lead into mappings."""
    text = _text(path)
    rows = list(suite_files.objects(text, path))
    are_cases = any(isinstance(row.get("inputs"), dict) for _, row in rows[:2])
    is_ours = are_cases or not rows or set(rows[0][1]) == {"prompt"}
    if columns is None and is_ours:
        return _first_of(suite_files.parse_jsonl(text, path).require(), first)
    names = dict.fromkeys(name for _, row in rows[:100] for name in row)
    return imported(TableOfCases(path, tuple(names), rows, nested=True), columns=columns, first=first)


def read_parquet(path: Path, *, columns: str | None = None, first: int | None = None) -> Imported:
    """As ``read_csv``, of a Parquet file without the columns that hold bytes; dots lead into mappings."""
    types, rows = table_files.parquet_table(path, what="table", error=SuiteError)
    plain = tuple(name for name, odd in types.items() if odd is None)
    unfit = {name: odd for name, odd in types.items() if odd is not None}
    return imported(TableOfCases(path, plain, enumerate(rows, 1), unfit, nested=True), columns=columns, first=first)


def read_excel(
    path: Path, *, columns: str | None = None, first: int | None = None, sheet: str | None = None
) -> Imported:
    """As ``read_csv``, of a sheet of a workbook: the one of this name, else the first."""
    name, rows = table_files.excel_rows(path, sheet=sheet, error=SuiteError)
    if not rows:
        raise SuiteError(f"the sheet {name!r} is empty; name another with --sheet", path=path)
    head = [value_text(cell).strip() if cell is not None else "" for cell in rows[0].cells]
    _refuse_twice(head, path, rows[0].number)
    named = [(row.number, dict(zip(head, (*row.cells, *[None] * len(head)), strict=False))) for row in rows[1:]]
    cells = [(number, {name: value for name, value in row.items() if name}) for number, row in named]
    made = imported(TableOfCases(path, tuple(filter(None, head)), cells), columns=columns, first=first)
    return replace(made, notes=(*made.notes, *(note for row in rows for note in _odd(row, path))))


def csv_table(text: str, path: Path) -> TableOfCases:
    """The rows of a CSV text, whatever its columns are called."""
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    rows = list(safe_csv.read_rows(lines, path=path, error=SuiteError, guarded=False))
    head = [safe_csv.unguard(name).strip() for name in rows[0].cells] if rows else []
    _refuse_twice(head, path, 1)
    if suite_files.are_ours(head):
        rows = [safe_csv.CsvRow(row.line, tuple(map(safe_csv.unguard, row.cells))) for row in rows]
    filled = ((row.line, suite_files.cells_by_name(head, row, path)) for row in rows[1:] if any(row.cells))
    return TableOfCases(path, tuple(head), filled)


def _text(path: Path) -> str:
    return read_text(path, error=SuiteError, what=CASES.what, limit=safe_csv.MAX_BYTES)


def _refuse_twice(head: Sequence[str], path: Path, line: int) -> None:
    twice = next((name for name, times in Counter(head).items() if name and times > 1), None)
    if twice is not None:
        raise SuiteError(f"the column {twice!r} appears twice", path=path, line=line)


def _odd(row: table_files.SheetRow, path: Path) -> Iterator[Note]:
    for letter, holds in row.odd:
        why = stored("the cell has an error ({kind})", kind=holds)
        if holds == "formula":
            why = stored("it is a formula without a saved value: save the file in Excel, or write the value")
        yield Note("left out", f"{letter}{row.number}", why, str(path), row.number)


def _first_of(suite: Suite, first: int | None) -> Imported:
    return Imported(suite=suite if first is None else suite.replace(cases=suite.cases[:first]))


def imported(table: TableOfCases, *, columns: str | None = None, first: int | None = None) -> Imported:
    """The rows of a table as cases; what of it does not come over is noted.

    Args:
        columns: as ``--columns`` has it; None: they are called as ours are.
    """
    log = Log()
    for name, holds in table.unfit.items():
        log.left_out(name, stored("it contains {kind}, neither text nor numbers", kind=holds), table.path, None)
    if columns is not None:
        fields = list(_mapped(table, mapping_of(columns), first, log))
    elif suite_files.are_ours(table.columns):
        suite_files.check_columns(table.columns, table.path)
        fields = [(line, _as_texts(suite_files.fields_of(row, table.path, line))) for line, row in _rows(table, first)]
        log.came("rows", len(fields))
    else:
        raise SuiteError(_no_column_is_known(table), path=table.path)
    reading = suite_files.gather(fields, table.path)
    return Imported(suite=reading.require(), problems=reading.problems, over=dict(log.over), notes=log.notes)


def mapping_of(text: str) -> dict[str, str]:
    """Their columns and what each is here, of ``THEIRS=OURS,...``; a name that holds a comma stands in quotes, as in
    CSV."""
    try:
        parts = [part for part in safe_csv.cells_of(text) if part.strip()]
    except InputError as failure:
        raise InputError(f"--columns cannot be read ({failure}); write THEIRS=OURS,THEIRS=OURS") from None
    chosen: dict[str, str] = {}
    for part in parts:
        theirs, sign, ours = (each.strip() for each in part.rpartition("="))
        if not sign or not theirs or not (ours in OURS or (ours.startswith(PREFIX) and ours != PREFIX)):
            meant = did_you_mean(ours, (*OURS, PREFIX + "NAME")) if sign else ""
            hint = meant or f"there are inputs.NAME, {', '.join(OURS)}"
            raise InputError(f"--columns: {part.strip()!r} is not THEIRS=OURS; {hint}")
        if ours in chosen.values():
            raise InputError(f"--columns: two columns are {ours}; name one")
        chosen[theirs] = ours
    if not any(ours.startswith(PREFIX) for ours in chosen.values()):
        raise InputError("--columns names no input; write one as THEIRS=inputs.NAME")
    return chosen


def _no_column_is_known(table: TableOfCases) -> str:
    """That no column is known here, which there are, and what to write."""
    names = list(table.columns)
    if not names:
        return "there are no columns with text or numbers; give a table with a header row"
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return f"none of the columns is known ({shown}); say what they are: --columns {_example(names)}"


def _example(names: Sequence[str]) -> str:
    right = next((name for name in names if re.search("answer|target|label|expected|output", name, re.I)), None)
    inputs = [name for name in names if name != right][:2] or list(names[:1])
    variables = [re.sub(r"\W+", "_", name.strip()).strip("_") or "input" for name in inputs]
    pairs = [f"{name}={PREFIX}{variable}" for name, variable in zip(inputs, variables, strict=True)]
    pairs += [f"{right}=expected"] if right not in (None, *inputs) else []
    return "'" + ",".join(f'"{pair}"' if "," in pair else pair for pair in pairs) + "'"


def _rows(table: TableOfCases, first: int | None) -> Iterator[tuple[int, Row]]:
    for number, row in enumerate(islice(table.rows, first)):
        if number >= MOST_CASES:
            raise SuiteError(f"there are more than {MOST_CASES:,} rows; take some with --first N", path=table.path)
        yield row


def _mapped(
    table: TableOfCases, chosen: Mapping[str, str], first: int | None, log: Log
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The fields of each row that has an input, by a mapping."""
    ids, seen = Ids(), dict.fromkeys(() if table.nested else table.columns, 1)
    if not table.nested:
        _require(chosen, seen, table)
    for line, row in _rows(table, first):
        for name in row:
            seen.setdefault(name, line)
        values = {theirs: _value(row, theirs, table.nested) for theirs in chosen}
        for theirs in (name for name, value in values.items() if value is not None):
            seen.setdefault(theirs, line)
        fields = _fields(values, chosen, table.path, line, log)
        if fields is not None:
            yield line, {**fields, "id": _id(fields, ids, table.path, line, log)}
    _require(chosen, seen, table)
    for name, line in seen.items():
        if name not in chosen and not (table.nested and any(theirs.startswith(f"{name}.") for theirs in chosen)):
            log.left_out(name, stored("--columns does not name it"), table.path, line)


def _require(chosen: Mapping[str, str], names: Mapping[str, int], table: TableOfCases) -> None:
    missing = next((name for name in chosen if name not in names), None)
    if missing is None:
        return
    message = f"there is no column {missing!r}; there are {', '.join(list(names)[:_SHOWN]) or 'none'}"
    if missing in table.unfit:
        message = f"the column {missing!r} contains {table.unfit[missing]}, neither text nor numbers"
    raise SuiteError(message, path=table.path)


def _value(row: Row, name: str, nested: bool) -> object:
    if name in row or not nested:
        return row.get(name)
    at: object = row
    for part in name.split("."):
        at = at.get(part) if isinstance(at, Mapping) else None
    return at


def _fields(values: Row, chosen: Mapping[str, str], path: Path, line: int, log: Log) -> dict[str, Any] | None:
    """The fields of a case; None where it has no input."""
    fields: dict[str, Any] = {"inputs": {}}
    for theirs, value in values.items():
        odd = _unusable(value)
        if odd:
            log.left_out(theirs, odd, path, line)
        if odd or value is None:
            continue
        log.came(theirs)
        if not chosen[theirs].startswith(PREFIX):
            fields[chosen[theirs]] = value
            continue
        fields["inputs"][chosen[theirs].removeprefix(PREFIX)] = value
        if isinstance(value, dict | list):
            log.changed(theirs, stored("lists and mappings are kept, and a prompt shows them as JSON"), path, None)
    if not fields["inputs"]:
        names = ", ".join(name for name, ours in chosen.items() if ours.startswith(PREFIX))
        log.left_out(names, stored("none of its inputs has a value"), path, line)
        return None
    filled = {name: value for name, value in _as_texts(fields).items() if value != ""}
    return filled if "expected" in filled else {name: filled[name] for name in filled if name != "also_right"}


def _unusable(value: object) -> str:
    """Why a value cannot be taken; empty where it can."""
    if isinstance(value, float) and not math.isfinite(value):
        return stored("it is not a number (NaN, or infinite)")
    if isinstance(value, dict | list) and not is_plain(value):
        return stored("it is nested too deeply, or contains something that is not a number")
    return ""


def _id(fields: Mapping[str, Any], ids: Ids, path: Path, line: int, log: Log) -> str:
    """The id of a case, made fit; of rows that are alike the later ones get a number."""
    given = fields.get("id")
    made = ids.free(given or "", derived_id(fields["inputs"], suite_files.NOUN), longest=100)
    if given is not None and made != given:
        why = stored("an id consists of letters, digits, '.', '_' and '-', and is unique")
        log.changed("id", why, path, line)
    return made


def _as_texts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with texts where texts are wanted; a list of expected outputs is the first and further right ones."""
    texts = dict(fields)
    expected = texts.get("expected")
    if isinstance(expected, list):
        texts["expected"], *others = expected or [""]
        if others:
            texts["also_right"] = [*others, *_list(texts.get("also_right"))]
    texts |= {name: value_text(texts[name]) for name in _TEXTS if texts.get(name) is not None}
    right = [value_text(one) for one in _list(texts.pop("also_right", None))]
    return texts | ({"also_right": right} if right else {})


def _list(value: object) -> list[object]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def is_plain(value: object, depth: int = 0) -> bool:
    """Whether a value is of texts, finite numbers, truth values, lists and mappings, and does not nest too deep."""
    if isinstance(value, dict):
        return depth < _DEEPEST and all(isinstance(key, str) and is_plain(one, depth + 1) for key, one in value.items())
    if isinstance(value, list):
        return depth < _DEEPEST and all(is_plain(one, depth + 1) for one in value)
    return not (isinstance(value, float) and not math.isfinite(value))


def _fits_excel(value: object) -> bool:
    if isinstance(value, int):
        return abs(value) < _LARGEST
    return isinstance(value, str) and 0 < len(value) <= table_files.LONGEST_TEXT and not table_files.UNFIT.search(value)


def _fits_parquet(value: object) -> bool:
    return isinstance(value, str) and not _SURROGATE.search(value)


def write_excel(source: Source) -> Exported:
    """The suite as a workbook in which nothing is run; a case that no cell can hold is left out and named."""
    rows, kept, left_out = suite_files.rows_of(source.suite(), _fits_excel), [], []
    at, name = rows[0].index("other"), rows[0].index("id")
    for row in rows:
        row[at] = table_files.UNFIT.sub(_escaped, row[at])
        if len(row[at]) <= table_files.LONGEST_TEXT:
            kept.append([None if cell == "" else cell for cell in row])
        else:
            values = {"case": row[name], "count": table_files.LONGEST_TEXT}
            left_out.append(stored("case {case} is left out: an Excel cell holds at most {count} characters", **values))
    return Exported(left_out=tuple(left_out), data=table_files.excel_bytes(kept))


def _escaped(match: re.Match[str]) -> str:
    """JSON that means the same, without what a cell cannot hold: its first character by number."""
    return f"\\u{ord(match[0][0]):04x}{match[0][1:]}"


def write_parquet(source: Source) -> Exported:
    names, *rows = suite_files.rows_of(source.suite(), _fits_parquet)
    return Exported(data=table_files.parquet_bytes({name: [row[at] for row in rows] for at, name in enumerate(names)}))


def _are_lines_of_a_suite(path: Path) -> bool:
    """Whether the first line says the prompt of cases, or is a case with its id and its inputs."""
    row = first_row(path) if path.suffix.lower() in _JSON_LINES else {}
    is_head = bool(row) and set(row) <= {"prompt", suite_files.MATCH} and all(isinstance(v, str) for v in row.values())
    return is_head or (isinstance(row.get("inputs"), dict) and isinstance(row.get("id"), str))


def _format(name: str, endings: tuple[str, ...], read: Callable[..., Imported], **more: Any) -> Format:
    return Format(name=name, extensions=endings, reads="suite", read=read, **{"read_options": (COLUMNS, FIRST), **more})


FORMATS = (
    _format(
        "csv", (".csv",), read_csv,
        summary="the cases as a table, with a column for each field and input",
        import_note="or the columns that --columns names",
        writes="suite",
        write=lambda source: Exported(suite_files.csv_text(source.suite())),
        recognise=lambda path: suite_files.are_ours(columns(path)),
        otherwise=True,
        lost="columns that are neither a case's nor in `--columns`",
    ),
    _format(
        "jsonl", _JSON_LINES, read_jsonl,
        summary="the cases, one JSON object per line",
        import_note="or the keys that --columns names",
        writes="suite",
        write=lambda source: Exported(suite_files.jsonl_text(source.suite())),
        recognise=_are_lines_of_a_suite,
        otherwise=True,
        lost="keys that are neither a case's nor in `--columns`",
    ),
    _format(
        "excel", (".xlsx",), read_excel,
        summary="the cases as an Excel workbook, with the columns of csv",
        import_note="or those that --columns names",
        writes="suite",
        write=write_excel,
        read_options=(COLUMNS, FIRST, Option("sheet", "the sheet [the first].", metavar="NAME")),
        recognise=lambda path: path.suffix.lower() == ".xlsx" and begins(path, 4) == b"PK\x03\x04",
        lost="formats of cells; formulas without a kept value; errors such as `#N/A`",
    ),
    _format(
        "parquet", (".parquet",), read_parquet,
        summary="the cases as a Parquet file, with the columns of csv",
        import_note="or those that --columns names",
        writes="suite",
        write=write_parquet,
        recognise=lambda path: path.suffix.lower() == ".parquet" and begins(path, 4) == b"PAR1",
        lost="nulls, NaN, bytes, images and sounds",
    ),
)  # fmt: skip
