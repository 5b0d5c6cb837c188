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

from promptpex.codecs.files.ordinary_files import ROW, weight_of

ENDING = ".gz"
MOST_TIMES = 250
"""How many times as long as the file its content may be, each value of JSON counted as what it takes in memory and
each line as ``ROW`` bytes more: logs are packed to a tenth, deflate manages a thousandth."""
FREE_BYTES = 100_000_000
"""Bytes of content that are read whatever the file's length."""


def unpacked(file: BinaryIO, path: Path) -> BinaryIO:
    """The content of an open file: unpacked where its name ends in ``.gz``, else the file itself.

    Reading it raises an OSError that says what is wrong: no gzip file, cut off, damaged, or far more than its length.
    """
    if path.suffix.lower() != ENDING:
        return file
    return io.BufferedReader(_Content(file), 1 << 18)


def plain_name(path: Path) -> Path:
    """The name without ``.gz``: what the content is called."""
    return path.with_suffix("") if path.suffix.lower() == ENDING else path


class _Content(io.RawIOBase):
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packed = gzip.GzipFile(fileobj=file, mode="rb")
        self._most = max(FREE_BYTES, os.fstat(file.fileno()).st_size * MOST_TIMES)
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._packed.read1(len(buffer))
        except EOFError:
            raise OSError("it is cut off: the end of the packed data is missing") from None
        except gzip.BadGzipFile as error:
            raise OSError(f"it cannot be unpacked ({error})") from None
        except zlib.error as error:
            raise OSError(f"it cannot be unpacked ({error})") from None
        self._read += weight_of(data) + ROW * data.count(b"\n")
        if self._read > self._most:
            raise OSError(f"it unpacks to more than {MOST_TIMES} times its length, which no log does")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
            self._file.close()
        super().close()
