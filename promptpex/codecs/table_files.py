"""Excel workbooks and Parquet files as rows of plain data, and rows as such files; the home of openpyxl and pyarrow.

Files of strangers are read in a process of its own (``table_process``): a file of a few bytes may ask a library for
gigabytes or hours. There it has memory and time in proportion to the file, no key of the environment, and what it makes
of the file is bounded as it comes. No formula is run or written: of a formula the value is read that the program which
wrote it kept; a text that begins with ``=``, ``+``, ``-`` or ``@`` stays a text when a person edits the cell.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from promptpex.codecs.files.ordinary_files import MEGABYTE, opened, room_for_repeats, weight_of
from promptpex.core.errors import InputError

MEMORY, TIMES = 350 * MEGABYTE, 8
"""Bytes that the process may use, and how many times as many as the file has beyond them."""
SECONDS, BYTES_A_SECOND = 3, 300_000
"""Seconds of CPU that it may take, and one more for so many bytes of the file."""
EXTRAS = {"pyarrow": "parquet", "openpyxl": "excel"}
LONGEST = 50 * MEGABYTE
"""Bytes of the longest row, as JSON."""
ROW_TO_CHECK = 1_000
"""Bytes that each row counts on top of its own: some 100,000 rows of nothing take seconds to check."""


def confined_lines(
    job: str,
    path: Path,
    *given: object,
    kind: str,
    what: str,
    error: type[InputError],
    links: bool = True,
    in_total: bool = True,
) -> Iterator[bytes]:
    """What a job of ``table_process`` says of a file, line by line.

    Args:
        links: whether a link is followed, within its project.
        in_total: whether all lines together are bounded; each of them is in any case.
    """
    library = "openpyxl" if job == "excel" else "pyarrow"
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        raise error(f"{kind} files need {library}: pip install 'promptpex[{EXTRAS[library]}]'", path=path)
    home = Path(spec.origin).parent.parent
    with opened(path, error=error, what=what, links=links) as file:
        size = os.fstat(file.fileno()).st_size
        room = left = room_for_repeats(size)
        process = _started(file, home, job, size, given)
        assert process.stdout is not None
        try:
            for line in iter(partial(process.stdout.readline, LONGEST + 1), b""):
                if line.startswith(b"!"):
                    raise error(f"the {what} cannot be read as {kind}: {json.loads(line[1:])}", path=path)
                left = (left if in_total else room) - weight_of(line) - ROW_TO_CHECK
                if left < 0 or not line.endswith(b"\n"):
                    raise _too_much(path, what, error)
                yield line
            if process.wait() != 0:
                raise _too_much(path, what, error)
        finally:
            process.kill()
            process.stdout.close()
            process.wait()


def _too_much(path: Path, what: str, error: type[InputError]) -> InputError:
    return error(
        f"the {what} holds far more than its size explains; if it is yours, write it as CSV or JSON lines", path=path
    )


def _started(file: BinaryIO, home: Path, job: str, size: int, given: tuple[object, ...]) -> subprocess.Popen[bytes]:
    script = str(Path(__file__).with_name("table_process.py"))
    limits = (MEMORY + TIMES * size, SECONDS + size // BYTES_A_SECOND)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", script, str(home), job, *map(str, limits), json.dumps(given)],
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        | {name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ},
    )


LONGEST_TEXT = 32_767
"""Characters that a cell of Excel holds."""
UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]|x005F_|_x[0-9A-Fa-f]{4}_")
"""What no cell holds as it is: controls, halves of characters, and what a workbook takes for an escape."""
_SIGNS = ("=", "+", "-", "@", "'")


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


def excel_rows(
    path: Path, *, sheet: str | None = None, what: str = "workbook", error: type[InputError] = InputError
) -> tuple[str, list[SheetRow]]:
    """The name of a sheet and its rows that hold something.

    Args:
        sheet: its name; by default the only one, or the first.
    """
    lines = map(json.loads, confined_lines("excel", path, sheet, kind="Excel", what=what, error=error))
    names = next(lines)
    if not names:
        raise error("the workbook cannot be read as Excel: it has no sheet", path=path)
    if sheet is not None and sheet not in names:
        raise error(f"there is no sheet {sheet!r}; there are {', '.join(names)}", path=path)
    return sheet or names[0], list(_sheet_rows(lines))


def _sheet_rows(lines: Iterator[Any]) -> Iterator[SheetRow]:
    for number, cells, odd in lines:
        yield SheetRow(number, tuple(cells), tuple((_letters(int(at) + 1), holds) for at, holds in odd.items()))


def excel_bytes(table: Sequence[Sequence[Any]], *, title: str = "cases") -> bytes:
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
                cell.quotePrefix = value.startswith(_SIGNS)  # a person's edit does not make a formula of it
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


def parquet_lines(path: Path, *, what: str, error: type[InputError] = InputError) -> Iterator[bytes]:
    """The rows of a Parquet file of any length as JSON, one by one.

    Dates and times are ISO texts, decimals numbers, bytes UTF-8 or else base64.
    """
    rows = confined_lines("parquet", path, True, kind="Parquet", what=what, error=error)
    next(rows)
    yield from rows


def parquet_table(
    path: Path, *, what: str, error: type[InputError] = InputError
) -> tuple[dict[str, str | None], Iterator[dict[str, Any]]]:
    """The columns of a file, each with its type where JSON cannot hold its values, such as bytes, else None; and its
    rows without those."""
    rows = confined_lines("parquet", path, kind="Parquet", what=what, error=error)
    return json.loads(next(rows)), map(json.loads, rows)


def parquet_bytes(parquet_table: Mapping[str, Sequence[object]]) -> bytes:
    """Columns of equally many values as a Parquet file. The values of a column are of one type, or None."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as missing:
        raise InputError("Parquet files need pyarrow: pip install 'promptpex[parquet]'") from missing
    kinds: dict[type, Any] = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    arrays = []
    for values in parquet_table.values():
        kind = next((type(value) for value in values if value is not None), str)
        arrays.append(pa.array(list(values), type=kinds[kind]))
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, names=list(parquet_table)), buffer)
    return buffer.getvalue()
