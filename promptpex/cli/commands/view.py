"""``promptpex view``: all runs and their reports in a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.core.errors import SynthesisError

if TYPE_CHECKING:
    from promptpex.config import Resolved
    from promptpex.web.interfaces import Ports


@click.command("view", cls=Command)
@options.RUN
@options.page_address
@options.results
@options.settings_options
@options.output_options
def command(run: Path | None, port: int | None, no_open: bool, as_json: bool, quiet: bool, **flags: Any) -> int:
    """Look at runs and compare them, in a browser.

    Starts a server for this machine alone and prints a link; Ctrl-C ends it. RUN is a run's folder, id or name, whose
    report is shown first; without it, the list of all runs.
    No model is asked, and nothing is written.
    """
    from promptpex.cli.browser import serve
    from promptpex.cli.command_session import settings

    return serve(_ports(run, settings(flags)), port=port, no_open=no_open, as_json=as_json, quiet=quiet)


def _ports(named: Path | None, resolved: Resolved) -> Ports:
    """What is shown, beginning with what was named."""
    from promptpex.promptfile import renderer
    from promptpex.report import runs
    from promptpex.report.runs.listing import RunList
    from promptpex.synthesis.folder import is_synthesis_folder
    from promptpex.web.interfaces import Ports
    from promptpex.workflow.comparison.compare_runs import ComparisonsOfRuns
    from promptpex.workflow.peoples_grades import GradesOfRuns
    from promptpex.workflow.report_card import CardOfRuns, CardWishes

    results, grades = Path(resolved.settings.results), GradesOfRuns()
    ports = Ports(results, comparing=ComparisonsOfRuns(resolved, grades), grades=grades, renderer=renderer)
    if named is None:
        return replace(ports, card=CardOfRuns((), results, CardWishes()))
    if is_synthesis_folder(named):
        message = f"a synthesis folder has no page; `promptpex report {named}` says what was chosen"
        raise SynthesisError(message, path=named)
    folder = runs.resolve(named, results)
    start = f"/runs/{RunList(results, folder).key(folder)}"
    return replace(ports, run=folder, start=start, card=CardOfRuns([folder], results, CardWishes()))
