"""A table of a report as texts: the terminal and the page show the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

IDS = ("model", "rule", "case", "judge")
"""Columns of ids and names, of which a long one is shortened."""

_FIGURE = re.compile(r"[≥$+-]?\d.{0,24}\Z")


@dataclass(frozen=True, slots=True)
class Section:
    """A table with what it means.

    Attributes:
        id: for links.
        title: what it answers.
        note: how to read it; stands above the table, as its caption.
        header: the columns.
        rows: the cells, as texts.
        file: the CSV that has all of it, where there is one.
    """

    id: str
    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    file: str = ""

    @property
    def figures(self) -> frozenset[int]:
        """The columns of figures, such as ``3 of 60`` or ``27% (17–41%)``, which stand at the end of their cells."""
        columns = enumerate(zip(*self.rows, strict=True))
        return frozenset(place for place, cells in columns if self.header[place] not in IDS and _are_figures(cells))


def _are_figures(cells: tuple[str, ...]) -> bool:
    return all(cell == "–" or _FIGURE.match(cell) for cell in cells) and set(cells) != {"–"}


def cut(rows: Iterable[tuple[str, ...]], most: int) -> tuple[list[tuple[str, ...]], int]:
    """The first ``most`` rows, and how many are left out."""
    all_rows = list(rows)
    return all_rows[:most], max(0, len(all_rows) - most)
