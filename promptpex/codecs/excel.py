"""Excel workbooks (Office Open XML) as rows of plain data, and rows as a workbook; the home of openpyxl.

No formula is run or written: of a formula the value is read that the program which wrote it kept. A text that begins
with ``=``, ``+``, ``-`` or ``@`` is written as the text that it is, and stays one when a person edits the cell.
"""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from promptpex.codecs.files.ordinary_files import opened, room_for_repeats
from promptpex.core.errors import InputError

MOST_BYTES = 100_000_000
"""Bytes of a workbook."""
MOST_UNPACKED = 400_000_000
"""Bytes of all its parts, unpacked."""
TIMES, FREE_BYTES = 40, 20_000_000
"""How many times as long as the file, beyond so many bytes, its parts may be; sheets are packed to a tenth."""
FREE_WORK = 200_000
"""What the tags of all parts may cost (``_COSTS``), and 2 for 5 bytes of the file."""
MOST_PARTS = 5_000
MOST_CELLS = 4_000_000
"""Cells, empty ones between filled ones among them, of a sheet."""
LONGEST_TEXT = 32_767
"""Characters that a cell of Excel holds."""
UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]|x005F_|_x[0-9A-Fa-f]{4}_")
"""What no cell holds as it is: controls, halves of characters, and what a workbook takes for an escape."""
SIGNS = ("=", "+", "-", "@", "'")
_CHUNK = 1 << 20
_DEFINITIONS = (b"<!DOCTYPE", b"<!ENTITY")
_UTF_16 = (b"<", b" ", b"\t", b"\r", b"\n", b"\xff\xfe", b"\xfe\xff")
"""How XML in UTF-16 begins, without the zero."""
_TAG = re.compile(rb"<(?:\w+:)?(\w+)")
_COSTS: dict[bytes, int] = {b"c": 1, b"row": 1, b"si": 1, b"t": 1, b"r": 1, b"is": 3, b"v": 0, b"f": 0}
"""What a tag costs openpyxl, in units of about 4 millionths of a second; 6 for any other, such as a style."""
_RESAVE = "save its rows as CSV and import that"
_NEEDED = "Excel files need openpyxl: pip install 'promptpex[excel]'"


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
    path: Path,
    *,
    sheet: str | None = None,
    what: str = "workbook",
    error: type[InputError] = InputError,
    most_unpacked: int = MOST_UNPACKED,
    most_cells: int = MOST_CELLS,
) -> tuple[str, list[SheetRow]]:
    """The name of a sheet and its rows that hold something.

    Args:
        sheet: its name; by default the only one, or the first.
        most_unpacked, most_cells: bytes of all parts, and cells of the sheet, that are read at most.

    Raises:
        InputError: (as ``error``) the file is missing, no workbook, too large unpacked, holds definitions of XML, or
            has no such sheet; or openpyxl is not installed.
    """
    try:
        import openpyxl
    except ImportError as missing:
        raise error(_NEEDED, path=path) from missing
    with opened(path, error=error, what=what) as file:
        has_formulas, most_text = _check_parts(file, path, what, error, most_unpacked)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                file.seek(0)
                book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
                name = _sheet(book, sheet, path, error)
                return name, list(_sheet_rows(book[name], has_formulas, path, error, most_cells, most_text))
        except InputError:
            raise
        except Exception as failure:  # openpyxl lets whatever a broken part causes through
            why = str(failure).strip().partition("\n")[0][:200] or type(failure).__name__
            raise error(f"the {what} cannot be read as Excel: {why}", path=path) from None


def dumps(table: Sequence[Sequence[Any]], *, title: str = "cases") -> bytes:
    """Rows of texts, numbers, truth values and None as a workbook of one sheet; no cell is a formula.

    Raises:
        InputError: openpyxl is not installed.
        ValueError: a text holds what a cell cannot (``UNFIT``), or is too long.
    """
    try:
        import openpyxl
        from openpyxl.cell import WriteOnlyCell
    except ImportError as missing:
        raise InputError(_NEEDED) from missing
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


def _check_parts(file: BinaryIO, path: Path, what: str, error: type[InputError], most: int) -> tuple[bool, int]:
    """Refuses what unpacks to too much, and definitions of XML, before anything is parsed; gives whether there are
    formulas, and how many characters its cells may hold."""
    try:
        size = file.seek(0, 2)
        if size > MOST_BYTES:
            raise error(f"the {what} has more than {MOST_BYTES // 1_000_000} MB", path=path)
        most, room = min(most, FREE_BYTES + TIMES * size), FREE_WORK + size * 2 // 5
        file.seek(0)
        with zipfile.ZipFile(file) as parts:
            infos = parts.infolist()
            if len(infos) > MOST_PARTS or sum(info.file_size for info in infos) > most:
                raise error(f"the {what} unpacks to more than {most:,} bytes, or to many parts; {_RESAVE}", path=path)
            formulas = False
            for info in infos:
                work, has_formulas = _work_of(parts, info, path, what, error)
                room, formulas = room - work, formulas or has_formulas
                if room < 0:
                    raise error(
                        f"the {what} holds far more cells or styles than its size explains; {_RESAVE}", path=path
                    )
            return formulas, room_for_repeats(size)
    except InputError:
        raise
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError) as failure:
        raise error(f"the {what} is not an Excel workbook (.xlsx): {str(failure)[:200]}", path=path) from None
    except Exception as failure:  # zlib, lzma and bz2 have errors of their own
        raise error(f"the {what} is damaged: {str(failure)[:200]}", path=path) from None


def _work_of(
    parts: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, what: str, error: type[InputError]
) -> tuple[int, bool]:
    """What a part costs to parse, and whether it holds formulas; one with definitions, or in UTF-16, which hides them,
    is refused, whatever its name."""
    before, has_formulas, work, length = b"", False, 0, 0
    with parts.open(info) as part:
        while chunk := part.read(_CHUNK):
            text = before + chunk
            hides = not length and text[:2].strip(b"\0") in _UTF_16
            length += len(chunk)
            if hides or any(each in text for each in _DEFINITIONS):
                raise error(f"the {what} holds definitions of XML, or XML in UTF-16, which is refused", path=path)
            if length > info.file_size:
                raise error(f"the {what} is damaged: {info.filename!r} is longer than it says", path=path)
            tags = Counter(_TAG.findall(text))
            has_formulas = has_formulas or b"f" in tags
            work += sum(_COSTS.get(tag, 6) * count for tag, count in tags.items())
            before = text[-16:]
    return work, has_formulas


def _formulas(sheet: Any, path: Path, error: type[InputError], most: int) -> frozenset[tuple[int, int]]:
    """The places of the cells that are formulas."""
    book = sheet.parent
    book._data_only = False  # what the next look at its cells gives
    try:
        return frozenset(
            (number, at)
            for number, row in _bounded_rows(sheet, path, error, most)
            for at, cell in enumerate(row, 1)
            if getattr(cell, "data_type", None) == "f"
        )
    finally:
        book._data_only = True


def _sheet(book: Any, sheet: str | None, path: Path, error: type[InputError]) -> str:
    names = [each.title for each in book.worksheets]
    if not names:
        raise error("the workbook cannot be read as Excel: it has no sheet", path=path)
    if sheet is not None and sheet not in names:
        raise error(f"there is no sheet {sheet!r}; there are {', '.join(names)}", path=path)
    return sheet if sheet is not None else str(names[0])


def _bounded_rows(sheet: Any, path: Path, error: type[InputError], most: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """The rows with their numbers, however large the sheet says that it is."""
    sheet.reset_dimensions()
    count = 0
    for number, row in enumerate(sheet.iter_rows(), 1):
        count += len(row) + 1
        if count > most:
            raise error(f"the sheet {sheet.title!r} spreads over more than {most:,} cells; {_RESAVE}", path=path)
        yield number, row


def _sheet_rows(
    sheet: Any, has_formulas: bool, path: Path, error: type[InputError], most: int, room: int
) -> Iterator[SheetRow]:
    formulas = _formulas(sheet, path, error, most) if has_formulas else frozenset[tuple[int, int]]()
    for number, row in _bounded_rows(sheet, path, error, most):
        if not row or all(cell.value is None and not hasattr(cell, "row") for cell in row):
            continue
        odd: list[tuple[str, str]] = []
        cells = tuple(_value(cell, (number, at), formulas, odd) for at, cell in enumerate(row, 1))
        room -= sum(len(value) for value in cells if isinstance(value, str))
        if room < 0:
            raise error(f"the sheet {sheet.title!r} repeats its texts to far more than its size; {_RESAVE}", path=path)
        if odd or any(value is not None for value in cells):
            yield SheetRow(number, cells, tuple(odd))


def _value(cell: Any, place: tuple[int, int], formulas: frozenset[tuple[int, int]], odd: list[tuple[str, str]]) -> Any:
    value, letter = cell.value, _letters(place[1])
    if getattr(cell, "data_type", None) == "e":
        odd.append((letter, str(value)))
        return None
    if value is None and place in formulas:
        odd.append((letter, "formula"))
        return None
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    return value if isinstance(value, str | bool | int | float) or value is None else str(value)


def _letters(column: int) -> str:
    """The name of a column, from 1: ``A``, ``AA``."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
