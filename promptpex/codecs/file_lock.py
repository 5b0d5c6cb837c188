"""A lock on an open file, so that two processes that append to it take turns.

The operating system gives the lock back when the file is closed or its process ends, so none is ever left behind.
"""

from __future__ import annotations

import errno
import sys
import time

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

    def _try_lock(handle: int) -> bool:
        import msvcrt
        import os

        os.lseek(handle, _LOCK_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:

    def _try_lock(handle: int) -> bool:
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
