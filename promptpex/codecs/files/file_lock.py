"""Locks on files, and appending to a file of lines that several processes append to, each of which may be killed.

The operating system gives a lock back when the file is closed or its process ends, so none is ever left behind.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from pathlib import Path

from promptpex.codecs.files.ordinary_files import NO_FOLLOW, NO_WAIT, created

MAX_WAIT_S = 10.0
"""Appending takes milliseconds; who holds a lock this long has stopped."""
_RETRY_S = 0.01
_LOCK_BYTE = 2**31 - 1
"""Windows locks bytes and keeps others from reading them: one behind the end of every file that we append to."""


def lock(handle: int, *, max_wait_s: float = MAX_WAIT_S) -> None:
    """Locks the file until it is closed; waits while another process has it locked.

    Raises:
        OSError: it stayed locked for ``max_wait_s``, or its file system knows no locks.
    """
    deadline = time.monotonic() + max_wait_s
    while not _try_lock(handle):
        if time.monotonic() > deadline:
            raise OSError(errno.EAGAIN, "another program keeps it locked")
        time.sleep(_RETRY_S)


if sys.platform == "win32":

    def _try_lock(handle: int, *, shared: bool = False) -> bool:
        import msvcrt

        os.lseek(handle, _LOCK_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:

    def _try_lock(handle: int, *, shared: bool = False) -> bool:
        import fcntl

        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class LockFile:
    """A file that one process at a time holds, and that goes with it; after a crash it stays, and holds up nobody."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle

    @classmethod
    def take(cls, path: Path, max_wait_s: float = 0.0) -> LockFile | None:
        """The lock; None where another process holds it for so long. Where the file system knows no locks everybody
        has it.

        Raises:
            OSError: the file cannot be made.
        """
        deadline = time.monotonic() + max_wait_s
        while True:
            handle = created(path)
            try:
                free = _try_lock(handle)
            except OSError:
                free = True
            if free and _is_the_file(handle, path):
                return cls(path, handle)
            os.close(handle)
            if not free:
                if time.monotonic() >= deadline:
                    return None
                time.sleep(_RETRY_S)

    def release(self) -> None:
        with contextlib.suppress(OSError):  # Windows removes no file that is open
            os.unlink(self._path)
        os.close(self._handle)


def is_held(path: Path) -> bool:
    """Whether a process holds this lock file. Where the file system knows no locks nobody can say: then it does while
    the file is there."""
    try:
        handle = os.open(path, os.O_RDONLY | NO_WAIT | NO_FOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return not _try_lock(handle, shared=True)
    except OSError:
        return True
    finally:
        os.close(handle)


def _is_the_file(handle: int, path: Path) -> bool:
    """Whether the path still means what was opened: who held the lock before may have removed it since."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        return False


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
    try:
        while data:
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    except BaseException:
        os.ftruncate(handle, size)
        raise


def _end_of_last_line(handle: int, size: int) -> int:
    end = size
    while end:
        start = max(0, end - _BLOCK)
        os.lseek(handle, start, os.SEEK_SET)
        place = os.read(handle, end - start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        end = start
    return 0
