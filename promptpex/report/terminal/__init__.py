"""The report of a run, and of two runs, in a terminal: brief on one screen, or all tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.report.terminal.brief import show_brief
from promptpex.report.terminal.comparison import show_comparison
from promptpex.report.terminal.full import show_full
from promptpex.report.terminal.next_steps import Occasion
from promptpex.report.terminal.notes import notes
from promptpex.report.terminal.sections import show_section
from promptpex.report.terminal.texts import clean, money, named, percent, seconds

if TYPE_CHECKING:
    from rich.console import Console

    from promptpex.report.summary import Summary

__all__ = [
    "NO_OCCASION",
    "Occasion",
    "clean",
    "money",
    "named",
    "notes",
    "percent",
    "seconds",
    "show",
    "show_comparison",
    "show_section",
]


NO_OCCASION = Occasion()


def show(summary: Summary, console: Console, full: bool = False, *, occasion: Occasion = NO_OCCASION) -> None:
    """Prints the report of a run on 24 lines of 80 columns, or with ``full`` every table; the answer comes last."""
    if full:
        show_full(summary, console, occasion)
    else:
        show_brief(summary, console, occasion)
