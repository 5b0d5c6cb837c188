"""``promptpex report``: the tables of a run, once more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command


@click.command("report", cls=Command)
@click.argument("run", required=False, type=click.Path(path_type=Path))
@options.comparison_options
@options.results
@options.settings_options
@options.output_options
def command(run: Path | None, as_json: bool, **flags: Any) -> int:
    """Print the report of a run and write its files again.

    Nothing is asked: the run's folder has all of it. RUN is a run's folder or id; by default the latest.
    """
    from promptpex.cli.command_session import report_options, settings
    from promptpex.cli.output import show_run
    from promptpex.report import runs

    resolved = settings(flags)
    folder = runs.resolve(run, Path(resolved.settings.results))
    show_run(runs.read_columns(folder), folder, as_json=as_json, view=report_options(resolved))
    return 0
