"""All tables of a run in a terminal: models, rules, kinds of cases, judges, and the most frequent failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.report.failures import FailureExample
from promptpex.report.metrics_in_words import metric_section, points, scales
from promptpex.report.secondary_tables import footnotes, rule_section, sections
from promptpex.report.summary import Summary
from promptpex.report.terminal.ending import ending, print_renderable
from promptpex.report.terminal.model_table import model_table
from promptpex.report.terminal.next_steps import Occasion
from promptpex.report.terminal.notes import notes
from promptpex.report.terminal.sections import show_section
from promptpex.report.terminal.texts import clean, named, print_cut, print_line
from promptpex.report.wrong_answers import wrong_answer_section
from promptpex.tables import records

if TYPE_CHECKING:
    from rich.console import Console


def show_full(summary: Summary, console: Console, occasion: Occasion) -> None:
    """Prints every table and what a reader has to know of them, then what to do next, and the answer."""
    _tables(summary, console)
    console.print()
    for line in ending(summary, console, occasion):
        print_renderable(line, console)


def _tables(summary: Summary, console: Console) -> None:
    table, left_out = model_table(summary, console.width)
    console.print(table)
    if left_out:
        print_line(f"Hidden at this width: {', '.join(left_out)} (see report.html).", console)
    for line in (*footnotes(summary), *notes(summary)):
        print_line(line, console)
    _metrics(summary, console)
    show_section(wrong_answer_section(summary), console)
    if summary.models["scored"].sum() > 0:
        for section in (rule_section(summary), *sections(summary)):
            show_section(section, console)
    if summary.examples:
        console.print("\nMost frequent failures", style="bold")
        for example in summary.examples:
            _example(example, console)


def _metrics(summary: Summary, console: Console) -> None:
    """How the models do by the owner's metrics, and the output that each metric scores lowest."""
    show_section(metric_section(summary), console)
    scale_of = scales(summary)
    for row in records(summary.lowest.drop_duplicates("metric")):
        place = f"{named(row['model'])}, case {named(row['case'])}"
        lines = [
            f"  lowest {row['metric']}: {points(row['value'], scale_of.get(row['metric']))}, {place}",
            f"      output: {clean(row['output'])}",
            f"      {clean(row['reason'])}",
        ]
        print_cut(lines, console)


def _example(example: FailureExample, console: Console) -> None:
    lines = [
        f"  {named(example.rule)}  fails in {example.broken} of {example.scored}: {clean(example.text)}",
        f"      {named(example.model)}, case {named(example.case)}: {clean(example.inputs)}",
        f"      output: {clean(example.output)}",
        f"      {clean(example.reason)}",
    ]
    print_cut(lines, console)
