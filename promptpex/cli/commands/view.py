"""``promptpex view``: all runs and their reports in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command


@click.command("view", cls=Command)
@click.argument("run", required=False, type=click.Path(path_type=Path))
@options.web_options
@options.results
@options.settings_options
def command(run: Path | None, port: int | None, no_open: bool, **flags: Any) -> int:
    """Look at runs and compare them, in a browser.

    Starts a server for this machine alone and prints a link; Ctrl-C ends it. RUN is a run's folder or id, whose
    report is shown first; without it, the list of all runs. Nothing is asked, and nothing is written.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.local_page import serve
    from promptpex.report import runs
    from promptpex.report.runs.listing import RunList
    from promptpex.web.ports import Ports

    results = Path(settings(flags).settings.results)
    if run is None:
        return serve(Ports(results), port=port, no_open=no_open)
    folder = runs.resolve(run, results)
    shown = RunList(results, folder).key(folder)
    return serve(Ports(results, folder, f"/runs/{shown}"), port=port, no_open=no_open)
