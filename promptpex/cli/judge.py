"""``promptpex judge``: new verdicts on answers that are there already."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from promptpex.cli import options


@click.command("judge")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@options.judge
@click.option("--spec", type=click.Path(path_type=Path), help="Judge by this spec instead of the run's own.")
@options.asking
@options.standing
@options.missing
@options.config
@options.listening
def command(run: Path | None, spec: Path | None, as_json: bool, **flags: Any) -> int:
    """Judge the outputs of RUN again, by checks and by the judge; no model under test is asked.

    RUN is a run's folder or id; by default the latest. Exit code 3 when a judge gave not one usable verdict, or a
    model of the run not one usable answer.
    """
    from promptpex.cli.output import exit_code, show_run
    from promptpex.cli.runner import work

    folder, totals, judged, stopped, view, allowed = work(flags, lambda session: _again(session, run, spec))
    summary = show_run(judged, folder, as_json=as_json, totals=totals, view=view)
    return exit_code(summary, stopped=stopped, allow_missing=allowed)


async def _again(session: Any, named: Path | None, spec: Path | None) -> Any:
    from promptpex.cli.runner import given
    from promptpex.report import runs
    from promptpex.workflow.project import judge

    folder = runs.resolve(named, Path(session.settings.results_dir))
    judged = await judge(session, folder, spec=spec)
    totals, view = asdict(session.meter.total), given(session.resolved)
    allowed = session.settings.allow_missing_models or bool(judged.manifest.settings.get("allow_missing_models"))
    return folder, totals, judged, session.client.stopped, view, allowed
