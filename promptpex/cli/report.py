"""``promptpex report``: the tables of a run, once more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from promptpex.cli import options


@click.command("report")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@options.standing
@options.config
@options.manners
def command(run: Path | None, as_json: bool, **flags: Any) -> int:
    """Print the report of RUN and write its files again, from what the run's folder holds; nothing is asked.

    RUN is a run's folder or id; by default the latest.
    """
    from promptpex.cli.output import show_run
    from promptpex.cli.runner import given, settings
    from promptpex.report import runs

    resolved = settings(flags)
    folder = runs.resolve(run, Path(resolved.settings.results_dir))
    show_run(runs.read_columns(folder), folder, as_json=as_json, view=given(resolved))
    return 0
