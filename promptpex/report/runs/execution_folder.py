"""Where an execution of a run is written: a partial run continues in its folder, and a complete one is kept.

What was made from the same (prompt, spec, cases, models, settings) has the same id. Its first execution is in the
folder of that name, a later one in ``ID-2``, ``ID-3`` and so on. A later one has a folder of its own as soon as
something that was measured would change: an answer, a verdict or a score. Where all of it is the same, or only what had
failed is answered now, the kept run is what was executed, and no folder is made.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import cached_property
from itertools import count, zip_longest
from pathlib import Path
from typing import Self, TypeVar

from promptpex.codecs import jsonl
from promptpex.codecs.files.file_lock import MAX_WAIT_S, LockFile
from promptpex.codecs.files.ordinary_files import refuse_led_out
from promptpex.codecs.record_spool import SpillFile
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
    finish,
    folder_for,
    read_manifest,
    verdicts_of,
    writing,
)
from promptpex.report.runs.run_spool import RunRecords
from promptpex.report.runs.verdict_parquet import CUBE

R = TypeVar("R", bound=Record)

_RETRY_S = 0.01


class RunPlace:
    """Where one execution writes its outputs as they come, and the whole run in the end.

    Args:
        results: the folder of the runs.
        begun: the run before its first request.
        fresh: whether everything is asked again, so that a complete run gets a new folder in any case.

    Attributes:
        begun: the run with what it has from the execution that it goes on with, or that it may turn out to be.
        before: the folder of the latest complete run that was made from the same; None where there is none.
    """

    def __init__(self, results: Path, begun: Run, *, fresh: bool) -> None:
        self.begun = begun
        self.before: Path | None = None
        self._results, self._own, self._fresh = results, begun.manifest, fresh
        self._folder: Path | None = None
        self._goes_on = False
        self._locks: list[LockFile] = []
        self._open = ExitStack()
        self._writer: RecordWriter | None = None
        self._waiting = SpillFile(results)
        self._measured: _Measured | None = None

    def __enter__(self) -> Self:
        self._folder, self.before = self._unfinished(), self._complete()
        self._goes_on = self._folder is not None
        if self._folder is not None:
            self._begin_with(_going_on(self._folder, self._own))
        elif self.before is not None:
            earlier = _going_on(self.before, self._own).replace(name=self._own.name)
            self._begin_with(self._own.replace(author=earlier.author) if self._fresh else earlier)
        if self._folder is not None or self.before is None or self._fresh:
            self._write_into(self._folder or self._new_folder())
        return self

    def _begin_with(self, manifest: Manifest) -> None:
        self.begun = self.begun.replace(manifest=manifest)

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        try:
            self._close(failed=kind is not None)
        finally:
            self._waiting.close()
            for lock in self._locks:
                lock.release()

    def add(self, output: Output) -> None:
        """Takes an output; from the first one on that the kept run has otherwise, they are written as they come.

        Raises:
            RunError: the folder cannot be written.
        """
        if self._writer is None and self._measured_by(self.before).changes(output):
            self._write_into(self._new_folder())
        if self._writer is not None:
            self._writer.add(output)
        else:
            self._waiting.add(_line(output))

    def finish(self, run: Run, records: RunRecords | None = None) -> tuple[Run, Path]:
        """Writes the whole run; it and its folder.

        Args:
            records: its outputs, verdicts and scores; None = those that the run holds.

        Raises:
            RunError: as ``add``.
        """
        if records is None:
            with RunRecords.of(run) as spooled:
                return self.finish(run, spooled)
        with self._turn():
            candidates = [] if self._fresh else [self.before, self._complete()]
            for folder_kept in dict.fromkeys(folder for folder in candidates if folder is not None):
                if self._measured_by(folder_kept).all_in(records):
                    return self._as_kept(run, records, folder_kept)
            folder = self._folder or self._new_folder()
            self._close()
            if not self._goes_on:
                run = run.replace(manifest=run.manifest.replace(created=self._own.created))
            finish(folder, run, records)
            return run, folder

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Executions of the same run that end at the same moment take turns, so that the later one sees the earlier.

        Who has waited for ``MAX_WAIT_S`` goes on alone.
        """
        place = folder_for(self._results, self._own.prompt, f"{self._own.run}.end")
        deadline = time.monotonic() + MAX_WAIT_S
        while (lock := _locked(place, self._results)) is None and time.monotonic() < deadline:
            time.sleep(_RETRY_S)
        try:
            yield
        finally:
            if lock is not None:
                lock.release()

    def _as_kept(self, run: Run, records: RunRecords, kept: Path) -> tuple[Run, Path]:
        """Writes the run in the folder of the kept one, which it is; a folder that it has had until now goes."""
        name = run.manifest.name or read_manifest(kept).name
        run = run.replace(manifest=run.manifest.replace(name=name))
        self._close()
        finish(kept, run, records)
        if self._folder is not None:
            remove(self._folder)
        return run, kept

    def _measured_by(self, kept: Path | None) -> _Measured:
        assert kept is not None
        if self._measured is None or self._measured.folder != kept:
            self._measured = _Measured(kept)
        return self._measured

    def _unfinished(self) -> Path | None:
        """The folder of an execution that has not come to its end, or is damaged, and that nobody writes now."""
        for folder in executions(self._results, self._own):
            if not _is_complete(folder) and self._lock(folder) and not _is_complete(folder):
                return folder
        return None

    def _complete(self) -> Path | None:
        """The complete execution that was written last."""
        all_executions = executions(self._results, self._own)
        return next((folder for folder in all_executions if folder != self._folder and _is_complete(folder)), None)

    def _new_folder(self) -> Path:
        """A folder that nobody has and nobody is about to make."""
        first = folder_for(self._results, self._own.prompt, self._own.run)
        names = (first if number == 1 else first.with_name(f"{first.name}-{number}") for number in count(1))
        return next(folder for folder in names if not folder.exists() and self._lock(folder) and not folder.exists())

    def _lock(self, folder: Path) -> bool:
        lock = _locked(folder, self._results)
        if lock is not None:
            self._locks.append(lock)
        return lock is not None

    def _write_into(self, folder: Path) -> None:
        begin(folder, self.begun)
        self._folder = folder
        self._writer = self._open.enter_context(RecordWriter(folder / OUTPUTS))
        for line in self._waiting.lines():
            self._writer.add_line(line.decode("utf-8"))
        self._waiting.close()
        self._measured = None

    def _close(self, *, failed: bool = False) -> None:
        """Closes the file of outputs; after a failure what cannot be closed is left."""
        self._writer = None
        with suppress(RunError) if failed else nullcontext():
            self._open.close()


class _Measured:
    """What a kept run has measured, to be held against what an execution gives.

    Args:
        folder: of the kept run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _lines(self) -> frozenset[int]:
        """The hashes of the lines of its outputs."""
        return frozenset(map(hash, _lines(self.folder / OUTPUTS)))

    @cached_property
    def _answered(self) -> frozenset[int]:
        """The hashes of the keys of its usable answers."""
        parsed_outputs = (_parsed(line, Output) for line in _lines(self.folder / OUTPUTS))
        return frozenset(hash(output.key) for output in parsed_outputs if output is not None and output.error is None)

    def changes(self, output: Output) -> bool:
        """Whether an output is another one than the usable answer that the run has in its place."""
        return hash(_line(output)) not in self._lines and hash(output.key) in self._answered

    def all_in(self, records: RunRecords) -> bool:
        """Whether all that was measured is in a run, unchanged."""
        outputs, verdicts = records.outputs, records.verdicts
        return (
            _stays(_lines(self.folder / OUTPUTS), outputs.all_lines, Output, _answer)
            and _stays(_verdict_lines(self.folder), verdicts.all_lines, Verdict, _verdict)
            and _stays(_lines(self.folder / SCORES), records.score_lines, Score, _score)
        )


def _answer(output: Output) -> Hashable:
    return output if output.error is None else None


def _verdict(verdict: Verdict) -> Hashable:
    measured = (verdict.key, verdict.rule, verdict.source, verdict.turn, verdict.counts, verdict.status)
    return measured if verdict.status != "unscored" else None


def _score(score: Score) -> Hashable:
    measured = (score.key, score.name, score.source, score.turn, score.counts, score.value)
    return measured if score.value is not None else None


def _stays(
    kept: Iterable[bytes],
    lines: Callable[[], Iterator[bytes]],
    kind: type[R],
    measured: Callable[[R], Hashable],
) -> bool:
    """Whether what the kept lines have measured is among the others; what stands there to the letter is not parsed.

    Both are read side by side, and as they are in the same order what has no like yet is little, unless much differs;
    of that only hashes are kept.
    """

    def value(line: bytes) -> int | None:
        record = _parsed(line, kind)
        what = None if record is None else measured(record)
        return None if what is None else hash(what)

    replaced_by: dict[int, int | None] = {}
    new: set[int] = set()
    for before, now in zip_longest(kept, lines()):
        if before == now:
            continue
        if now is not None and replaced_by.pop(mark := hash(now), now) is now:
            new.add(mark)
        if before is not None and (mark := hash(before)) in new:
            new.discard(mark)
        elif before is not None:
            replaced_by[mark] = value(before)
    needed = set(replaced_by.values()) - {None}
    if needed:
        needed.difference_update(map(value, lines()))
    return not needed


def _parsed(line: bytes, kind: type[R]) -> R | None:
    """The record of a line; what is damaged has measured nothing."""
    with suppress(ValueError, RecursionError):
        return jsonl.parse_record(line, kind)
    return None


def _line(record: Record) -> bytes:
    return jsonl.dump_record(record).encode("utf-8")


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file of the run; none where it is missing or cannot be read."""
    with suppress(RunError):
        yield from jsonl.whole_lines(path, error=RunError, what="file of the run", links=False)


def _verdict_lines(folder: Path) -> Iterator[bytes]:
    """The verdicts of a folder as lines; none where they cannot be read."""
    if not (folder / CUBE).exists():
        yield from _lines(folder / VERDICTS)
    else:
        with suppress(RunError):
            yield from map(_line, verdicts_of(folder))


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


def remove_unwritten(folder: Path, results: Path) -> bool:
    """Deletes a run under a results folder unless a process is writing it now; whether it is gone.

    Raises:
        RunError: it cannot be deleted, or a link leads it elsewhere.
    """
    lock = _locked(folder, results)
    if lock is None:
        return False
    try:
        remove(folder)
    finally:
        lock.release()
    with suppress(OSError):
        folder.parent.rmdir()  # where it was the prompt's last run
    return True


def _locked(folder: Path, results: Path) -> LockFile | None:
    """The lock on a run's folder; None while another process has it."""
    refuse_led_out(folder, results, RunError)
    with writing(folder):
        return LockFile.take(folder.parent / f".{folder.name}.lock")


def _is_complete(folder: Path) -> bool:
    try:
        return read_manifest(folder).partial is None
    except RunError:
        return False


def _going_on(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with the date, the author, the name and the notices of the run's earlier execution, so that a
    repetition that sends no request changes nothing."""
    try:
        first = read_manifest(folder)
    except RunError:
        return manifest
    return manifest.replace(
        created=first.created,
        author=manifest.author or first.author,
        name=manifest.name or first.name,
        notices=first.notices,
    )
