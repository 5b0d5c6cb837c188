"""``promptpex align``: how far checks and judges agree with people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import WIDTH, and_more, apart, indented, say, wrapped
from promptpex.codecs.text.wording import cut, quoted, sentence
from promptpex.core.records import (
    AlignmentFigures,
    CardEffect,
    CardRow,
    ReportCard,
)
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.report.cards import words
from promptpex.report.percentages import listed

if TYPE_CHECKING:
    from fractions import Fraction


@click.command("align", cls=Command)
@options.RUNS
@options.labelling
@options.of_statistics(
    "--ffr", type=options.SHARE, metavar="SHARE", help="FFR limit at which assertions are chosen for the card."
)
@options.of_statistics("--compare-to", type=options.PATH, metavar="RUN", help="Show what changed since RUN.")
@options.prompt_of_runs
@options.of_files(
    "--no-calibration", is_flag=True, help="Do not write the judges' agreement with people into the spec."
)
@options.of_files("--csv", "table", type=options.PATH, metavar="FILE", help="Also write the table of outputs to FILE.")
@options.results
@options.output_options
@options.settings_options
def command(
    runs: tuple[Path, ...],
    ffr: Fraction | None,
    compare_to: Path | None,
    prompt: Path | None,
    no_calibration: bool,
    table: Path | None,
    as_json: bool,
    **flags: Any,
) -> int:
    """Measure how well checks and judges agree with people.

    RUN is a run's folder, id or name, several of one prompt, or the prompt's file for its latest run; without it, the
    latest run. The report card has coverage, FFR, alignment and kappa for each rule and for the chosen set, each with
    an interval, on grades that had no part in choosing it. How well each judge agrees with people on each rule is
    written into the spec. No model is asked.

    \b
      promptpex align
      promptpex align prompt.md --compare-to 4f2a --csv outputs.csv
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json, wrapped
    from promptpex.cli.progress import notices
    from promptpex.report.cards.words import write_table
    from promptpex.workflow.calibrating import calibrate
    from promptpex.workflow.report_card import CardWishes, align

    how = options.label_rules(flags)
    results = Path(settings(flags).settings.results)
    wishes = CardWishes(prompt, how, ffr, compare_to)
    alignment = align(runs, results, wishes, notices(False, quiet=bool(flags.get("quiet"))))
    if as_json:
        print_json(alignment.card.model_dump(mode="json"))
    else:
        for line in card_lines(alignment.card):
            say(line)
    if not no_calibration:
        for line in wrapped(calibrate(alignment.project, datetime.now(UTC).date()).sentence()):
            say(line, err=as_json)
    if table is not None:
        write_table(table, alignment.card, alignment.project.desk.pool)
        say(f"promptpex: {tr('wrote {file}', file=table)}", err=True)
    return 0


SHOWN = 60
"""Rows of a part that are printed; ``--json`` has all."""
NAME, FIGURE = 16, 16
"""Columns for the name of a line and for a figure; kappa has what is left of 80."""


def card_lines(card: ReportCard) -> list[str]:
    """The lines of a card."""
    out = [one for one in card.candidates if one.state != "chosen"]
    people = [
        tr(
            "{first} and {second} on {subject}: {agreement}",
            first=one.first,
            second=one.second,
            subject=words.subject_name(one.subject),
            agreement=words.people_of(one),
        )
        for one in card.people
    ]
    parts = [
        wrapped(_title_of(card), *words.opening(card)),
        _listed(
            tr("What people say by rule and criterion"),
            [f"{one.subject}: {words.labels_of(one)}" for one in words.graded_parts(card)],
        ),
        _rows(tr("The chosen set, on grades that had no part in choosing it"), _of(card, "set", "criterion")),
        _listed(
            tr("What each chosen assertion adds to the set"),
            [f"{one.id}: {words.addition_of(one)}" for one in card.additions],
        ),
        wrapped(*map(words.lacking, card.lacking)),
        _rows(tr("The verdicts of the run"), _of(card, "verdicts", "check", "judge")),
        _listed(
            tr("Candidates that were not chosen"),
            [
                f"{one.criterion} {one.id} ({one.by}): {from_data(one.why)}; {words.candidate_counts(one)}"
                for one in out
            ],
        ),
        _listed(tr("Person against person"), people),
        _listed(tr("Since the run {run}", run=card.against), list(map(_effect, card.effects))),
        wrapped(*(sentence(from_data(notice)) for notice in card.notices)),
    ]
    return apart(parts)


def _title_of(card: ReportCard) -> str:
    if not card.runs:
        return tr("Report card of {prompt}.", prompt=card.prompt)
    return tr_n(
        "Report card of {prompt}, {count} run {names}.",
        "Report card of {prompt}, {count} runs {names}.",
        len(card.runs),
        prompt=card.prompt,
        names=listed(card.runs),
    )


def _of(card: ReportCard, *kinds: str) -> list[CardRow]:
    return [row for row in card.rows if row.kind in kinds]


def _rows(title: str, rows: Sequence[CardRow]) -> list[str]:
    if not rows:
        return []
    head = f"{'':<{NAME}}{tr('coverage'):<{FIGURE}}{'FFR':<{FIGURE}}{tr('alignment'):<{FIGURE}}kappa"
    lines = [title, head]
    for row in rows[:SHOWN]:
        lines += [_title(row), _line("  " + tr("graded, {count}", count=row.graded.n), row.graded)]
        if row.sample is not None and row.sample.n < row.graded.n:
            lines.append(_line("  " + tr("random, {count}", count=row.sample.n), row.sample))
        lines += indented("; ".join([words.counts_of(row), *words.remarks_of(row)]))
    return lines + and_more(len(rows), SHOWN)


def _title(row: CardRow) -> str:
    name, by = words.name_of(row), ", ".join(row.by)
    text = f" {quoted(row.text, max(12, 74 - len(name) - len(by)))}" if row.text else ""
    return cut(f"{name}{text}{f': {by}' if by else ''}", WIDTH)


def _line(name: str, figures: AlignmentFigures) -> str:
    cells = "".join(
        f"{words.range_of(one):<{FIGURE - 1}} " for one in (figures.coverage, figures.ffr, figures.alignment)
    )
    return f"{name:<{NAME}}{cells}{words.kappa_of(figures.kappa)}".rstrip()


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    return [title, *(each for line in lines[:SHOWN] for each in indented(line)), *and_more(len(lines), SHOWN)]


def _effect(one: CardEffect) -> str:
    by = f" {one.by}" if one.by else ""
    notes = "".join(f"; {note}" for note in words.effect_notes(one))
    points = f": {words.points_of(one)}" if one.difference is not None else ""
    before, after = words.range_of(one.before), words.range_of(one.after)
    what = f"{words.effect_name(one)}{by}, {words.FIGURES[one.figure].tr()}"
    return f"{tr('{what}: {before}, now {after}', what=what, before=before, after=after)}{points}{notes}"
