"""Foreign CSV with a header, read strictly: every cell as it stands, every damage with its line."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptpex.codecs import safe_csv
from promptpex.codecs.files.text_file import read_text
from promptpex.core.errors import InputError

MAX_BYTES = 200_000_000


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: the line of the file it begins on, its cells by column, and the cells beyond the header's columns."""

    number: int
    cells: Mapping[str, str]
    beyond: tuple[str, ...] = ()

    def __getitem__(self, column: str) -> str:
        return self.cells[column]


def read(
    path: Path, columns: Sequence[str], *, what: str, error: type[InputError], blank_after_comma: bool = False
) -> list[TableRow]:
    """The rows of a CSV file that must name these columns; blank lines are left out, other columns are allowed.

    Args:
        what: what the file is, for sentences.
        blank_after_comma: whether blanks after a comma are not part of the next cell.

    Raises:
        InputError: (as ``error``) the file is missing, is not CSV, lacks a column, or has a row with too few cells:
            with the line.
    """
    text = read_text(path, error=error, what=what, limit=MAX_BYTES)
    lines = io.StringIO(text, newline="")
    rows = safe_csv.read_rows(lines, path=path, error=error, guarded=False, blank_after_comma=blank_after_comma)
    head = next(rows, safe_csv.CsvRow(1, ()))
    names = [name.strip() for name in head.cells]
    missing = [column for column in columns if column not in names]
    if missing:
        present = ", ".join(names[:12]) or "nothing"
        raise error(
            f"the header of the {what} lacks the column {missing[0]!r} (it has {present}); give the file as it was "
            "published",
            path=path,
            line=1,
        )
    return [_row(row, names, path, what, error) for row in rows if any(cell.strip() for cell in row.cells)]


def _row(row: safe_csv.CsvRow, names: list[str], path: Path, what: str, error: type[InputError]) -> TableRow:
    if len(row.cells) < len(names):
        raise error(
            f"this row of the {what} has {len(row.cells)} cells, but the header has {len(names)}; the file may be cut "
            "off: get it again",
            path=path,
            line=row.line,
        )
    return TableRow(row.line, dict(zip(names, row.cells, strict=False)), row.cells[len(names) :])
