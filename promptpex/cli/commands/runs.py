"""``promptpex runs``: what was run, and old runs pruned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from promptpex.cli import options
from promptpex.cli.help import CommandGroup
from promptpex.cli.output import say
from promptpex.core.translation import tr


class Runs(CommandGroup):
    """A group whose first command is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in (*ctx.help_option_names, "--help-all")):
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
@options.of_filters("--prompt-name", metavar="NAME", help="Only runs of this prompt.")
@options.results
@options.settings_options
@options.output_options
def list_(prompt_name: str | None, as_json: bool, **flags: Any) -> int:
    """Prompt, date, models, result and size of each run, the latest first.

    non-compliance is that of the only model, or the lowest and the highest of several; (5/66) behind it: of
    5 of 66 cases.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.in_words.run_list import batch_lines, show_runs, to_dict
    from promptpex.cli.output import print_json
    from promptpex.report.runs.batch_folder import batches_of_runs
    from promptpex.report.runs.listing import RunList

    results = Path(settings(flags).settings.results)
    runs = [run for run in RunList(results).all() if prompt_name in (None, run.prompt, run.folder.parent.name)]
    if as_json:
        batches = batches_of_runs(results)
        print_json([to_dict(run, batches.get(run.folder, ())) for run in runs])
    elif runs:
        from rich.console import Console

        show_runs(runs, Console(soft_wrap=False))
        for line in batch_lines(results) if prompt_name is None else ():
            say(line)
    else:
        command = "`promptpex run PROMPT --models ...`"
        if prompt_name is None:
            say(tr("no run in {results} yet; make one with {command}", results=results, command=command))
        else:
            none = tr(
                "no run of {prompt} in {results} yet; make one with {command}",
                prompt=prompt_name,
                results=results,
                command=command,
            )
            say(none)
    return 0


@command.command("prune")
@options.of_filters("--prompt-name", metavar="NAME", help="Only runs of this prompt.")
@options.of_filters("--keep", type=options.COUNT_OR_NONE, metavar="N", help="All but the N latest runs of each prompt.")
@options.of_filters(
    "--older-than", metavar="AGE", help="Runs last written longer ago than this, such as 30d, 12h, 90m."
)
@options.of_filters("--all", "protected", is_flag=True, help="Also delete runs that people named, blessed or graded.")
@options.of_files("--dry-run", is_flag=True, help="List them; delete nothing.")
@options.results
@options.settings_options
@options.output_options
def prune(
    prompt_name: str | None,
    keep: int | None,
    older_than: str | None,
    protected: bool,
    dry_run: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Delete the runs that match all given options.

    Runs with a name, runs in PROMPT.blessed.json and runs whose outputs people graded stay, and are listed with the
    reason. What the response store has of a run stays too: `promptpex cache prune` deletes that.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.in_words.run_list import pruned_lines, pruned_to_dict
    from promptpex.cli.output import print_json
    from promptpex.report.runs.listing import bytes_of
    from promptpex.workflow.prune_runs import PruneWishes, prunable
    from promptpex.workflow.prune_runs import prune as delete

    if keep is None and older_than is None:
        raise click.UsageError("say which runs: --keep N or --older-than AGE")
    age = None if older_than is None else timedelta(seconds=options.seconds_of(older_than))
    results = Path(settings(flags).settings.results)
    old = prunable(results, PruneWishes(prompt_name, keep, age, protected), datetime.now(UTC))
    size = {one.folder: bytes_of(one.folder) for one in old}
    deleted, busy = ([one.folder for one in old if one.goes], []) if dry_run else delete(results, old)
    if as_json:
        print_json(pruned_to_dict(old, deleted, busy, size, dry_run=dry_run))
    else:
        for line in pruned_lines(old, deleted, busy, size, dry_run=dry_run):
            say(line)
    return 0
