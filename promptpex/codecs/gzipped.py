"""Files that gzip has packed, read as they are unpacked, so that memory does not grow with what comes out.

A file of a few kilobytes may unpack to gigabytes: what grows beyond what logs do is refused (RFC 1952, RFC 1951).
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path
from typing import BinaryIO

ENDING = ".gz"
MOST_TIMES = 250
"""How many times as long as the file its content may be: logs are packed to a tenth, deflate manages a thousandth."""
FREE_BYTES = 100_000_000
"""Bytes of content that are read whatever the file's length."""


_TRAILER = 4
_BLOCK = 1 << 16
"""Bytes of content that are unpacked in one go, however many are wanted: so where a damaged file ends depends on
nothing but the file."""


def is_packed(path: Path) -> bool:
    """Whether gzip has packed a file of this name."""
    return path.suffix.lower() == ENDING


def unpacked(file: BinaryIO, path: Path) -> BinaryIO:
    """The content of an open file: unpacked where its name ends in ``.gz``, else the file itself.

    Reading it raises an OSError that says what is wrong: no gzip file, cut off, damaged, or far more than its length.
    """
    if not is_packed(path):
        return file
    return io.BufferedReader(_Content(file), 1 << 18)


def content_length(file: BinaryIO, path: Path) -> int:
    """How long the content of an open file is. Of a packed one it is what the file says itself of its last part, which
    may be far from true (RFC 1952, 2.3.1); good for a guess."""
    length = os.fstat(file.fileno()).st_size
    if not is_packed(path) or length < _TRAILER:
        return length
    file.seek(length - _TRAILER)
    return max(length, int.from_bytes(file.read(_TRAILER), "little"))


def plain_name(path: Path) -> Path:
    """The name without ``.gz``: what the content is called."""
    return path.with_suffix("") if is_packed(path) else path


class _Content(io.RawIOBase):
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packed = gzip.GzipFile(fileobj=file, mode="rb")
        self._most = max(FREE_BYTES, os.fstat(file.fileno()).st_size * MOST_TIMES)
        self._read = 0
        self._block = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._block:
            self._block = memoryview(self._next_block())
        count = min(len(buffer), len(self._block))
        buffer[:count] = self._block[:count]
        self._block = self._block[count:]
        return count

    def _next_block(self) -> bytes:
        try:
            data = self._packed.read1(_BLOCK)
        except EOFError:
            raise OSError("it is cut off: the end of the packed data is missing") from None
        except gzip.BadGzipFile as error:
            raise OSError(f"it cannot be unpacked ({error})") from None
        except zlib.error as error:
            raise OSError(f"it cannot be unpacked ({error})") from None
        self._read += len(data)
        if self._read > self._most:
            raise OSError(f"it unpacks to more than {MOST_TIMES} times its length, which no log does")
        return data

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
            self._file.close()
        super().close()
