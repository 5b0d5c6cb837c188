"""A table of a report as texts: the terminal and the page show the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

IDS = ("model", "rule", "case", "judge")
"""Columns of ids and names, of which a long one is shortened."""


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


def cut(rows: Iterable[tuple[str, ...]], most: int) -> tuple[list[tuple[str, ...]], int]:
    """The first ``most`` rows, and how many are left out."""
    every = list(rows)
    return every[:most], max(0, len(every) - most)
