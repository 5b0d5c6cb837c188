"""Appending to a file of lines that several processes may append to, and any of them may be killed while it does."""

from __future__ import annotations

import os
from pathlib import Path

from promptpex.codecs.files.file_lock import lock
from promptpex.codecs.files.ordinary_files import created

_BLOCK = 65_536


def append_whole(path: Path, data: bytes, *, drop_cut_line: bool = False) -> None:
    """Writes all of the data behind the file's last line, or leaves the file as it is; a new file is made.

    Args:
        drop_cut_line: whether what a killed program left of a line is taken off; else it becomes a line of its own.

    Raises:
        OSError: the file cannot be read or written, is a link, or stays locked by another program.
    """
    handle = created(path, append=True, readable=True)
    try:
        lock(handle)
        size = os.fstat(handle).st_size
        whole = _end_of_last_line(handle, size)
        if whole < size and drop_cut_line:
            os.ftruncate(handle, whole)
            size = whole
        _write(handle, data if whole == size else b"\n" + data, size)
    finally:
        os.close(handle)


def _write(handle: int, data: bytes, size: int) -> None:
    """Writes all of it behind these many bytes, or none."""
    try:
        while data:
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    except BaseException:
        os.ftruncate(handle, size)
        raise


def _end_of_last_line(handle: int, size: int) -> int:
    """Where the last line that has its end ends."""
    end = size
    while end:
        start = max(0, end - _BLOCK)
        os.lseek(handle, start, os.SEEK_SET)
        place = os.read(handle, end - start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        end = start
    return 0
