"""Sentences and tables below each other, in lines of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from promptpex.core.translation import tr
from promptpex.report.percentages import percent

WIDTH = 80


def wrapped(*sentences: str) -> list[str]:
    """Each of the sentences in lines of 80 columns; an empty one is an empty line."""
    return [line for sentence in sentences for line in wrap(sentence, WIDTH, break_on_hyphens=False) or [""]]


def indented(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def share_line(name: str, share: float | None, count: str) -> str:
    """A share in a line of its own, below others, with what it was counted from; a dash where it is not defined."""
    return f"  {name:<10}{'–' if share is None else percent(share):>7}   {count}"


def right_aligned(words: Sequence[str], least: Sequence[int], cells: Sequence[object]) -> str:
    """Cells of a row below these headings, each as wide as asked for and as its heading needs; the headings themselves
    are the first row."""
    widths = (max(width, len(word) + 1) for word, width in zip(words, least, strict=True))
    return "".join(f"{cell!s:>{width}}" for cell, width in zip(cells, widths, strict=True))


def and_more(count: int, listed: int) -> list[str]:
    """The line that says how many items of a list are not ``listed``; none where all are."""
    return ["  " + tr("and {count} more; --json has all", count=count - listed)] if count > listed else []


def apart(parts: Iterable[Sequence[str]]) -> list[str]:
    """The lines of all parts, with an empty one between two; an empty part is left out."""
    return [line for part in parts if part for line in ("", *part)][1:]
