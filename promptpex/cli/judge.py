"""``promptpex judge``: new verdicts on answers that are there already."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options

if TYPE_CHECKING:
    from promptpex.records import Run


@click.command("judge")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@options.judge
@click.option("--spec", type=click.Path(path_type=Path), help="Judge by this spec instead of the run's own.")
@options.asking
@options.standing
@options.config
@options.manners
def command(run: Path | None, spec: Path | None, as_json: bool, **flags: Any) -> int:
    """Judge the outputs of RUN again, by checks and by the judge; no model under test is asked.

    RUN is a run's folder or id; by default the latest.
    """
    from promptpex.cli.plain import visible
    from promptpex.cli.showing import NO_ANSWER, show_run
    from promptpex.cli.work import work

    folder, totals, judged, stopped, view = work(flags, lambda session: _again(session, run, spec))
    code = show_run(judged, folder, as_json=as_json, totals=totals, stopped=stopped, view=view)
    why = _no_judge_answered(judged)
    if why is None:
        return code
    click.echo(visible(f"promptpex: no judge could answer: {why}"), err=True)
    return code or NO_ANSWER


def _no_judge_answered(run: Run) -> str | None:
    """Why not one verdict came of the judges that were asked; None when one came, or none was asked."""
    asked = [verdict for verdict in run.verdicts if verdict.source.startswith("judge:")]
    if not asked or any(verdict.status != "unscored" for verdict in asked):
        return None
    return asked[0].reason or asked[0].unscored or "no verdict came"


async def _again(session: Any, named: Path | None, spec: Path | None) -> Any:
    from promptpex import runs
    from promptpex.cli.work import given
    from promptpex.project import judge

    folder = runs.resolve(named, Path(session.settings.results_dir))
    judged = await judge(session, folder, spec=spec)
    return folder, asdict(session.meter.total), judged, session.client.stopped, given(session.resolved)
