"""``promptpex judge``: new verdicts on answers that are there already."""

from __future__ import annotations

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

    folder, totals, judged = work(flags, lambda session: _again(session, run, spec))
    return show_run(judged, folder, as_json=as_json, totals=totals)


async def _again(session: Any, named: Path | None, spec_path: Path | None) -> Any:
    from promptpex.specs.file import read_spec

    from promptpex import runs
    from promptpex.pipeline import judge, judges_for

    folder = runs.resolve(named, Path(session.settings.results_dir))
    run = runs.read(folder)
    if spec_path is not None:
        run = run.but(spec=read_spec(spec_path))
    judges = judges_for(session, run.prompt, run.spec)
    judged = await judge(session, run, judges)
    labels = tuple(one.asker.label for one in judges)
    judged = judged.but(manifest=judged.manifest.but(judges=labels))
    runs.finish(folder, judged)
    return folder, session.meter.totals(), judged
