"""What changed from one run to another, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.core.translation import tr
from promptpex.report.comparison_sections import GIVE_WAY, changed_section, compared_sections
from promptpex.report.terminal.ending import page_line, print_renderable
from promptpex.report.terminal.fitted_table import Column, fitted
from promptpex.report.terminal.sections import show_section
from promptpex.report.terminal.texts import LONG, clean, named, print_line
from promptpex.report.text_table import IDS, Section

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from promptpex.report.run_comparison import RunComparison


def show_comparison(comparison: RunComparison, console: Console, page: Path | None = None) -> None:
    """Prints what changed from one run to another, where its page is, and the answer last."""
    for section in compared_sections(comparison):
        _compared_table(section, console)
    show_section(changed_section(comparison), console)
    for note in comparison.notes:
        print_line(clean(note, LONG), console)
    if page is not None:
        print_renderable(page_line(tr("Side by side:"), page), console)
    console.print()
    print_line(clean(comparison.answer, LONG), console)


def _compared_table(section: Section, console: Console) -> None:
    columns = [
        Column(name, [row[at] for row in section.rows], GIVE_WAY.index(name) + 1 if name in GIVE_WAY else 0)
        for at, name in enumerate(section.header)
    ]
    names = [named(cell) if columns[0].header in IDS else clean(cell, LONG) for cell in columns[0].cells]
    table, left_out = fitted(section.title, [columns[0]._replace(cells=names), *columns[1:]], console.width)
    console.print(table)
    if left_out:
        print_line(
            tr("Hidden at this width: {columns} (see {file}).", columns=", ".join(left_out), file="--json"), console
        )
