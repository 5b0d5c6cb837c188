"""Records that wait in a file, a few at a numbered place, so that memory holds where they are and not what they say."""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Generic, TypeVar

from promptpex.codecs import jsonl
from promptpex.core.errors import RunError
from promptpex.core.records import Record

R = TypeVar("R", bound=Record)

MOST_IN_MEMORY = 4_000_000
"""Bytes up to which a spool is in memory: small runs touch no further file."""

_NOWHERE = -1


class SpillFile:
    """Bytes that are added one after the other and read from anywhere: in memory, and from some length on in a file
    without a name, which is gone with the process, however it ends.

    Args:
        folder: where that file is, which has to be there by then; None = where temporary files are.

    Raises:
        RunError: the file cannot be written or read.
    """

    def __init__(self, folder: Path | None = None, *, most_in_memory: int = MOST_IN_MEMORY) -> None:
        self._folder = folder
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(  # noqa: SIM115
            max_size=most_in_memory, dir=None if folder is None else os.fspath(folder)
        )
        self._length = 0
        self._at_end = True

    def add(self, data: bytes) -> int:
        """Adds bytes; where they begin."""
        start = self._length
        try:
            if not self._at_end:
                self._file.seek(start)
                self._at_end = True
            self._file.write(data)
        except OSError as error:
            raise self._failed(error) from error
        self._length += len(data)
        return start

    def read(self, start: int, length: int) -> bytes:
        """The bytes that begin there."""
        self._at_end = False
        try:
            self._file.seek(start)
            return self._file.read(length)
        except OSError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        self._file.close()

    def _failed(self, error: OSError) -> RunError:
        what = f"cannot keep what is not finished yet ({error.strerror or error}); make room there, or choose another"
        return RunError(f"{what} place with --results", path=self._folder or tempfile.gettempdir())


class RecordSpool(Generic[R]):
    """Records of one kind at numbered places from 0, some at each, put there in any order.

    Args:
        spool: holds them; several may share it.
    """

    def __init__(self, spool: SpillFile, kind: type[R]) -> None:
        self._spill = spool
        self._kind = kind
        self._starts, self._lengths = array("q"), array("q")
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[R]:
        for place in self.places():
            yield from self.at(place)

    def put(self, place: int, records: Iterable[R]) -> None:
        """Puts records at a place that has none yet; it may also be none at all."""
        lines = [jsonl.dump_record(record) for record in records]
        data = "".join(lines).encode("utf-8")
        if (missing := place + 1 - len(self._starts)) > 0:
            self._starts.extend([_NOWHERE] * missing)
            self._lengths.extend([0] * missing)
        self._starts[place], self._lengths[place] = self._spill.add(data), len(data)
        self._count += len(lines)

    def put_each(self, records: Iterable[R]) -> None:
        """Puts records at places of their own, from 0."""
        for place, record in enumerate(records):
            self.put(place, [record])

    def places(self) -> Iterator[int]:
        return (place for place, start in enumerate(self._starts) if start != _NOWHERE)

    def at(self, place: int) -> list[R]:
        """The records at a place, as they were put; none where nothing was."""
        return [jsonl.parse_record(line, self._kind) for line in self.lines(place).splitlines()]

    def lines(self, place: int) -> bytes:
        if place >= len(self._starts) or not self._lengths[place]:
            return b""
        return self._spill.read(self._starts[place], self._lengths[place])

    def all_lines(self) -> Iterator[bytes]:
        return (line for place in self.places() for line in self.lines(place).splitlines(keepends=True))
