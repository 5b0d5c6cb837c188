"""Excel workbooks (Office Open XML) as rows of plain data, and rows as a workbook; the home of openpyxl.

No formula is run or written: of a formula the value is read that the program which wrote it kept. A text that begins
with ``=``, ``+``, ``-`` or ``@`` is written as the text that it is, and stays one when a person edits the cell.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpex.codecs import confined_tables
from promptpex.core.errors import InputError

LONGEST_TEXT = 32_767
"""Characters that a cell of Excel holds."""
UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]|x005F_|_x[0-9A-Fa-f]{4}_")
"""What no cell holds as it is: controls, halves of characters, and what a workbook takes for an escape."""
SIGNS = ("=", "+", "-", "@", "'")


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row of a sheet.

    Attributes:
        number: as Excel shows it, from 1.
        cells: texts, numbers, truth values, None; dates and times are ISO texts.
        odd: of cells that cannot be read, the letter of the column and what they hold.
    """

    number: int
    cells: tuple[Any, ...]
    odd: tuple[tuple[str, str], ...] = ()


def rows(
    path: Path, *, sheet: str | None = None, what: str = "workbook", error: type[InputError] = InputError
) -> tuple[str, list[SheetRow]]:
    """The name of a sheet and its rows that hold something.

    Args:
        sheet: its name; by default the only one, or the first.
    """
    lines = map(json.loads, confined_tables.lines("excel", path, sheet, kind="Excel", what=what, error=error))
    names = next(lines)
    if not names:
        raise error("the workbook cannot be read as Excel: it has no sheet", path=path)
    if sheet is not None and sheet not in names:
        raise error(f"there is no sheet {sheet!r}; there are {', '.join(names)}", path=path)
    return sheet or names[0], list(_rows(lines))


def _rows(lines: Iterator[Any]) -> Iterator[SheetRow]:
    for number, cells, odd in lines:
        yield SheetRow(number, tuple(cells), tuple((_letters(int(at) + 1), holds) for at, holds in odd.items()))


def dumps(table: Sequence[Sequence[Any]], *, title: str = "cases") -> bytes:
    """Rows of texts, numbers, truth values and None as a workbook of one sheet; no cell is a formula.

    Raises:
        ValueError: a text holds what a cell cannot (``UNFIT``), or is too long.
    """
    try:
        import openpyxl
        from openpyxl.cell import WriteOnlyCell
    except ImportError as missing:
        raise InputError("Excel files need openpyxl: pip install 'promptpex[excel]'") from missing
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(title)
    for row in table:
        cells = []
        for value in row:
            if isinstance(value, str) and (len(value) > LONGEST_TEXT or UNFIT.search(value)):
                raise ValueError("a text does not fit into a cell")
            cell = WriteOnlyCell(sheet, value=value)
            if isinstance(value, str):
                cell.data_type = "s"
                cell.quotePrefix = value.startswith(SIGNS)  # a person's edit does not make a formula of it
            cells.append(cell)
        sheet.append(cells)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _letters(column: int) -> str:
    """The name of a column, from 1: ``A``, ``AA``."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
