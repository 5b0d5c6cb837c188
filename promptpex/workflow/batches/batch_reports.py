"""The report of a batch: those of its runs in their folders, and the index over them in a folder of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.core.events import Listener
from promptpex.core.records import BatchManifest, BatchPart
from promptpex.core.translation import stored
from promptpex.report import Summary, runs
from promptpex.report.batches.batch_files import write_index
from promptpex.report.batches.batch_report import BatchReport, ReportedPart
from promptpex.report.runs.batch_folder import batch_id, batch_named, read_batch, run_folder, write_batch
from promptpex.workflow.batches.find_runs import MeantRun, MeantRuns
from promptpex.workflow.batches.run_batch import RunOfPrompt, require_one_settings_file, run_batch
from promptpex.workflow.execution.subset import WHOLE, Subset
from promptpex.workflow.reporting import report_run
from promptpex.workflow.session import Session


def part_of_batch(made: RunOfPrompt) -> BatchPart:
    """What the manifest of a batch says of a prompt."""
    file = made.files.prompt.as_posix()
    if made.manifest is None:
        return BatchPart(file=file, prompt=file, problem=str(made.problem))
    if made.folder is None:
        return BatchPart(file=file, prompt=made.manifest.prompt, problem=stored("no model gave an answer"))
    return BatchPart(file=file, prompt=made.manifest.prompt, run="/".join(made.folder.parts[-2:]))


@dataclass(frozen=True, slots=True)
class MadeBatch:
    """A batch that was just run, with its report.

    Attributes:
        runs: of its prompts, in their order; prompts that were left out are not among them.
    """

    runs: tuple[RunOfPrompt, ...]
    report: BatchReport


async def run_and_report(
    session: Session, prompts: Sequence[Path], subset: Subset = WHOLE, *, start: Path, name: str | None = None
) -> MadeBatch:
    """Runs several prompts, writes the reports of their runs, and the batch with its index.

    Args:
        subset: which cases to keep to, of each prompt.
        start: the folder from which the settings were looked for.
        name: of each of the runs.

    Raises:
        InputError: files or settings that cannot be used; a folder that cannot be written.
        ModelError: no prompt has a run; the first reason.
        StoreError: answers cannot be kept.
    """
    require_one_settings_file(session.resolved, prompts, start)
    executed = [one for one in await run_batch(session, prompts, subset, name=name) if not one.left_out]
    problems = [one.problem for one in executed if one.problem is not None]
    if len(problems) == len(executed):
        raise problems[0]
    parts = tuple(map(part_of_batch, executed))
    total, created = session.meter.total, session.clock().isoformat(timespec="seconds")
    batch = BatchManifest(
        batch=batch_id(parts),
        name=name,
        created=created,
        parts=parts,
        ran=any(part.run for part in parts),
        sent=total.sent,
        stored=total.cached,
    )
    folder = write_batch(Path(session.settings.results), batch)
    reported = tuple(ReportedPart(part, _summary(one, session.emit)) for part, one in zip(parts, executed, strict=True))
    report = BatchReport(batch, folder, reported)
    write_index(report)
    return MadeBatch(tuple(executed), report)


def report_kept_runs(
    meant: MeantRuns, results: Path, summary_of: Callable[[Path], Summary], *, created: str
) -> BatchReport:
    """The report of existing runs, and its index; runs that form no batch yet become one. Several runs of one
    prompt are called by their folders.

    Args:
        meant: which runs.
        results: the folder of the runs.
        summary_of: writes the report of a run into its folder, and gives its figures.
        created: when a new batch is made, ISO 8601.

    Raises:
        InputError: a folder that cannot be written; what ``summary_of`` raises.
    """
    batch, folder = _kept_batch(meant, results, created)
    folders = [run_folder(folder, part) for part in batch.parts]
    parts = tuple(
        ReportedPart(part, None if run is None else summary_of(run))
        for part, run in zip(batch.parts, folders, strict=True)
    )
    report = BatchReport(batch, folder, parts)
    write_index(report)
    return report


def _kept_batch(meant: MeantRuns, results: Path, created: str) -> tuple[BatchManifest, Path]:
    if meant.batch is not None:
        return read_batch(meant.batch), meant.batch
    prompt_counts = Counter(one.prompt for one in meant.runs)
    parts = [
        part_of_run(replace(one, prompt="") if one.folder and prompt_counts[one.prompt] > 1 else one)
        for one in meant.runs
    ]
    batch = BatchManifest(batch=batch_id(parts), created=created, parts=tuple(parts), ran=False)
    batch_folder = batch_named(Path(batch.batch), results)
    return batch, batch_folder or write_batch(results, batch)


def part_of_run(meant: MeantRun) -> BatchPart:
    """What the manifest of a batch says of a run that there is, or is not.

    Raises:
        RunError: the run cannot be read.
    """
    if meant.folder is None:
        return BatchPart(file=meant.prompt, prompt=meant.prompt, problem=meant.problem)
    manifest = runs.read_manifest(meant.folder)
    run = "/".join(meant.folder.parts[-2:])
    return BatchPart(file=meant.prompt or run, prompt=manifest.prompt, run=run)


def _summary(made: RunOfPrompt, emit: Listener) -> Summary | None:
    run = made.unanswered if made.folder is None else runs.read_for_report(made.folder)
    return None if run is None else report_run(run, made.folder, emit, prompt=made.files.prompt)
