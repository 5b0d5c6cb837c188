"""``promptpex bless``: the figures of a run become what later runs are held against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.codecs.wording import plural


@click.command("bless", cls=Command)
@options.RUN
@options.of_files("--out", type=options.PATH, metavar="FILE", help="File to write [PROMPT.blessed.json].")
@options.results
@options.settings_options
@options.output_options
def command(run: Path | None, out: Path | None, as_json: bool, **flags: Any) -> int:
    """Make a run the baseline of later ones.

    `promptpex gate --baseline blessed` holds them against it. Writes a small file to commit: how often each model broke
    a rule on each case, and no text of a case or an output. RUN is a run's folder, id or name; by default the latest.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json
    from promptpex.report import blessing, runs
    from promptpex.workflow.baselines import blessed_file

    folder = runs.resolve(run, Path(settings(flags).settings.results))
    columns = runs.read_columns(folder)
    blessed = blessing.bless(columns, folder)
    path = out or blessed_file(columns)
    blessing.write(path, blessed)
    if as_json:
        print_json({"file": str(path), "run": blessed.run, "models": list(blessed.models), "cases": len(blessed.cases)})
        return 0
    if columns.manifest.subset is not None:
        say(f"note: only {plural(len(blessed.cases), 'case')} of {columns.manifest.subset.of} were run", err=True)
    if columns.manifest.partial:
        say(f"note: this run is not complete ({columns.manifest.partial})", err=True)
    what = f"{plural(len(blessed.models), 'model')} on {plural(len(blessed.cases), 'case')}"
    say(f"{path}: {what}, of the run {folder.name}")
    return 0
