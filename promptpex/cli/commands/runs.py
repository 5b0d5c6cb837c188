"""``promptpex runs``: what was run, and old runs pruned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from promptpex.cli import options
from promptpex.cli.help import CommandGroup
from promptpex.cli.output import say


class Runs(CommandGroup):
    """A group whose first command is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("runs", cls=Runs)
def command() -> None:
    """List runs, or delete old ones.

    Without another word it lists them. Commands that take RUN know a run by its folder, its id, its --name, by latest
    (the one that was run or judged last) or by PROMPT (the latest of that prompt), and with ~1 behind any of these the
    one of the same prompt before it: latest~1.
    """


@command.command("list")
@options.of_files("--prompt", metavar="NAME", help="Runs of this prompt alone.")
@options.results
@options.settings_options
@options.output_options
def list_(prompt: str | None, as_json: bool, **flags: Any) -> int:
    """Prompt, date, models, result and size of each run, the latest first.

    non-compliance is that of the only model, or the lowest and the highest of several.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.in_words.run_list import show_runs, to_dict
    from promptpex.cli.output import print_json
    from promptpex.report.runs.listing import RunList

    results = Path(settings(flags).settings.results)
    runs = [run for run in RunList(results).all() if prompt in (None, run.prompt, run.folder.parent.name)]
    if as_json:
        print_json([to_dict(run) for run in runs])
    elif runs:
        from rich.console import Console

        show_runs(runs, Console(soft_wrap=False))
    else:
        of = f" of {prompt}" if prompt is not None else ""
        say(f"no run{of} in {results} yet; make one with `promptpex run PROMPT --models ...`")
    return 0
