"""``promptpex judge``: new verdicts on answers that are there already."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command


@click.command("judge", cls=Command)
@options.RUN
@options.judge_options
@options.verdict_options
@options.judged_by_people
@options.of_files("--spec", type=options.PATH, metavar="FILE", help="Judge by this spec instead of that of the run.")
@options.request_options
@options.engine_options
@options.comparison_options
@options.allow_missing_models
@options.results
@options.settings_options
@options.full
@options.session_output_options
def command(run: Path | None, spec: Path | None, as_json: bool, full: bool, **flags: Any) -> int:
    """Judge the outputs of a run again, without asking its models.

    RUN is a run's folder, id or name; by default the latest. Exit code 3 if a judge gave no usable verdict, or a
    model of the run no usable answer.
    """
    from promptpex.cli.command_session import work
    from promptpex.cli.run_ending import exit_code, show_run
    from promptpex.report.runs import read_for_report

    folder, totals, stopped, view, allowed = work(flags, lambda session: _again(session, run, spec))
    summary = show_run(read_for_report(folder), folder, as_json=as_json, totals=totals, view=view, full=full)
    return exit_code(summary, stopped=stopped, allow_missing=allowed)


async def _again(session: Any, named: Path | None, spec: Path | None) -> Any:
    from promptpex.cli.command_session import report_options
    from promptpex.report import runs
    from promptpex.workflow.pipeline import judge

    folder = runs.resolve(named, Path(session.settings.results))
    manifest = await judge(session, folder, spec=spec)
    totals, view = asdict(session.meter.total), report_options(session.resolved)
    allowed = session.settings.allow_missing_models or bool(manifest.settings.get("allow_missing_models"))
    return folder, totals, session.client.cancelled, view, allowed
