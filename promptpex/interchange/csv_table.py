"""Foreign CSV with a header, read strictly: every cell as it stands, every damage with its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptpex.codecs.text_file import read_text
from promptpex.core.errors import InputError

MAX_BYTES = 200_000_000
MAX_CELL = 10_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """A row: the line of the file it begins on, its cells by column, and the cells beyond the header's columns."""

    number: int
    cells: Mapping[str, str]
    beyond: tuple[str, ...] = ()

    def __getitem__(self, column: str) -> str:
        return self.cells[column]


def read(
    path: Path, columns: Sequence[str], *, what: str, error: type[InputError], blank_after_comma: bool = False
) -> list[Line]:
    """The rows of a CSV file that must name these columns; blank lines are left out, other columns are allowed.

    Args:
        what: what the file is, for sentences.
        blank_after_comma: whether blanks after a comma are no part of the next cell.

    Raises:
        InputError: (as ``error``) the file is missing, is no CSV, lacks a column, or has a row with too few cells:
            with the line.
    """
    text = read_text(path, error=error, what=what, limit=MAX_BYTES)
    rows = _rows(text, path, what, error, blank_after_comma)
    _, head = next(rows, (1, []))
    names = [name.strip() for name in head]
    missing = [column for column in columns if column not in names]
    if missing:
        found = ", ".join(names[:12]) or "nothing"
        raise error(
            f"the header of the {what} lacks the column {missing[0]!r} (it names {found}); "
            "give the file as it was published",
            path=path,
            line=1,
        )
    return [_line(number, names, cells, path, what, error) for number, cells in rows]


def _rows(
    text: str, path: Path, what: str, error: type[InputError], blank_after_comma: bool
) -> Iterator[tuple[int, list[str]]]:
    limit = csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=blank_after_comma)
    number = 1
    try:
        while True:
            cells = next(reader, None)
            if cells is None:
                return
            if any(cell.strip() for cell in cells):
                yield number, cells
            number = reader.line_num + 1
    except csv.Error as failure:
        raise error(
            f"the {what} is no valid CSV from here on ({failure}); it may be cut off: get the file again",
            path=path,
            line=number,
        ) from None
    finally:
        csv.field_size_limit(limit)


def _line(number: int, names: list[str], cells: list[str], path: Path, what: str, error: type[InputError]) -> Line:
    if len(cells) < len(names):
        raise error(
            f"this row of the {what} has {len(cells)} cells and the header {len(names)}; "
            "the file may be cut off: get it again",
            path=path,
            line=number,
        )
    return Line(number, dict(zip(names, cells, strict=False)), tuple(cells[len(names) :]))
