"""``promptpex runs``: what was run, and old runs pruned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import CommandGroup
from promptpex.cli.output import WIDTH, and_more, say
from promptpex.core.errors import RunError
from promptpex.core.translation import day_of, digits, from_data, tr, tr_n
from promptpex.report.batches.batch_files import INDEX
from promptpex.report.percentages import marked, percent
from promptpex.report.runs.batch_folder import by_date, read_batch
from promptpex.report.runs.listing import ListedRun, bytes_of
from promptpex.report.terminal.fitted_table import NARROW_GAP
from promptpex.report.terminal.texts import clean, named

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from promptpex.workflow.prune_runs import Prunable


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


SHOWN = 40
"""Runs that are listed one by one."""
SHOWN_BATCHES = 3
FOLDED = 14
"""Columns of ids and names, which are shown whole since one copies them; longer ones are folded."""
MODELS = 12
"""Columns that models have where the names of prompts want more than is there."""
BETWEEN = 2 + 2 * 5
"""Columns of the table's edges and of the gaps between its six columns."""
NONE = "–"


def show_runs(runs: Sequence[ListedRun], console: Console) -> None:
    """Prints the runs, the latest first, and what is wrong with those that are damaged."""
    console.width = min(console.width, WIDTH)
    console.print(_table(runs[:SHOWN]))
    for run in runs[:SHOWN]:
        if run.problem:
            console.print(clean(run.problem, 400), markup=False, highlight=False, emoji=False)
    for line in and_more(len(runs), SHOWN):
        console.print(line, markup=False, highlight=False)


def batch_lines(results: Path) -> list[str]:
    """The latest batches, a line each."""
    lines = []
    for folder in by_date(results)[:SHOWN_BATCHES]:
        with suppress(RunError):
            batch = read_batch(folder)
            prompts = tr_n("{count} prompt", "{count} prompts", len(batch.parts))
            when = batch.created[:16].replace("T", " ") or NONE
            lines.append(
                tr(
                    "Batch {batch} of {prompts}, {time}: {page}",
                    batch=folder.name,
                    prompts=prompts,
                    time=when,
                    page=folder / INDEX,
                )
            )
    return lines


def _table(runs: Sequence[ListedRun]) -> Table:
    """The table; ids and results are shown whole, and names of prompts and models share what room is left."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    year = max((run.created[:4] for run in runs), default="")
    rows = [tuple(map(Text, _cells(run, year))) for run in runs]
    ids, prompts, dates, models, results, sizes = (
        max(cell.cell_len for cell in cells) for cells in zip(*rows, strict=True)
    )
    ids, dates, results = min(ids, FOLDED), max(dates, 4), max(results, 14)
    room = WIDTH - BETWEEN - ids - dates - results - max(sizes, 4)
    prompts = min(prompts, max(room - min(models, MODELS), room // 2))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=NARROW_GAP)
    table.add_column(tr("run"), overflow="fold", width=ids)
    table.add_column(tr("prompt"), overflow="ellipsis", no_wrap=True, width=max(prompts, 6))
    table.add_column(
        tr("date ({year})", year=year) if year else tr("date"), no_wrap=True, width=max(dates, 11 if year else 4)
    )
    table.add_column(tr("models"), overflow="ellipsis", no_wrap=True, width=max(min(models, room - prompts), 6))
    table.add_column(tr("non-compliance"), no_wrap=True, width=results)
    table.add_column(tr("size"), justify="right", no_wrap=True, width=max(sizes, 4))
    for row in rows:
        table.add_row(*row)
    return table


def _cells(run: ListedRun, year: str) -> tuple[str, ...]:
    """The cells of a run; of this year its day and time, of another its date."""
    date = day_of(run.created)
    if run.created[:4] == year:
        date = f"{day_of(run.created, with_year=False)} {run.created[11:16]}".strip()
    return (
        clean(run.name or run.folder.name),
        named(run.prompt),
        date or NONE,
        _models(run),
        _result(run),
        in_bytes(bytes_of(run.folder)),
    )


def _models(run: ListedRun) -> str:
    names = run.manifest.models if run.manifest else ()
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return f"{named(names[0])}{more}" if names else NONE


def _result(run: ListedRun) -> str:
    """The share of one model, or the lowest and the highest of several; and why there is none."""
    if run.problem:
        return tr("damaged")
    if run.manifest is not None and run.manifest.partial:
        return clean(from_data(run.manifest.partial))
    part = run.manifest.subset if run.manifest is not None else None
    if part is not None and part.failed_in:
        return tr("{cases}/{of}, those that failed", cases=part.cases, of=part.of) if run.models else NONE
    shares = sorted(one.broken.point for one in run.models if one.broken.point is not None)
    if not shares:
        return NONE
    lowest = marked(shares[0], any(one.broken.at_least for one in run.models))
    ends = [lowest] if percent(shares[0]) == percent(shares[-1]) else [lowest, percent(shares[-1])]
    of = f" ({part.cases}/{part.of})" if part else ""
    return f"{tr(' to ').join(ends)}{of}"


def in_bytes(count: int) -> str:
    """A size for people: ``12 kB``, ``1.4 MB``."""
    return digits(f"{count / 1e6:.1f} MB") if count >= 1e6 else f"{max(1, round(count / 1e3))} kB"


def to_dict(run: ListedRun, batches: Sequence[Path] = ()) -> dict[str, Any]:
    """A run of the list as JSON-ready data; ``batches`` are those that it is part of, the latest first."""
    manifest = run.manifest
    return {
        "run": run.folder.name,
        "name": run.name or None,
        "batches": [folder.name for folder in batches],
        "prompt": run.prompt,
        "folder": str(run.folder),
        "created": run.created or None,
        "partial": manifest.partial if manifest else None,
        "subset": manifest.subset.to_dict() if manifest and manifest.subset else None,
        "models": list(manifest.models) if manifest else [],
        "cases": run.cases,
        "outputs": run.outputs,
        "results": [
            {
                "model": one.model,
                "non_compliance": one.broken.point,
                "ci_low": one.broken.low,
                "ci_high": one.broken.high,
                "at_least": one.broken.at_least,
                "decision": one.decision,
            }
            for one in run.models
        ],
        "bytes": bytes_of(run.folder),
        "problem": run.problem or None,
    }


def pruned_lines(
    old: Sequence[Prunable], gone: Sequence[Path], busy: Sequence[Path], size: Mapping[Path, int], *, dry_run: bool
) -> list[str]:
    """What became of old runs, a line each, and how much room that makes."""
    verb = tr("would delete") if dry_run else tr("deleted")
    lines = []
    for one in old:
        why = f" ({'; '.join(map(from_data, one.reasons))})" if one.reasons else ""
        what = verb if one.folder in gone else tr("in use") if one.folder in busy else tr("kept")
        lines.append(f"{what}  {one.folder.parent.name}/{one.folder.name}{why}")
    total = f", {in_bytes(sum(size[folder] for folder in gone))}" if gone else ""
    return [*lines, f"{verb} {tr_n('{count} run', '{count} runs', len(gone))}{total}"]


def pruned_to_dict(
    old: Sequence[Prunable], gone: Sequence[Path], busy: Sequence[Path], size: Mapping[Path, int], *, dry_run: bool
) -> dict[str, Any]:
    """The same as JSON-ready data."""
    reasons = {str(one.folder): list(one.reasons) for one in old if one.folder not in gone}
    return {
        "would_delete" if dry_run else "deleted": [str(folder) for folder in gone],
        "bytes": sum(size[folder] for folder in gone),
        "kept": reasons,
        "in_use": [str(folder) for folder in busy],
    }
