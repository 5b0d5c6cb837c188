"""The tables below the main one in a terminal: their first rows, with words kept whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from promptpex.core.translation import shown, tr
from promptpex.report.terminal.fitted_table import NAME, NARROW_GAP, WIDE
from promptpex.report.terminal.texts import clean, named, print_line
from promptpex.report.text_table import IDS, Section, cut

if TYPE_CHECKING:
    from rich.console import Console

CELL = 48
"""Characters of a cell."""
WORD = 16
"""Letters of the longest word that is not broken where a column of a section is narrow; names and ids give way."""
MOST_ROWS = 8
"""Rows of a section in the terminal; the page and the CSV files have all."""


def show_section(section: Section, console: Console) -> None:
    """Prints the first rows of a table with its title and note; nothing where it has no rows."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not section.rows:
        return
    console.print(f"\n{section.title}", style="bold", markup=False, highlight=False)
    rows, more = cut(section.rows, MOST_ROWS)
    cells = [[named(cell) if name in IDS else clean(cell, CELL) for name, cell in _pairs(section, row)] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=NARROW_GAP if console.width < WIDE else (0, 1))
    for name, wide in zip(section.header, _widths(section.header, cells, console.width), strict=True):
        table.add_column(Text(named(shown(name))), overflow="fold", width=wide)
    for row in cells:
        table.add_row(*map(Text, row))
    if section.note:
        print_line(section.note, console)
    console.print(table)
    if more:
        print_line(tr("... and {count} more (see {file}).", count=more, file=section.file or "report.html"), console)


def _widths(header: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> Sequence[int | None]:
    """The width of each column of a section, in cells of the terminal: words stay whole, and names where there is
    room; None for each where there is no room even for the words, and all are folded as they come."""
    from rich.cells import cell_len

    columns = [[named(shown(name)), *(row[at] for row in cells)] for at, name in enumerate(header)]
    longest = [max(map(cell_len, column)) for column in columns]
    is_name = [name in IDS for name in header]
    words = [max(map(cell_len, " ".join(column).split()), default=0) for column in columns]
    least = [min(word, NAME if name else WORD) for word, name in zip(words, is_name, strict=True)]
    gap = 2 if width < WIDE else 3
    room = width - gap * len(header) - sum(n for n, name in zip(least, is_name, strict=True) if not name)
    names = sorted((at for at, name in enumerate(is_name) if name), key=lambda at: least[at])
    for place, at in enumerate(names):
        least[at] = min(least[at], max(cell_len(shown(header[at])), room // (len(names) - place)))
        room -= least[at]
    if room < 0:
        return [None] * len(header)
    for at in sorted(range(len(header)), key=lambda at: longest[at] - least[at]):
        more = min(room, longest[at] - least[at])
        least[at], room = least[at] + more, room - more
    return least


def _pairs(section: Section, row: Sequence[str]) -> Iterable[tuple[str, str]]:
    """The cells of a row with their headings."""
    return zip(section.header, row, strict=True)
