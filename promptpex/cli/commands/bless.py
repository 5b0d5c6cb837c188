"""``promptpex bless``: the figures of a run become what later runs are held against."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.core.translation import from_data, tr, tr_n

if TYPE_CHECKING:
    from promptpex.core.records import Blessed, Manifest
    from promptpex.tables import AnyRun
    from promptpex.workflow.batches.find_runs import MeantRuns


@click.command("bless", cls=Command)
@options.RUNS
@options.of_files("-o", "--out", type=options.PATH, metavar="FILE", help="File to write [PROMPT.blessed.json].")
@options.of_files("--partial", is_flag=True, help="Also a run of a part of the suite, or one that is not complete.")
@options.results
@options.settings_options
@options.output_options
def command(runs: tuple[Path, ...], out: Path | None, partial: bool, as_json: bool, **flags: Any) -> int:
    """Make a run the baseline of later ones.

    `promptpex gate --baseline blessed` holds them against it. Writes a small file to commit: how often each model broke
    a rule on each case, and no text of a case or an output. RUN is a run's folder, id or name, a batch, or prompts,
    whose latest runs are meant; by default what was run last, without runs of a part of a suite (--only-failed, --case
    ...). Of several each prompt gets its own file.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json, tell
    from promptpex.workflow.batches.find_runs import runs_meant

    named_runs = runs_meant(runs, Path(settings(flags).settings.results), tell)
    if out is not None and not named_runs.is_one:
        raise click.UsageError("--out names one file; several runs have each their own beside their prompts")
    columns = _readable(named_runs, partial=partial)
    blessed = [_bless(run, folder, out) for folder, run in columns.items()]
    if as_json:
        print_json([_to_dict(*one) for one in blessed] if not named_runs.is_one else _to_dict(*blessed[0]))
        return 0
    for (path, figures), (folder, run) in zip(blessed, columns.items(), strict=True):
        _say(path, figures, folder, run)
    return 0


def _readable(meant: MeantRuns, *, partial: bool) -> dict[Path, AnyRun]:
    """All runs by their folders, before a file is written."""
    from promptpex.core.errors import RunError
    from promptpex.report import blessed_figures_file, runs
    from promptpex.workflow.comparison.find_baseline import blessed_file

    missing = [f"{one.prompt}: {one.problem}" for one in meant.runs if one.folder is None]
    if missing:
        raise RunError(f"not all of these prompts have a run: {'; '.join(missing)}")
    read: dict[Path, AnyRun] = {
        one.folder: runs.read_for_report(one.folder) for one in meant.runs if one.folder is not None
    }
    for folder, columns in read.items():
        blessed_figures_file.bless(columns, folder)
        if not partial:
            _refuse_part(columns.manifest, folder)
        if len(read) > 1:
            blessed_file(columns)
    return read


def _refuse_part(manifest: Manifest, folder: Path) -> None:
    """Refuses what is less than the whole suite."""
    from promptpex.core.errors import RunError

    why = manifest.subset.in_words if manifest.subset else manifest.partial and f"not complete ({manifest.partial})"
    if why:
        raise RunError(f"this run is a part: {why}; bless a run of the whole suite, or give --partial", path=folder)


def _bless(run: AnyRun, folder: Path, out: Path | None) -> tuple[Path, Blessed]:
    from promptpex.report import blessed_figures_file
    from promptpex.workflow.comparison.find_baseline import blessed_file

    blessed, path = blessed_figures_file.bless(run, folder), out or blessed_file(run)
    blessed_figures_file.write(path, blessed)
    return path, blessed


def _to_dict(path: Path, blessed: Blessed) -> dict[str, Any]:
    return {"file": str(path), "run": blessed.run, "models": list(blessed.models), "cases": len(blessed.cases)}


def _say(path: Path, blessed: Blessed, folder: Path, columns: AnyRun) -> None:
    if columns.manifest.subset is not None:
        cases = tr_n("{count} case", "{count} cases", len(blessed.cases))
        subset = columns.manifest.subset
        why = from_data(subset.words)
        say(tr("note: only {cases} of {all} were run ({reason})", cases=cases, all=subset.of, reason=why), err=True)
    if columns.manifest.partial:
        say(tr("note: this run is not complete ({reason})", reason=from_data(columns.manifest.partial)), err=True)
    models = tr_n("{count} model", "{count} models", len(blessed.models))
    cases = tr_n("{count} case", "{count} cases", len(blessed.cases))
    say(tr("{file}: {models} on {cases}, of the run {run}", file=path, models=models, cases=cases, run=folder.name))
