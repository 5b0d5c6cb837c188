"""``csv``: a suite as a table, both ways without loss; other tables come in with ``--columns``."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

from promptpex.codecs import safe_csv
from promptpex.codecs.files.text_file import read_text
from promptpex.core.errors import SuiteError
from promptpex.core.records import Suite
from promptpex.documents.editable_file import Reading
from promptpex.documents.kinds import CASES
from promptpex.interchange import suite_table
from promptpex.interchange.column_mapping import COLUMNS, FIRST, Table, first_of, imported
from promptpex.interchange.format import Exported, Format, Imported, Mapped, Source, columns
from promptpex.interchange.suite_rows import gather
from promptpex.interchange.suite_table import check_columns, fields_of, is_ours


def text(suite: Suite, before: str = "") -> str:
    """The suite as CSV; what the file said ``before`` does not matter."""
    return safe_csv.dumps(rows_of(suite))


def rows_of(suite: Suite) -> list[list[str]]:
    """The suite as rows of CSV, the names of the columns first."""
    return suite_table.rows_of(suite)


def parse(text: str, path: Path | str) -> Reading[Suite]:
    """The suite of a CSV text, the line of each case, and what is wrong with the rest.

    Raises:
        SuiteError: it is not CSV, or has columns that mean nothing here.
    """
    rows = safe_csv.loads(text, path=path, error=SuiteError)
    head = [name.strip() for name in rows[0].cells] if rows else []
    check_columns(head, path)
    filled = [row for row in rows[1:] if any(row.cells)]
    return gather([(row.line, fields_of(_cells(head, row, path), path, row.line)) for row in filled], path)


def _cells(head: list[str], row: safe_csv.CsvRow, path: Path | str) -> dict[str, Any]:
    if len(row.cells) != len(head):
        raise SuiteError(
            f"this row has {len(row.cells)} cells; the first row names {len(head)}", path=path, line=row.line
        )
    return dict(zip(head, row.cells, strict=True))


def read(path: Path, *, columns: str | None = None, first: int | None = None) -> Imported:
    """The suite of a CSV file.

    Args:
        columns: which columns are what, where they are not called as ours are.
        first: how many rows are read; by default all.

    Raises:
        SuiteError: the first mistake, with file and line.
    """
    text = read_text(path, error=SuiteError, what=CASES.what, limit=safe_csv.MAX_BYTES)
    table = table_of(text, path)
    if columns is None and is_ours(table.columns):
        return first_of(parse(text, path).require(), first)
    return imported(table, columns=columns, first=first)


def table_of(text: str, path: Path) -> Table:
    """The rows of a CSV text, whatever its columns are called.

    Raises:
        SuiteError: it is not CSV, or a column is there twice.
    """
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    rows = list(safe_csv.read_rows(lines, path=path, error=SuiteError, guarded=False))
    head = [safe_csv.unguard(name).strip() for name in rows[0].cells] if rows else []
    twice = next((name for name, times in Counter(head).items() if times > 1), None)
    if twice is not None:
        raise SuiteError(f"the column {twice!r} appears twice", path=path, line=1)
    if is_ours(head):
        rows = [safe_csv.CsvRow(row.line, tuple(map(safe_csv.unguard, row.cells))) for row in rows]
    filled = ((row.line, _cells(head, row, path)) for row in rows[1:] if any(row.cells))
    return Table(path, tuple(head), filled)


def write(source: Source) -> Exported:
    """The suite as CSV that a spreadsheet opens without running anything."""
    return Exported(text(source.suite()))


def recognise(path: Path) -> bool:
    """Whether the columns are those of a suite."""
    return is_ours(tuple(columns(path)))


FORMAT = Format(
    name="csv",
    summary="the cases as a table, with a column for each field and input",
    import_note="or the columns that --columns names",
    extensions=(".csv",),
    reads="suite",
    writes="suite",
    read=read,
    write=write,
    read_options=(COLUMNS, FIRST),
    recognise=recognise,
    otherwise=True,
    maps=(
        Mapped("a row", "a case"),
        Mapped("a column `inputs.NAME`", "an input"),
        Mapped("columns `id`, `rule`, `expected` and so on", "the field of this name"),
        Mapped("the column `other`", "what no cell can say, as JSON"),
        Mapped("a column that `--columns` names", "the field or input that it says", "in"),
        Mapped("columns that it does not name", "nothing", "in", "they are named"),
    ),
)
