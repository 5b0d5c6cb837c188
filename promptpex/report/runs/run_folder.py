"""A run's folder, ``results/<prompt>/<run>/``: written as answers come, read back for judging and reports.

``manifest.json`` how it came about, ``inputs.json`` the prompt, spec and suite as they were, ``outputs.jsonl``,
``verdicts.jsonl`` and, where there are any, ``scores.jsonl`` a record a line. The folder can be made again from the
response store at any time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from promptpex.codecs import jsonl
from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.atomic import writing as writing_file
from promptpex.codecs.files.file_lock import MAX_WAIT_S, LockFile, is_held
from promptpex.codecs.files.ordinary_files import read_bytes, refuse_led_out
from promptpex.core.errors import RunError
from promptpex.core.records import (
    KILLED,
    RUNNING,
    Manifest,
    Metric,
    Output,
    OutputKey,
    Prompt,
    Record,
    Run,
    Score,
    Spec,
    Suite,
    Verdict,
    collector_paused,
)
from promptpex.report.runs.run_spool import RunRecords
from promptpex.tables import RunDatabase, StoredRun

MANIFEST = "manifest.json"
INPUTS = "inputs.json"
OUTPUTS = "outputs.jsonl"
VERDICTS = "verdicts.jsonl"
SCORES = "scores.jsonl"
CUBE = "verdicts.parquet"
"""Where an earlier version kept many verdicts."""

LONGEST = 1_000_000_000
"""Bytes of a manifest, or of the inputs, that are read."""

DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
"""Names that Windows keeps for devices, also with an extension (Microsoft, "Naming Files, Paths, and Namespaces")."""

R = TypeVar("R", bound=Record)


class _Inputs(Record):
    """What ``inputs.json`` holds."""

    prompt: Prompt
    spec: Spec
    suite: Suite
    metrics: tuple[Metric, ...] = ()


def folder_for(results: Path, prompt_name: str, run: str) -> Path:
    """Where a run is kept; the prompt's name is made safe as a folder name on every system."""
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in prompt_name)
    name = safe.strip(".")[:80].rstrip(".") or "prompt"
    return results / (f"_{name}" if name.split(".")[0].lower() in DEVICES else name) / run


def begin(folder: Path, run: Run) -> None:
    """Makes the folder, which its owner alone may enter, and writes what is known before anything is asked.

    The run is partial from here on.

    The verdicts and scores of an earlier execution go: until ``finish`` the folder holds outputs alone. The manifest is
    written first, so that a process that is killed here leaves a folder that says so.

    Raises:
        RunError: the folder cannot be written, or a link leads it elsewhere.
    """
    refuse_led_out(folder, folder.parent.parent, RunError)
    with writing(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _put(folder / MANIFEST, jsonl.dump_record(run.manifest.replace(partial=RUNNING), indent=1))
        for name in (VERDICTS, CUBE, SCORES):
            (folder / name).unlink(missing_ok=True)
        _put(
            folder / INPUTS,
            jsonl.dump_record(
                _Inputs(prompt=run.prompt, spec=run.spec, suite=run.suite, metrics=run.metrics), indent=1
            ),
        )


def finish(folder: Path, run: Run, records: RunRecords | None = None) -> None:
    """As ``write_whole``, by a process that does not hold the folder yet.

    Args:
        records: its outputs, verdicts and scores; None = those that the run holds.

    Raises:
        RunError: as ``begin``; another process writes the run.
    """
    if records is None:
        with RunRecords.of(run) as spooled:
            finish(folder, run, spooled)
        return
    lock = hold(folder, MAX_WAIT_S)
    if lock is None:
        raise RunError("another process writes this run; wait until it has ended", path=folder)
    try:
        write_whole(folder, run, records)
    finally:
        lock.release()


def write_whole(folder: Path, run: Run, records: RunRecords) -> None:
    """Writes the whole run, each file at once, so that a reader never sees half of one; the manifest comes last.

    Raises:
        RunError: as ``begin``.
    """
    begin(folder, run)
    with writing(folder):
        _put_lines(folder / OUTPUTS, records.outputs.all_lines())
        _put_lines(folder / VERDICTS, records.verdicts.all_lines())
        if len(records.expected) or len(records.metrics):
            _put_lines(folder / SCORES, records.score_lines())
        _put(folder / MANIFEST, jsonl.dump_record(run.manifest, indent=1))


def hold(folder: Path, max_wait_s: float = 0.1) -> LockFile | None:
    """The lock of whoever writes a run's folder; None where another process has it for so long. Readers have it for a
    moment at most.

    Raises:
        RunError: as ``begin``.
    """
    refuse_led_out(folder, folder.parent.parent, RunError)
    with writing(folder):
        return LockFile.take(_lock_of(folder), max_wait_s)


def is_written(folder: Path) -> bool:
    """Whether a process writes a run's folder now."""
    return is_held(_lock_of(folder))


def _lock_of(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.lock"


def _put(path: Path, text: str) -> None:
    """A link in the place of a run's file is replaced: a folder from elsewhere may lead anywhere."""
    write_text(path, text, links=False)


def _put_lines(path: Path, lines: Iterable[bytes]) -> None:
    """As ``_put``, line by line, without a text of all of them in memory."""
    with writing_file(path, links=False) as file:
        file.writelines(lines)


class RecordWriter:
    """Writes records to a new file as they come; a crash leaves whole lines and at most one cut line at the end.

    Raises:
        RunError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: jsonl.Appender | None = None

    def __enter__(self) -> RecordWriter:
        with writing(self._path.parent):
            if self._path.is_symlink():
                self._path.unlink()
            self._file = jsonl.Appender(self._path)
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if self._file is not None:
            with writing(self._path.parent) if kind is None else suppress(OSError):
                self._file.close()

    def add(self, record: Record) -> None:
        """Writes a record and hands it to the operating system."""
        self.add_line(jsonl.dump_record(record))

    def add_line(self, line: str) -> None:
        """The same of a record that is a line already."""
        if self._file is not None:
            with writing(self._path.parent):
                self._file.add(line)


@collector_paused()
def read(folder: Path | str, *, verdicts: bool = True) -> Run:
    """The run kept in a folder; without its verdicts and scores where they are not wanted.

    Raises:
        RunError: no run there, or a file that is damaged, with its line.
    """
    folder = Path(folder)
    head = known_of(folder)
    outputs = tuple(outputs_of(folder))
    output_keys = {output.key for output in outputs}
    if not verdicts:
        return Run(**head, outputs=outputs)
    return Run(
        **head,
        outputs=outputs,
        verdicts=tuple(one for one in verdicts_of(folder) if one.key in output_keys),
        scores=tuple(_scores(folder, output_keys)),
    )


def read_inputs(folder: Path) -> Run:
    """The run kept in a folder as it was before its first output.

    Raises:
        RunError: as ``read``.
    """
    return Run(**known_of(folder))


def outputs_of(folder: Path) -> Iterator[Output]:
    """The outputs of a run's folder one by one.

    Raises:
        RunError: as ``read``.
    """
    return records_of(folder / OUTPUTS, Output)


def read_scores(folder: Path) -> tuple[Score, ...]:
    """The scores that are kept in a run's folder, of the outputs that it has.

    Raises:
        RunError: as ``read``.
    """
    return tuple(_scores(folder, {output.key for output in outputs_of(folder)}))


@collector_paused()
def read_for_report(folder: Path) -> StoredRun:
    """The run kept in a folder, as a report needs it: its outputs, verdicts and scores in a database.

    Raises:
        RunError: as ``read``.
    """
    head = known_of(folder)
    records = outputs_of(folder), verdicts_of(folder), records_of(folder / SCORES, Score)
    return StoredRun(**head, database=RunDatabase.of_records(head["suite"], *records, strict=True))


def known_of(folder: Path) -> dict[str, Any]:
    """What is known of a run before anything is asked: its manifest, prompt, spec, suite and metrics."""
    manifest = read_manifest(folder)
    inputs = _record(folder / INPUTS, _Inputs)
    return {"manifest": manifest, **{name: getattr(inputs, name) for name in _Inputs.model_fields}}


def verdicts_of(folder: Path) -> Iterator[Verdict]:
    """The verdicts of a folder one by one, those on outputs that it lacks too: of an earlier execution, which do not
    count.

    Raises:
        RunError: a file is damaged.
    """
    if os.path.lexists(folder / CUBE):
        raise RunError(f"has its verdicts in {CUBE}, as an earlier version kept them; judge it again", path=folder)
    return records_of(folder / VERDICTS, Verdict)


def _scores(folder: Path, there: set[OutputKey]) -> Iterator[Score]:
    """The scores of outputs that are in the folder; those of an earlier execution do not count."""
    return (score for score in records_of(folder / SCORES, Score) if score.key in there)


def read_manifest(folder: Path) -> Manifest:
    """The manifest alone. A run that has not ended, and that no process writes any more, is ``KILLED``.

    Raises:
        RunError: no run there, or the file is damaged.
    """
    if not (folder / MANIFEST).is_file():
        raise RunError(f"no run here: {MANIFEST} is missing; name a folder that `promptpex run` wrote", path=folder)
    manifest = _record(folder / MANIFEST, Manifest)
    if manifest.partial == RUNNING and not is_written(folder):
        manifest = _record(folder / MANIFEST, Manifest)  # it may have ended in between
        if manifest.partial == RUNNING:
            return manifest.replace(partial=KILLED)
    return manifest


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Makes an error of the file system one that says what to do."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"cannot write the run's folder ({error.strerror}); choose another with --results", path=folder
        ) from error


def _record(path: Path, kind: type[R]) -> R:
    try:
        data = read_bytes(path, error=RunError, what="file of the run", limit=LONGEST, links=False)
        return jsonl.parse_record(data, kind)
    except RunError as error:
        raise RunError(f"{error.message}; run `promptpex run` again to restore it", path=path) from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"is damaged ({_why(error)}); run `promptpex run` again to restore it", path=path) from error


def records_of(path: Path, kind: type[R]) -> Iterator[R]:
    """The records of a file of the run, a line each; none where there is no such file.

    Raises:
        RunError: a line is damaged, with its number.
    """
    if not os.path.lexists(path):
        return
    for number, line in enumerate(jsonl.whole_lines(path, error=RunError, what="file of the run", links=False), 1):
        try:
            yield jsonl.parse_record(line, kind)
        except (ValueError, RecursionError) as error:
            raise RunError(f"is damaged ({_why(error)})", path=path, line=number) from error


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    return str(error).split("\n")[0]
