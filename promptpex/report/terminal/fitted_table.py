"""A table that fits the terminal: a figure is shown whole or not at all, and what is left out is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from promptpex.core.translation import shown
from promptpex.report.colours import of_word

if TYPE_CHECKING:
    from rich.table import Table

WIDE = 100
"""Columns of a terminal from which on a table has wide gaps and headings of one line, where it is whole so."""
NAME = 24
"""Columns of a terminal that names keep before figures give way to them; longer names are folded."""
SHORTEST_NAME = 8
"""Columns that names keep where nothing more can give way."""
GAP, NARROW_GAP = (0, 1, 0, 1), (0, 1, 0, 0)
"""The padding of the cells of a table, and on a narrow terminal: above, right, below, left."""
_LINE, _EDGES = 1, 2
"""Columns that the lines of a table take: between two columns, and at its sides."""
WORDS = ("decision", "change", "stage")
"""Columns of words among those of figures; decisions and changes have colours."""


class Column(NamedTuple):
    """A header (a ``Key``, or a name) and its cells; of the columns that may give way to the others on a narrow
    terminal, the greater ``gives_way``, the sooner. ``decisions``, where it has any, give the cells
    their colours."""

    header: str
    cells: list[str]
    gives_way: int = 0
    decisions: Sequence[str] = ()


def fitted(title: str, columns: Sequence[Column], width: int, *, edges: bool = True) -> tuple[Table, list[str]]:
    """A table with names in its first column, and the headers of the columns that gave way.

    Args:
        edges: whether a blank line stands above the headers and below the rows.
    """
    columns_kept = list(columns)
    name = min(max(map(len, columns[0].cells), default=0), NAME)
    narrow = width < WIDE or least_width(columns_kept, name, narrow=False) > width
    while (over := least_width(columns_kept, name, narrow=narrow) - width) > 0:
        yielding = [column for column in columns_kept if column.gives_way]
        if not yielding:
            name = max(SHORTEST_NAME, name - over)
            break
        columns_kept.remove(max(yielding, key=lambda column: column.gives_way))
    left_out = [shown(column.header) for column in columns if column not in columns_kept]
    return table_of(title, columns_kept, name, narrow=narrow, edges=edges), left_out


def least_width(columns: Sequence[Column], name: int, *, narrow: bool) -> int:
    """What a table takes if its names are folded to ``name`` letters, as rich would measure it; of its columns the
    first alone may break between words."""
    first, *others = columns
    names = [_heading(first, narrow=narrow), *(cell[:name] for cell in first.cells)]
    widths = [max(name, *map(_longest_word, names)), *(_widest(column, narrow=narrow) for column in others)]
    _, right, _, left = _gap(narrow=narrow)
    return sum(widths) + (left + right + _LINE) * len(others) + _EDGES


def _longest_word(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.split() or text.splitlines()), default=0)


def _widest(column: Column, *, narrow: bool) -> int:
    """The width of the widest cell of a column, its header among them."""
    from rich.cells import cell_len

    return max(map(cell_len, (*_heading(column, narrow=narrow).split("\n"), *column.cells)))


def _gap(*, narrow: bool) -> tuple[int, int, int, int]:
    return NARROW_GAP if narrow else GAP


def table_of(title: str, columns: Sequence[Column], name: int, *, narrow: bool, edges: bool = True) -> Table:
    """A table in which the first column has room for ``name`` letters at least, and every other for its cells; a
    ``narrow`` one has small gaps and headings of two lines."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title) if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=edges,
        pad_edge=False,
        padding=_gap(narrow=narrow),
    )
    table.add_column(_heading(columns[0], narrow=narrow), overflow="fold", min_width=name)
    for column in columns[1:]:
        justify: Literal["left", "right"] = "left" if column.header in WORDS else "right"
        widest = _widest(column, narrow=narrow)
        table.add_column(_heading(column, narrow=narrow), justify=justify, no_wrap=True, min_width=widest)
    for number, row in enumerate(zip(*(column.cells for column in columns), strict=True)):
        words = [_decision(column, number, cell) for cell, column in zip(row, columns, strict=True)]
        table.add_row(*(Text(cell, style=of_word(word)) for cell, word in zip(row, words, strict=True)))
    return table


def _decision(column: Column, row: int, cell: str) -> str:
    """The word by which a cell has its colour; empty where it has none."""
    if column.header in WORDS:
        return cell
    return column.decisions[row] if column.decisions else ""


def _heading(column: Column, *, narrow: bool) -> str:
    """The header; in a ``narrow`` table on two lines where it is wider than its cells."""
    from rich.cells import cell_len

    header = shown(column.header)
    folds = narrow and cell_len(header) > max(map(cell_len, column.cells), default=0)
    return header.replace(" (", "\n(", 1) if folds else header
