"""``promptpex align``: how far checks and judges agree with people."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.core.translation import tr

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
    from promptpex.cli.in_words.card import card_lines
    from promptpex.cli.in_words.layout import wrapped
    from promptpex.cli.output import print_json
    from promptpex.cli.progress import notices
    from promptpex.report.cards.table_csv import write_table
    from promptpex.workflow.alignment.calibrating import calibrate
    from promptpex.workflow.alignment.report_card import CardWishes, align

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
