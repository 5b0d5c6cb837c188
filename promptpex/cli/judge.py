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
@options.config
@options.manners
def command(run: Path | None, spec: Path | None, as_json: bool, **flags: Any) -> int:
    """Judge the outputs of RUN again, by checks and by the judge; no model under test is asked.

    RUN is a run's folder or id; by default the latest.
    """
    from promptpex.cli.showing import show_run
    from promptpex.cli.work import work

    folder, totals, judged, stopped = work(flags, lambda session: _again(session, run, spec))
    return show_run(judged, folder, as_json=as_json, totals=totals, stopped=stopped)


async def _again(session: Any, named: Path | None, spec: Path | None) -> Any:
    from promptpex import runs
    from promptpex.project import judge

    folder = runs.resolve(named, Path(session.settings.results_dir))
    judged = await judge(session, folder, spec=spec)
    return folder, asdict(session.meter.total), judged, session.client.stopped
