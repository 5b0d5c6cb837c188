"""All tables of a run in a terminal: models, rules, kinds of cases, judges, and the most frequent failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptpex.core.translation import tr
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
from promptpex.report.translated_values import reason_of
from promptpex.report.wrong_answers import wrong_answer_section

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
        print_line(
            tr("Hidden at this width: {columns} (see {file}).", columns=", ".join(left_out), file="report.html"),
            console,
        )
    for line in (*footnotes(summary), *notes(summary)):
        print_line(line, console)
    _metrics(summary, console)
    show_section(wrong_answer_section(summary), console)
    if any(summary.models.column("scored")):
        for section in (rule_section(summary), *sections(summary)):
            show_section(section, console)
    if summary.examples:
        console.print(f"\n{tr('Most frequent failures')}", style="bold", markup=False, highlight=False)
        for example in summary.examples:
            _example(example, console)


def _metrics(summary: Summary, console: Console) -> None:
    """How the models do by the owner's metrics, and the output that each metric scores lowest."""
    show_section(metric_section(summary), console)
    scale_of = scales(summary.run)
    lowest: dict[str, dict[str, Any]] = {}
    for row in summary.lowest.records():
        lowest.setdefault(row["metric"], row)
    for row in lowest.values():
        score = points(row["value"], scale_of.get(row["metric"]))
        place = tr("{model}, case {case}", model=named(row["model"]), case=named(row["case"]))
        lines = [
            "  " + tr("lowest {metric}: {score}, {place}", metric=row["metric"], score=score, place=place),
            "      " + tr("output: {text}", text=clean(row["output"])),
            f"      {clean(reason_of(row['reason'] or '', row['source'] or ''))}",
        ]
        print_cut(lines, console)


def _example(example: FailureExample, console: Console) -> None:
    count = tr("fails in {some} of {all}", some=example.broken, all=example.scored)
    place = tr("{model}, case {case}", model=named(example.model), case=named(example.case))
    lines = [
        f"  {named(example.rule)}  {count}: {clean(example.text)}",
        f"      {place}: {clean(example.inputs)}",
        "      " + tr("output: {text}", text=clean(example.output)),
        f"      {clean(reason_of(example.reason, example.source))}",
    ]
    print_cut(lines, console)
