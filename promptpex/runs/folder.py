"""A run's folder, ``results/<prompt>/<run>/``: written as answers come, read back for judging and reports.

``manifest.json`` how it came about, ``inputs.json`` the prompt, spec and suite as they were, ``outputs.jsonl`` and
``verdicts.jsonl`` a record a line. The folder can be made again from the response store at any time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from pydantic import ValidationError

from promptpex.codecs.atomic import write_text
from promptpex.errors import RunError
from promptpex.records import (
    Columns,
    Manifest,
    Output,
    Prompt,
    Record,
    Run,
    RunColumns,
    Spec,
    Suite,
    Verdict,
    collector_paused,
)

MANIFEST = "manifest.json"
INPUTS = "inputs.json"
OUTPUTS = "outputs.jsonl"
VERDICTS = "verdicts.jsonl"

DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
"""Names that Windows keeps for devices, also with an extension (Microsoft, "Naming Files, Paths, and Namespaces")."""

R = TypeVar("R", bound=Record)


class _Inputs(Record):
    """What ``inputs.json`` holds."""

    prompt: Prompt
    spec: Spec
    suite: Suite


def folder_for(results: Path, prompt_name: str, run: str) -> Path:
    """Where a run is kept; the prompt's name is made safe as a folder name on every system."""
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in prompt_name)
    name = safe.strip(".")[:80].rstrip(".") or "prompt"
    return results / (f"_{name}" if name.split(".")[0].lower() in DEVICES else name) / run


def begin(folder: Path, run: Run) -> None:
    """Makes the folder, which its owner alone may enter, and writes what is known before anything is asked."""
    with _writing(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_text(folder / INPUTS, _json(_Inputs(prompt=run.prompt, spec=run.spec, suite=run.suite).plain()))
        write_text(folder / MANIFEST, _json(run.manifest.plain()))


def finish(folder: Path, run: Run) -> None:
    """Writes the whole run, each file at once, so that a reader never sees half of one."""
    begin(folder, run)
    with _writing(folder):
        write_text(folder / OUTPUTS, "".join(line(output) for output in run.outputs))
        write_text(folder / VERDICTS, "".join(line(verdict) for verdict in run.verdicts))


def line(record: Record) -> str:
    """A record as one line of JSON, with its newline."""
    return _encodable(json.dumps(record.plain(), ensure_ascii=False)) + "\n"


class Appender:
    """Appends records to a file as they come; a crash leaves whole lines and at most one cut one at the end.

    Raises:
        RunError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> Appender:
        with _writing(self._path.parent):
            self._file = self._path.open("w", encoding="utf-8", newline="\n")
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if self._file is not None:
            with _writing(self._path.parent) if kind is None else suppress(OSError):
                self._file.close()

    def add(self, record: Record) -> None:
        """Writes a record and hands it to the operating system."""
        if self._file is not None:
            with _writing(self._path.parent):
                self._file.write(line(record))
                self._file.flush()


@collector_paused()
def read(folder: Path, *, verdicts: bool = True) -> Run:
    """The run kept in a folder; without its verdicts where they are not wanted.

    Raises:
        RunError: no run there, or a file that is damaged, with its line.
    """
    manifest = read_manifest(folder)
    inputs = _record(folder / INPUTS, _Inputs)
    return Run(
        manifest=manifest,
        prompt=inputs.prompt,
        spec=inputs.spec,
        suite=inputs.suite,
        outputs=tuple(_lines(folder / OUTPUTS, Output)),
        verdicts=tuple(_lines(folder / VERDICTS, Verdict)) if verdicts else (),
    )


@collector_paused()
def read_columns(folder: Path) -> RunColumns:
    """The run kept in a folder, as a report needs it: with many verdicts far smaller than what ``read`` gives.

    Raises:
        RunError: as ``read``.
    """
    manifest = read_manifest(folder)
    inputs = _record(folder / INPUTS, _Inputs)
    return RunColumns(
        manifest=manifest,
        prompt=inputs.prompt,
        spec=inputs.spec,
        suite=inputs.suite,
        outputs=Columns.of(_lines(folder / OUTPUTS, Output), Output),
        verdicts=Columns.of(_lines(folder / VERDICTS, Verdict), Verdict),
    )


def read_manifest(folder: Path) -> Manifest:
    """The manifest alone.

    Raises:
        RunError: no run there, or the file is damaged.
    """
    if not (folder / MANIFEST).is_file():
        raise RunError(f"no run here: {MANIFEST} is missing; name a folder that `promptpex run` wrote", path=folder)
    return _record(folder / MANIFEST, Manifest)


def latest(results: Path) -> Path:
    """The run that was written last under a results folder.

    Raises:
        RunError: there is none.
    """
    newest = _newest(results.glob(f"*/*/{MANIFEST}"))
    if newest is None:
        raise RunError("no run here yet; make one with `promptpex run PROMPT --models ...`", path=results)
    return newest


def latest_of(results: Path, prompt_name: str) -> Path | None:
    """The run of this prompt that was written last; None where there is none."""
    return _newest(folder_for(results, prompt_name, "*").parent.glob(f"*/{MANIFEST}"))


def _newest(manifests: Iterable[Path]) -> Path | None:
    """The folder of the manifest that was written last."""
    newest = max(manifests, key=lambda path: (path.stat().st_mtime_ns, str(path)), default=None)
    return None if newest is None else newest.parent


def resolve(named: Path | None, results: Path) -> Path:
    """The folder of a run: a folder as given, ``<prompt>/<run>`` or a run's id under ``results``, or the latest."""
    if named is None:
        return latest(results)
    if (named / MANIFEST).is_file():
        return named
    if (results / named / MANIFEST).is_file():
        return results / named
    matches = [folder for folder in runs_in(results) if str(named) in (folder.name, folder.parent.name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(sorted(str(match.relative_to(results)) for match in matches)[:5])
        raise RunError(f"{named} names several runs ({names}); name one", path=results)
    raise RunError("no such run; give the run's folder or its id", path=named)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(
            f"cannot write the run's folder ({error.strerror}); choose another with --results", path=folder
        ) from error


def _record(path: Path, kind: type[R]) -> R:
    try:
        return kind.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise RunError(
            f"cannot be read ({error.strerror}); run `promptpex run` again to restore it", path=path
        ) from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"is damaged ({_why(error)}); run `promptpex run` again to restore it", path=path) from error


def _lines(path: Path, kind: type[R]) -> Iterator[R]:
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if not text.endswith(b"\n"):
                return
            try:
                yield _parsed(text, kind)
            except (ValueError, RecursionError) as error:
                raise RunError(f"is damaged ({_why(error)})", path=path, line=number) from error


def _parsed(text: bytes, kind: type[R]) -> R:
    """A record from its JSON. What pydantic's own parser refuses is up to Python's: that one knows lone surrogates."""
    try:
        return kind.model_validate_json(text)
    except ValidationError:
        return kind.model_validate(json.loads(text.decode("utf-8")))


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    return str(error).split("\n")[0]


def _json(value: object) -> str:
    return _encodable(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=False)) + "\n"


def _encodable(text: str) -> str:
    """JSON whose lone surrogates, which UTF-8 does not have, stand as JSON's own escapes; they read back the same."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def runs_in(results: Path) -> Iterable[Path]:
    """All run folders under a results folder, by prompt and id."""
    return sorted(path.parent for path in results.glob(f"*/*/{MANIFEST}"))
