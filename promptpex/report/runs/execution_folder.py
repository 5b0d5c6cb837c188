"""Where an execution of a run is written: a partial run continues in its folder, and a complete one is kept.

What was made from the same (prompt, spec, cases, models, settings) has the same id. Its first execution is in the
folder of that name, a later one in ``ID-2``, ``ID-3`` and so on. Where a complete run is there, or another process
writes one, what a further execution gives is kept back until its end: if nothing measured is lost by it, it is that run
again, and else a run of its own. Every answer is in the store meanwhile. Without any answer nothing is written.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import chain, count, zip_longest
from pathlib import Path
from typing import Self, TypeVar

from promptpex.codecs import jsonl
from promptpex.codecs.files.file_lock import MAX_WAIT_S
from promptpex.core.errors import RunError
from promptpex.core.records import Manifest, Output, Record, Run, Score, Verdict
from promptpex.report.runs.references import all_of, newest_first
from promptpex.report.runs.run_folder import (
    MANIFEST,
    OUTPUTS,
    SCORES,
    VERDICTS,
    RecordWriter,
    begin,
    folder_for,
    hold,
    read_manifest,
    write_whole,
    writing,
)
from promptpex.report.runs.run_spool import RunRecords

R = TypeVar("R", bound=Record)


class RunPlace:
    """Where one execution writes its outputs as they come, and the whole run in the end.

    Args:
        results: the folder of the runs.
        begun: the run before its first request.
        records: what the run measures, as it comes.
        fresh: whether everything is asked again, so that the run gets a folder of its own in any case.

    Attributes:
        before: the folder of the latest complete run that was made from the same; None where there is none.
    """

    def __init__(self, results: Path, begun: Run, records: RunRecords, *, fresh: bool) -> None:
        self.before: Path | None = None
        self._results, self._begun, self._records, self._fresh = results, begun, records, fresh
        self._first = folder_for(results, begun.manifest.prompt, begun.manifest.run)
        self._folder: Path | None = None
        self._same: Path | None = None
        self._held, self._open = ExitStack(), ExitStack()
        self._writer: RecordWriter | None = None

    def __enter__(self) -> Self:
        same = executions(self._results, self._begun.manifest)
        self._same = next((one for one in same if not _is_complete(one) and self._hold(one)), None)
        self.before = self._complete()
        if self._fresh and self._same is None:
            self._folder = self._new_folder()
        elif self._same is not None or self.before is not None:
            self._folder = self._same
        elif self._hold(self._first):
            self._folder = self._first
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        with self._held, suppress(RunError):
            self._open.close()
        with suppress(OSError):
            self._first.parent.rmdir()  # where nothing was written

    def written(self, output: Output) -> None:
        """Writes an output that is among the records, from the first answer on.

        Raises:
            RunError: the folder cannot be written.
        """
        if self._writer is not None:
            self._writer.add_line(jsonl.dump_record(output))
        elif self._folder is not None and output.text is not None:
            manifest = self._begun.manifest if self._same is None else _continued(self._begun.manifest, self._same)
            begin(self._folder, self._begun.replace(manifest=manifest))
            self._writer = self._open.enter_context(RecordWriter(self._folder / OUTPUTS))
            for line in self._records.outputs.all_lines():
                self._writer.add_line(line.decode("utf-8"))

    def finish(self, run: Run) -> tuple[Run, Path | None]:
        """Writes the whole run; it and its folder, which is None where no model gave an answer.

        Raises:
            RunError: as ``written``.
        """
        self._open.close()
        if all(output.text is None for output in self._records.outputs):
            return run, None
        folder = self._folder or self._kept_or_new()
        if self._same is not None:
            run = run.replace(manifest=_continued(run.manifest, self._same))
        write_whole(folder, run, self._records)
        return run, folder

    def _kept_or_new(self) -> Path:
        """The complete run that this execution repeats, once nobody writes it; else a folder that nobody has."""
        kept = self._complete() or self._first
        if not self._hold(kept, MAX_WAIT_S) or (_is_complete(kept) and not _repeats(kept, self._records)):
            return self._new_folder()
        self._same = kept
        return kept

    def _complete(self) -> Path | None:
        """The complete execution that was written last."""
        return next(filter(_is_complete, executions(self._results, self._begun.manifest)), None)

    def _new_folder(self) -> Path:
        """A folder that nobody has and nobody is about to make."""
        further = (self._first.with_name(f"{self._first.name}-{number}") for number in count(2))
        folders = chain([self._first], further)
        return next(one for one in folders if not one.exists() and self._hold(one) and not one.exists())

    def _hold(self, folder: Path, max_wait_s: float = 0.1) -> bool:
        """Whether this process alone may write the folder from now on; a reader holds it for a moment at most."""
        lock = hold(folder, max_wait_s)
        if lock is not None:
            self._held.callback(lock.release)
        return lock is not None


def _repeats(kept: Path, records: RunRecords) -> bool:
    """Whether all that a kept run has measured is among the records, unchanged."""
    outputs, verdicts = records.outputs, records.verdicts
    return (
        _stays(_lines(kept / OUTPUTS), outputs.all_lines(), Output, lambda one: one.error is None)
        and _stays(_lines(kept / VERDICTS), verdicts.all_lines(), Verdict, lambda one: one.status != "unscored")
        and _stays(_lines(kept / SCORES), records.score_lines(), Score, lambda one: one.value is not None)
    )


def _stays(kept: Iterable[bytes], lines: Iterable[bytes], kind: type[R], has_measured: Callable[[R], bool]) -> bool:
    """Whether the kept lines that have measured something are among the others; both are in the same order mostly."""
    gone, new = set[int](), set[int]()
    for before, now in zip_longest(kept, lines):
        if before != now:
            new.add(hash(now))
            if before is not None and (record := _parsed(before, kind)) is not None and has_measured(record):
                gone.add(hash(before))
    return gone <= new


def _parsed(line: bytes, kind: type[R]) -> R | None:
    """The record of a line; what is damaged has measured nothing."""
    with suppress(ValueError, RecursionError):
        return jsonl.parse_record(line, kind)
    return None


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file of the run; none where it is missing or cannot be read."""
    with suppress(RunError):
        yield from jsonl.whole_lines(path, error=RunError, what="file of the run", links=False)


def executions(results: Path, manifest: Manifest) -> list[Path]:
    """The folders of what was made from the same as a run, the one that was written last first."""
    name = re.compile(rf"{re.escape(manifest.run)}(-[1-9]\d*)?")
    return newest_first(folder for folder in all_of(results, manifest.prompt) if name.fullmatch(folder.name))


def remove(folder: Path) -> None:
    """Deletes a run's folder with what is in it; links are removed, not followed. The manifest goes last, so that what
    is left of a deletion that was cut short is still a run that can be deleted.

    Raises:
        RunError: something cannot be deleted.
    """
    with writing(folder):
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            elif entry.name != MANIFEST:
                os.unlink(entry.path)
        (folder / MANIFEST).unlink(missing_ok=True)
        folder.rmdir()


def remove_unwritten(folder: Path) -> bool:
    """Deletes a run unless a process is writing it now; whether it is gone.

    Raises:
        RunError: it cannot be deleted, or a link leads it elsewhere.
    """
    lock = hold(folder)
    if lock is None:
        return False
    try:
        remove(folder)
    finally:
        lock.release()
    with suppress(OSError):
        folder.parent.rmdir()  # where it was the prompt's last run
    return True


def _is_complete(folder: Path) -> bool:
    try:
        return read_manifest(folder).partial is None
    except RunError:
        return False


def _continued(manifest: Manifest, kept: Path) -> Manifest:
    """The manifest with the author, the name and the notices of the run that it goes on with, and with its date unless
    something was asked: a repetition that sends no request changes nothing."""
    try:
        first = read_manifest(kept)
    except RunError:
        return manifest
    return manifest.replace(
        created=manifest.created if manifest.asked else first.created,
        author=manifest.author or first.author,
        name=manifest.name or first.name,
        notices=tuple(dict.fromkeys((*first.notices, *manifest.notices))),
    )
