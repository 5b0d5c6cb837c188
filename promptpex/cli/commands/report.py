"""``promptpex report``: the report of a run, or of a choice of assertions, once more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command

if TYPE_CHECKING:
    from promptpex.config import Resolved
    from promptpex.core.records import Run
    from promptpex.grading.labels import LabelRules
    from promptpex.tables import AnyRun
    from promptpex.workflow.batches.find_runs import MeantRuns


@click.command("report", cls=Command)
@options.RUNS
@options.comparison_options
@options.min_agreement
@options.labelling
@options.results
@options.settings_options
@options.full
@options.open_report
@options.output_options
def command(runs: tuple[Path, ...], as_json: bool, full: bool, opened: bool, **flags: Any) -> int:
    """Print the report of a run and write its files again.

    No model is asked: the run's folder has all of it. RUN is a run's folder, id or name, a batch, or prompts, whose
    latest runs are meant; by default what was run last. Of several it is one table, and an index to their reports. Of a
    synthesis folder, such as prompt.synthesis, it is the last choice of assertions, with its tables. Where people
    graded outputs, the report corrects its figures by their grades.
    """
    from promptpex.cli.command_session import report_options, settings
    from promptpex.cli.run_ending import show_run
    from promptpex.report.terminal.ending import PAGE
    from promptpex.synthesis.folder import is_synthesis_folder
    from promptpex.workflow.batches.find_runs import runs_meant

    how = options.label_rules(flags)
    resolved = settings(flags)
    view = report_options(resolved)
    if len(runs) == 1 and is_synthesis_folder(folder := runs[0]):
        if view:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in view)
            raise click.UsageError(f"{names} changes the report of a run; {folder} is a synthesis folder")
        if opened:
            raise click.UsageError(f"--open opens the report of a run; {folder} is a synthesis folder")
        _of_choice(folder, as_json)
        return 0
    named_runs = runs_meant(runs, Path(resolved.settings.results))
    if not named_runs.is_one:
        _open(_of_several(named_runs, resolved, view, how, as_json=as_json, full=full), opened)
        return 0
    run = _read(named_runs.only, resolved)
    show_run(run, named_runs.only, as_json=as_json, view=view, label_rules=how, full=full)
    _open(named_runs.only / PAGE, opened)
    return 0


def _of_several(
    meant: MeantRuns, resolved: Resolved, view: Mapping[str, Any], rules: LabelRules, *, as_json: bool, full: bool
) -> Path:
    """Writes the reports of these runs and the index over them, prints the table, and gives the index."""
    from datetime import UTC, datetime

    from promptpex.cli.progress import notices
    from promptpex.cli.run_ending import show_batch_report
    from promptpex.report import Summary
    from promptpex.report.batches.batch_files import INDEX
    from promptpex.report.batches.batch_screen import BatchEnding
    from promptpex.workflow.batches.batch_reports import report_kept_runs
    from promptpex.workflow.reporting import report_run

    listener = notices(verbose=False)

    def summary_of(folder: Path) -> Summary:
        return report_run(_read(folder, resolved), folder, listener, view=view, label_rules=rules)

    now = datetime.now(UTC).isoformat(timespec="seconds")
    report = report_kept_runs(meant, Path(resolved.settings.results), summary_of, created=now)
    show_batch_report(report, BatchEnding(), as_json=as_json, full=full)
    return report.folder / INDEX


def _read(folder: Path, resolved: Resolved) -> AnyRun:
    from promptpex.report import runs

    least = resolved.settings.min_agreement if resolved.given("min_agreement") else None
    return runs.read_for_report(folder) if least is None else _weighed(folder, least)


def _open(page: Path, opened: bool) -> None:
    from promptpex.cli.browser import open_report

    if opened:
        open_report(page)


def _weighed(folder: Path, least: float) -> Run:
    from promptpex.cli.progress import notices
    from promptpex.report import runs
    from promptpex.workflow.execution.reweighing import reweighed
    from promptpex.workflow.peoples_grades import with_calibrations_of_now

    return reweighed(with_calibrations_of_now(runs.read(folder), notices(verbose=False)), least)


def _of_choice(folder: Path, as_json: bool) -> None:
    """Says what the choice is that a synthesis folder keeps, and writes its tables."""
    from promptpex.cli.output import print_json, say, wrapped
    from promptpex.core.translation import tr
    from promptpex.synthesis.choice.saved_choice import CHOICE
    from promptpex.synthesis.folder import SynthesisFolder
    from promptpex.workflow.choice_report import report_of_folder, write_tables

    report = report_of_folder(folder)
    tables = write_tables(report, folder)
    if as_json:
        choice = CHOICE.read(SynthesisFolder(folder).selection)
        print_json({"choice": choice and choice.to_dict(), "tables": list(map(str, tables))})
        return
    for line in wrapped(report.answer, *filter(None, [report.labels]), *report.notices):
        say(line)
    say(f"\n{tr('Tables: {files}', files=', '.join(map(str, tables)))}")
