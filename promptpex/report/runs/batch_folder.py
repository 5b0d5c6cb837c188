"""A batch's folder, ``results/batches/<batch>/``: ``batch.json`` names the runs, which are in folders of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from promptpex.codecs import jsonl
from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.ordinary_files import MEGABYTE, is_inside, read_bytes, refuse_led_out, state_of
from promptpex.core.errors import RunError
from promptpex.core.ids import digest
from promptpex.core.records import BatchManifest, BatchPart
from promptpex.report.runs.run_folder import MANIFEST, writing

BATCHES = "batches"
BATCH = "batch.json"
LONGEST = 10 * MEGABYTE
ID_LENGTH = 10
"""Hex digits of an id, as a run's."""


def batch_id(parts: Sequence[BatchPart]) -> str:
    """The id of a batch of these prompts and runs: the same runs are the same batch."""
    return digest([[part.file, part.run] for part in parts], ID_LENGTH)


def write_batch(results: Path, batch: BatchManifest) -> Path:
    """Writes the manifest into the batch's folder under ``results``, and gives the folder.

    Raises:
        RunError: the folder cannot be written, or a link leads it elsewhere.
    """
    folder = results / BATCHES / batch.batch
    refuse_led_out(folder, results, RunError)
    with writing(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_text(folder / BATCH, jsonl.dump_record(batch, indent=1), links=False)
    return folder


def read_batch(folder: Path) -> BatchManifest:
    """The manifest of a batch.

    Raises:
        RunError: it is missing or damaged.
    """
    path = folder / BATCH
    data = read_bytes(path, error=RunError, what="manifest of a batch", limit=LONGEST, links=False)
    try:
        return jsonl.parse_record(data, BatchManifest)
    except (ValidationError, ValueError, RecursionError):
        remedy = "run the same `promptpex run` again to restore it, or remove this file to go on without it"
        raise RunError(f"is damaged; {remedy}", path=path) from None


def batch_named(named: Path | None, results: Path) -> Path | None:
    """The folder of the batch that is meant: a folder, or an id under ``results``; None where it is none."""
    if named is None:
        return None
    places = [named, results / BATCHES / named]
    return next((place for place in places if (place / BATCH).is_file() and place.name), None)


def batch_called(name: str, results: Path) -> Path | None:
    """The folder of the latest batch whose runs people gave this name; None where there is none."""
    for folder in by_date(results):
        with suppress(RunError):
            if read_batch(folder).name == name:
                return folder
    return None


def latest_batch(results: Path, counts: Callable[[Path], bool] | None = None) -> Path | None:
    """The folder of the batch that was run last, if nothing was run or judged since; None otherwise.

    Args:
        counts: which runs count, by their folders: others may have been run since, and a batch of others is none.

    Raises:
        RunError: the manifest of that batch is damaged.
    """
    states = ((state_of(path), path.parent) for path in results.glob(f"*/*/{MANIFEST}"))
    dated = sorted(((state.time, folder) for state, folder in states if state is not None), reverse=True)
    last_run = next((time for time, folder in dated if counts is None or counts(folder)), 0)
    since = (folder for time, folder in _dated(results) if time >= last_run)
    return next((folder for folder in since if _counts(folder, counts)), None)


def _counts(folder: Path, counts: Callable[[Path], bool] | None) -> bool:
    """Whether a batch was run, and one of its runs counts."""
    batch = read_batch(folder)
    run_folders = (run_folder(folder, part) for part in batch.parts)
    return batch.ran and (counts is None or any(run is not None and counts(run) for run in run_folders))


def by_date(results: Path) -> list[Path]:
    """The folders of all batches under a results folder, the one that was written last first; what a link leads
    elsewhere is left out."""
    return [folder for _, folder in _dated(results)]


def _dated(results: Path) -> list[tuple[int, Path]]:
    files = [path for path in results.glob(f"{BATCHES}/*/{BATCH}") if is_inside(path, results)]
    states = ((state_of(path), path.parent) for path in files)
    return sorted(((state.time, folder) for state, folder in states if state is not None), reverse=True)


def batches_of_runs(results: Path) -> dict[Path, list[Path]]:
    """For the folder of each run that is part of a batch the folders of its batches, the latest first; damaged batches
    are left out."""
    batches: dict[Path, list[Path]] = {}
    for folder in by_date(results):
        with suppress(RunError):
            for part in read_batch(folder).parts:
                if (run := run_folder(folder, part)) is not None:
                    batches.setdefault(run, []).append(folder)
    return batches


def run_folder(batch_folder: Path, part: BatchPart) -> Path | None:
    """The folder of a part's run; None where there is none, where it is gone, or where it would be elsewhere."""
    results = batch_folder.parent.parent
    folder = results / part.run if part.run is not None else None
    return folder if folder is not None and is_inside(folder, results) and (folder / MANIFEST).is_file() else None
