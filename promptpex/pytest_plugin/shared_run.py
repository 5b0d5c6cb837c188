"""A run that the processes of a test session make together: each portion is asked once, by whoever needs it first.

Two files in a folder that only this session knows: the run before its first request, and a line for each portion.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from promptpex.codecs import jsonl
from promptpex.codecs.files.file_lock import lock
from promptpex.core.errors import RunError
from promptpex.core.records import Run
from promptpex.workflow.execution.case_model_pairs import AskedPortion, joined

LONGEST_WAIT_S = 86_400.0
"""Seconds to wait for another process that asks; its own limits end it long before."""


_BEGUN = ".run.json"


def shared_runs(folder: Path) -> list[SharedRun]:
    """The runs that any process has begun."""
    return [SharedRun(folder, path.name.removesuffix(_BEGUN)) for path in sorted(folder.glob(f"*{_BEGUN}"))]


class SharedRun:
    """One prompt's run.

    Args:
        folder: what the processes share.
        name: of the prompt, the same in all of them, safe in a file name.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._begun = folder / f"{name}{_BEGUN}"
        self._portions = folder / f"{name}.portions.jsonl"
        self._failure = folder / f"{name}.failure.txt"
        self._lock = folder / f"{name}.lock"
        self._read_to = 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The right to ask: others wait until it is given back, or until this process ends."""
        with self._lock.open("ab") as file:
            lock(file.fileno(), max_wait_s=LONGEST_WAIT_S)
            yield

    def begin(self, run: Run) -> None:
        """Keeps the run before its first request, as who begins first has it."""
        if not self._begun.exists():
            self._begun.write_text(jsonl.dump_record(run), encoding="utf-8")

    def add(self, portion: AskedPortion) -> None:
        """Keeps a portion."""
        with self._portions.open("a", encoding="utf-8", newline="\n") as file:
            file.write(jsonl.dump_record(portion))

    def new_portions(self) -> list[AskedPortion]:
        """The portions that this process has not been given yet."""
        if not self._portions.exists():
            return []
        with self._portions.open("rb") as file:
            file.seek(self._read_to)
            lines = [line for line in file if line.endswith(b"\n")]
        self._read_to += sum(map(len, lines))
        return [jsonl.parse_record(line, AskedPortion) for line in lines]

    def whole(self) -> tuple[Run, list[str]] | None:
        """The run of all that was asked in this session, by any process, and the warnings; None where nothing was."""
        self._read_to = 0
        portions = self.new_portions()
        if not portions:
            return None
        begun = jsonl.parse_record(self._begun.read_bytes(), Run)
        warnings = dict.fromkeys(warning for portion in portions for warning in portion.warnings)
        return joined(begun, portions), list(warnings)

    def fail(self, sentence: str) -> None:
        """Keeps why the run cannot be made, so that no process tries again."""
        self._failure.write_text(sentence, encoding="utf-8")

    def require_no_failure(self) -> None:
        """Raises RunError where the run cannot be made."""
        if self._failure.exists():
            raise RunError(self._failure.read_text(encoding="utf-8"))
