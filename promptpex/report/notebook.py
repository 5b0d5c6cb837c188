"""What a notebook shows of a run and of a comparison: a few lines of HTML without styles or scripts of their own.

What models and people wrote is escaped and cut short, as on the report's page.
"""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.core.translation import Key, tr, tr_n
from promptpex.report.comparison_sections import changed_section, compared_sections
from promptpex.report.html_page import rendered
from promptpex.report.quantities import quantities
from promptpex.report.run_comparison import RunComparison
from promptpex.report.summary import Summary
from promptpex.report.terminal.model_table import columns
from promptpex.report.terminal.notes import marks, notes
from promptpex.report.terminal.texts import LONG, clean, named
from promptpex.report.text_table import Section, cut
from promptpex.report.translated_values import reason_of

MOST_ROWS = 10
"""Rows of a table that are shown."""
MOST_FAILURES = 3
"""Rules that are named as failing most often."""
MOST_NOTES, LONGEST = 6, 320
"""Notes, and characters of each."""


def run_html(summary: Summary) -> str:
    """The answer of a run, its table of models, what fails most often, and what a reader has to know of it."""
    shown_columns = columns(summary, quantities(summary), summary.model_rows)
    cells = tuple(zip(*(column.cells for column in shown_columns), strict=True))
    run = summary.run
    title = tr(
        "{prompt}: {models}, {cases}",
        prompt=clean(run.prompt.name),
        models=tr_n("{count} model", "{count} models", len(cells)),
        cases=tr_n("{count} case", "{count} cases", len(run.suite.usable())),
    )
    models = Section(
        "models", title, "; ".join(marks(summary)), tuple(column.header for column in shown_columns), cells
    )
    worst = tuple(
        (
            named(one.rule),
            tr("{some} of {all}", some=one.broken, all=one.scored),
            clean(one.text),
            clean(reason_of(one.reason, one.source)) or clean(one.output),
        )
        for one in summary.examples[:MOST_FAILURES]
    )
    failures = Section(
        "failures",
        tr("Most frequent failures"),
        "",
        (Key("rule"), Key("failures"), Key("what it says"), Key("for example")),
        worst,
    )
    return _html(summary.answer or "", [models, failures], notes(summary))


def comparison_html(comparison: RunComparison) -> str:
    """What has changed from one run to another, with the cases that changed."""
    sections = [*compared_sections(comparison), changed_section(comparison)]
    return _html(comparison.answer, sections, comparison.notes)


def _html(answer: str, sections: Sequence[Section], about: Sequence[str]) -> str:
    shown_sections = [(section, *cut(section.rows, MOST_ROWS)) for section in sections if section.rows]
    tables = [(section, [map(clean, row) for row in rows], more) for section, rows, more in shown_sections]
    remarks = [clean(note, LONGEST) for note in about[:MOST_NOTES]]
    return rendered("notebook.html.jinja", answer=clean(answer, LONG), sections=tables, notes=remarks)
