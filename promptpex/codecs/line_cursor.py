"""A place in a file of lines that goes forward: the lines that begin within a range of bytes, one range after another.

Every line begins in exactly one range, so whoever reads all ranges, each anywhere, has each line once. Of a file that
gzip has packed the ranges are those of its content; what lies before a range has to be unpacked to get there.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from promptpex.codecs.gzipped import is_packed, unpacked
from promptpex.codecs.jsonl import BOM, RawLine

_BLOCK = 1 << 18


class LineCursor:
    """Reads ranges of a file that is open, from its beginning to its end.

    Args:
        file: it belongs to the cursor from now on.
        path: its name, which says whether it is packed.
        longest: bytes of the longest line that is given whole; of a longer one two bytes more than that.
    """

    def __init__(self, file: BinaryIO, path: Path, *, longest: int) -> None:
        self._may_jump = not is_packed(path)
        self._file = unpacked(file, path)
        if not isinstance(self._file, io.BufferedReader):
            raise AssertionError("an opened file is buffered")
        self._buffer: io.BufferedReader = self._file
        self._longest = longest
        self._at = 0
        self._begins = True
        self.done = 0
        """Where the last range that was read ended: the next one may not begin before."""

    def lines(self, start: int, stop: int) -> Iterator[RawLine]:
        """The lines that begin in these bytes, numbered from 1, blank ones too; to be read to the end.

        Raises:
            OSError: the file cannot be read, or unpacked.
        """
        if start < self.done:
            raise AssertionError("a cursor goes forward")
        self._go(start, stop)
        number = 0
        while self._begins and self._at < stop:
            line = self._buffer.readline(self._longest + 2)
            if not line:
                break
            number += 1
            is_first = self._at == 0
            self._moved(line)
            is_whole = self._begins
            data = line[:-1] if is_whole else line
            yield RawLine(number, data.removeprefix(BOM) if is_first else data, self._at, is_whole)
        self.done = stop

    @property
    def more(self) -> bool:
        """Whether the file goes on after what was read; what cannot be read may."""
        try:
            return bool(self._buffer.peek(1))
        except OSError:
            return True

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _go(self, start: int, stop: int) -> None:
        """Goes to the first line that begins at ``start`` or later, or to ``stop`` where none does."""
        if self._at < start:
            self._skip_to(start - 1)
        while not self._begins and self._at < stop:
            line = self._buffer.readline(_BLOCK)
            if not line:
                break
            self._moved(line)

    def _skip_to(self, place: int) -> None:
        """Goes on to a byte in which nobody here is interested."""
        self._begins = False
        if self._may_jump:
            self._at = self._buffer.seek(place)
            return
        while self._at < place:
            data = self._buffer.read(min(_BLOCK, place - self._at))
            if not data:
                return
            self._at += len(data)

    def _moved(self, line: bytes) -> None:
        self._at += len(line)
        self._begins = line.endswith(b"\n")
