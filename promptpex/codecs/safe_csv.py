"""CSV that a spreadsheet can open without running anything, and that reads back as it was.

A cell that begins with a sign a spreadsheet takes for a formula (OWASP, "CSV Injection") gets an apostrophe in front,
and so does one that begins with an apostrophe; reading takes exactly that one off again. RFC 4180 quoting, UTF-8.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from promptpex.codecs.files.ordinary_files import opened, read_text
from promptpex.codecs.files.packed import unpacked
from promptpex.core.errors import InputError

DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")
_BLANK = re.compile("[\\s\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\x00-\x1f\x7f-\x9f]*")
"""What stands in front of a formula unseen, or is taken away by a spreadsheet."""
_LINE_END = "\r\n"
"""Python's writer quotes a cell that holds a line end only if its own line end holds the same character."""
MAX_BYTES = 100_000_000
MAX_CELL = 10_000_000


@dataclass(frozen=True, slots=True)
class CsvRow:
    """The cells of one row, and the line of the file that it begins on."""

    line: int
    cells: tuple[str, ...]


def guard(cell: str) -> str:
    return f"'{cell}" if _runs(cell) else cell


def unguard(cell: str) -> str:
    """The cell as it was before ``guard``."""
    return cell[1:] if cell.startswith("'") and _runs(cell[1:]) else cell


def _runs(cell: str) -> bool:
    """Whether a spreadsheet may take the cell for a formula, or for one of ours behind its guard."""
    if cell[:1].isalnum():
        return False
    bare = cell[_BLANK.match(cell).end() :]  # type: ignore[union-attr]
    return cell.startswith(DANGEROUS) or (bare is not cell and bare.startswith(DANGEROUS))


def dumps(rows: Iterable[Sequence[str]]) -> str:
    """The rows as CSV text, every cell guarded; lines end in CR LF as RFC 4180 has it."""
    return dump_cells([guard(cell) for cell in row] or [""] for row in rows)


def dump_cells(rows: Iterable[Iterable[Any]], *, line_end: str = _LINE_END) -> str:
    """Rows as CSV text, their cells as they are: numbers, and texts that are guarded already."""
    lines: list[str] = []
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator=_LINE_END)
    writer.writerows(rows)
    if line_end == _LINE_END:
        return "".join(lines)
    return "".join(line.removesuffix(_LINE_END) + line_end for line in lines)


def loads(text: str, *, path: Path | str | None = None, error: type[InputError] = InputError) -> list[CsvRow]:
    """The rows of a CSV text, guards taken off; lines without any cell are left out."""
    return list(read_rows(io.StringIO(text.removeprefix("\ufeff"), newline=""), path=path, error=error))


def read_rows(
    lines: Iterable[str],
    *,
    path: Path | str | None = None,
    error: type[InputError] = InputError,
    guarded: bool = True,
    blank_after_comma: bool = False,
    strict: bool = True,
    first_line: int = 1,
) -> Iterator[CsvRow]:
    """The rows of CSV lines of any number, one by one; lines without any cell are left out.

    Args:
        lines: with their line ends, as a file opened with ``newline=""`` gives them.
        guarded: whether guards are taken off: our own files have them, those of others do not.
        blank_after_comma: whether blanks after a comma are not part of the next cell.
        strict: whether a quote that does not close, or that something follows, is an error and not a part of the cell.
        first_line: the line of the file that the first of these is.
    """
    reader = csv.reader(lines, strict=strict, skipinitialspace=blank_after_comma)
    line = first_line
    while True:
        try:
            cells = _next_cells(reader)
        except csv.Error as failure:
            why = "a quote does not close; the file may be cut off" if "end of data" in str(failure) else failure
            raise error(f"this is not valid CSV: {why}", path=path, line=line) from None
        if cells is None:
            return
        if cells:
            yield CsvRow(line, tuple(map(unguard, cells)) if guarded else tuple(cells))
        line = reader.line_num + first_line


def cells_of(
    text: str,
    *,
    path: Path | str | None = None,
    line: int = 1,
    error: type[InputError] = InputError,
    strict: bool = True,
) -> list[str]:
    """The cells of a list that is written as CSV inside of something else, on one line or several; without guards."""
    lines = io.StringIO(text, newline="")
    rows = read_rows(lines, path=path, error=error, guarded=False, strict=strict, first_line=line)
    return [cell for row in rows for cell in row.cells]


def _next_cells(reader: Any) -> list[str] | None:
    """The next row; None at the end. Python's limit on a cell is of the whole process, so it is put back."""
    limit = csv.field_size_limit(MAX_CELL)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(limit)


def stream(path: Path | str, *, what: str, error: type[InputError] = InputError) -> Iterator[CsvRow]:
    """As ``read``, from a UTF-8 file of any length, row by row."""
    try:
        raw = unpacked(opened(Path(path), error=error, what=what), Path(path))
        with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
            yield from read_rows(file, path=path, error=error)
    except UnicodeDecodeError:
        raise error(f"the {what} is not UTF-8 text", path=path) from None
    except OSError as failure:
        raise error(f"the {what} cannot be read: {failure.strerror or failure}", path=path) from None


def read(path: Path | str, *, what: str, error: type[InputError] = InputError) -> list[CsvRow]:
    """The rows of a CSV file; errors as in ``loads`` and ``ordinary_files.read_text``."""
    return loads(read_text(path, error=error, what=what, limit=MAX_BYTES), path=path, error=error)
