"""``excel``: a suite as a workbook of one sheet, both ways without loss; other tables come in with ``--columns``.

No formula is run or written. A number stays a number and true or false what it is; a date is an ISO text, an empty cell
nothing. What no cell can say stands in the column ``other``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from promptpex.codecs import excel
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.errors import SuiteError
from promptpex.core.records import Suite
from promptpex.core.translation import stored
from promptpex.interchange.column_mapping import COLUMNS, FIRST, Table, imported
from promptpex.interchange.format import Exported, Format, Imported, Mapped, Option, Source, begins
from promptpex.interchange.notes import Note
from promptpex.interchange.suite_table import Cells, rows_of

_LARGEST = 10**15
"""Excel keeps fifteen digits of a number."""


def _fits(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return abs(value) < _LARGEST
    if isinstance(value, float):
        return math.isfinite(value) and not value.is_integer() and float(f"{value:.15g}") == value
    return isinstance(value, str) and value != "" and len(value) <= excel.LONGEST_TEXT


CELLS = Cells(excel.UNFIT, _fits, None)


def read(path: Path, *, columns: str | None = None, first: int | None = None, sheet: str | None = None) -> Imported:
    """The suite of a workbook.

    Args:
        columns: which columns are what, where they are not called as ours are.
        first: how many rows are read; by default all.
        sheet: the name of the sheet; by default the first.

    Raises:
        SuiteError: it is not a workbook, or a row is wrong; with file and row.
    """
    name, rows = excel.rows(path, sheet=sheet, error=SuiteError)
    if not rows:
        raise SuiteError(f"the sheet {name!r} is empty; name another with --sheet", path=path)
    head = [value_text(cell).strip() if cell is not None else "" for cell in rows[0].cells]
    twice = next((one for one, times in Counter(head).items() if one and times > 1), None)
    if twice is not None:
        raise SuiteError(f"the column {twice!r} appears twice", path=path, line=rows[0].number)
    table = Table(path, tuple(one for one in head if one), [(row.number, _cells(head, row)) for row in rows[1:]])
    imported_table = imported(table, columns=columns, first=first)
    notes = [note for row in rows for note in _odd(row, path)]
    return Imported(
        suite=imported_table.suite,
        problems=imported_table.problems,
        over=imported_table.over,
        notes=(*imported_table.notes, *notes),
    )


def _cells(head: list[str], row: excel.SheetRow) -> Mapping[str, object]:
    """The cells under their names; what ends before the header's last column is empty there."""
    cells = (*row.cells, *[None] * (len(head) - len(row.cells)))
    return {name: value for name, value in zip(head, cells, strict=False) if name}


def _odd(row: excel.SheetRow, path: Path) -> Iterator[Note]:
    for letter, holds in row.odd:
        why = stored("the cell has an error ({kind})", kind=holds)
        if holds == "formula":
            why = stored("it is a formula without a saved value: save the file in Excel, or write the value")
        yield Note("left out", f"{letter}{row.number}", why, str(path), row.number)


def write(source: Source) -> Exported:
    """The suite as a workbook in which nothing is run."""
    suite = source.suite()
    kept_cases, left_out = [], []
    for case in suite.cases:
        rows = _rows(suite.replace(cases=(case,)))
        longest = max(len(cell) for row in rows for cell in row if isinstance(cell, str))
        if longest > excel.LONGEST_TEXT:
            values = {"case": case.id, "count": excel.LONGEST_TEXT}
            left_out.append(stored("case {case} is left out: an Excel cell holds at most {count} characters", **values))
        else:
            kept_cases.append(case)
    return Exported(left_out=tuple(left_out), data=excel.dumps(_rows(suite.replace(cases=tuple(kept_cases)))))


def _rows(suite: Suite) -> list[list[Any]]:
    """The rows, what would be taken for an escape in the JSON of ``other`` written as one of JSON's."""
    rows = rows_of(suite, CELLS)
    at = rows[0].index("other")
    for row in rows[1:]:
        if isinstance(row[at], str):
            row[at] = excel.UNFIT.sub(_escaped, row[at])
    return rows


def _escaped(match: Any) -> str:
    """JSON that means the same, without what a cell cannot hold: its first character by number."""
    text: str = match[0]
    return f"\\u{ord(text[0]):04x}{text[1:]}"


def recognise(path: Path) -> bool:
    """Whether it is called so, and a ZIP file."""
    return path.suffix.lower() == ".xlsx" and begins(path, 4) == b"PK\x03\x04"


FORMAT = Format(
    name="excel",
    summary="the cases as an Excel workbook, with the columns of csv",
    import_note="or those that --columns names",
    extensions=(".xlsx",),
    reads="suite",
    writes="suite",
    read=read,
    write=write,
    read_options=(COLUMNS, FIRST, Option("sheet", "the sheet [the first].", metavar="NAME")),
    recognise=recognise,
    maps=(
        Mapped("a row", "a case, by the columns of `csv` or of `--columns`"),
        Mapped("numbers, true and false", "the same"),
        Mapped("dates and times", "ISO texts", "in", "their format"),
        Mapped("an empty cell", "nothing", "in"),
        Mapped("a formula", "the value that the file keeps of it", "in", "those without one; they are named"),
        Mapped("errors such as `#N/A`", "nothing", "in", "they are named"),
        Mapped("a text that begins with `=`, `+`, `-` or `@`", "the same text, never a formula"),
        Mapped("cases with a text of more than 32,767 characters", "nothing", "out", "they are named"),
    ),
)
