"""The spool: replies that the server could not take, on the disk of this machine until it can.

A file for each handle on a store, in the project's ``.promptpex/spool``, named after the store: a line per reply,
synced before the reply is used, and locked as long as its process lives. Whoever opens the store next, or comes upon
questions of a process that has died, hands in what others have left; one process at a time, so that nobody asks again
what another one is just handing in. A reply that is in the store already stays as it is, so a crash in the middle of
that neither loses nor doubles anything. Every line bears a code (HMAC, RFC 2104) made with a secret that stands in the
store alone: a file that somebody brought along in a checkout puts nothing into the store of a team.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import errno
import hashlib
import hmac
import io
import json
import os
import re
import stat
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import BinaryIO

from promptpex.codecs.files.file_lock import lock
from promptpex.store.postgres.rows import Row
from promptpex.store.project_folder import ignore

LONGEST_LINE = 128 * 1024 * 1024
"""Bytes of a line; a longer one was not written here."""

BATCH_BYTES = 4 * 1024 * 1024
"""About so much is handed in at a time."""

UNLOCKED_S = 600.0
"""Where the file system knows no locks, a file that was written to within so many seconds may be in use."""

MAX_TURN_S = 600.0
"""Seconds to wait for another process that hands in; what it hands in is on its way to the same server."""
TURN_POLL_S = 0.05

_NAME = re.compile(r"[0-9a-z]+-[0-9a-f]{32}\.jsonl")
_SYNC = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Spooled:
    """A reply in the spool; ``replaces``: it goes into the place of an earlier one."""

    row: Row
    replaces: bool = False


Send = Callable[[Sequence[Spooled]], Awaitable[None]]
"""Commits replies to the store."""


class Spool:
    """The spool of one handle on a store, and those that others have left beside it.

    Args:
        folder: where the files are; made when the first is.
        store: the store's id.
        secret: the store's secret.
        sync: returns once a file, or a folder, is on the disk.
    """

    def __init__(self, folder: Path, store: str, secret: bytes, sync: Callable[[int], None] = os.fsync) -> None:
        self._folder = folder
        self._store = store
        self._secret = secret
        self._sync = sync
        self._handle: int | None = None
        self._size = self._sent = 0
        self.path = folder / f"{store}-{uuid.uuid4().hex}.jsonl"
        self.count = 0
        self.turn = asyncio.Lock()
        """Held by who writes, and by who finds that nothing is left to hand in."""

    async def add(self, replies: Sequence[Spooled]) -> None:
        """Writes replies; returns once they are on the disk.

        Raises:
            OSError: they cannot be; nothing of them is in the file then.
        """
        await asyncio.to_thread(self._add, replies)
        self.count += len(replies)

    async def hand_in(self, send: Send) -> None:
        """Hands in what this handle has written; to be called until ``is_empty``."""
        if self._handle is None:
            return
        start = self._sent
        data = os.pread(self._handle, self._size - start, start)  # by its path it may be gone: somebody tidied up
        for replies, end in self._batches(io.BytesIO(data), 0):
            await send(replies)
            self._sent = start + end

    @property
    def is_empty(self) -> bool:
        """Whether all that was written has been handed in."""
        return self._size <= self._sent

    def clear(self) -> None:
        """Forgets what has been handed in; to be called when the spool is empty."""
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            self._size = self._sent = self.count = 0

    def close(self) -> None:
        """Gives the file up: an empty one goes, any other is for whoever opens the store next."""
        if self._handle is not None:
            if self.is_empty:
                with contextlib.suppress(OSError):
                    os.unlink(self.path)
                self._tidy()
            os.close(self._handle)
            self._handle = None

    async def hand_in_left(self, send: Send) -> tuple[int, list[Path]]:
        """Hands in what others have left; waits while another process does so.

        Returns: how many replies, and the files with lines that are not of this store's users, which are put aside.

        Raises:
            OSError: what is there cannot be read, such as another user's.
        """
        count, odd = 0, []
        async with _turn(self._folder):
            for path in await asyncio.to_thread(self._left):
                with _taken(path) as file:
                    if file is None:
                        continue
                    unread: list[int] = []
                    for replies, _ in self._batches(file, 0, unread):
                        await send(replies)
                        count += len(replies)
                    if unread:
                        odd.append(_put_aside(path))
                    else:
                        with contextlib.suppress(OSError):  # handing it in again does no harm
                            path.unlink()
            self._tidy()
        return count, odd

    def _add(self, replies: Sequence[Spooled]) -> None:
        if self._handle is None:
            self._handle = self._made()
        data = b"".join(self._line(each) for each in replies)
        if os.fstat(self._handle).st_size != self._size:
            os.ftruncate(self._handle, self._size)
        try:
            written = 0
            while written < len(data):
                written += os.write(self._handle, data[written:])
            self._sync(self._handle)
        except BaseException:
            with contextlib.suppress(OSError):  # then by whoever writes next
                os.ftruncate(self._handle, self._size)
            raise
        self._size += len(data)

    def _tidy(self) -> None:
        """Removes the folder if it is empty: it is its owner's alone, and another user of the project finds in it what
        cannot be read."""
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def _made(self) -> int:
        """This handle's file, new and locked."""
        while True:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            ignore(self._folder.parent)
            try:
                handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _SYNC, 0o600)
            except FileNotFoundError:  # another process has removed the folder, which was empty
                continue
            break
        with contextlib.suppress(OSError):
            lock(handle, max_wait_s=0.0)
        with contextlib.suppress(OSError):  # Windows opens no folder
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                self._sync(folder)
            finally:
                os.close(folder)
        return handle

    def _left(self) -> list[Path]:
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        ours = (name for name in names if _NAME.fullmatch(name) and name.startswith(f"{self._store}-"))
        return sorted(path for name in ours if (path := self._folder / name) != self.path)

    def _line(self, reply: Spooled) -> bytes:
        row = [base64.b85encode(part).decode() if isinstance(part, bytes) else part for part in astuple(reply.row)]
        text = json.dumps([reply.replaces, *row]).encode()
        return self._code(text) + b" " + text + b"\n"

    def _code(self, text: bytes) -> bytes:
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest().encode()

    def _batches(
        self, file: BinaryIO, start: int, unread: list[int] | None = None
    ) -> Iterator[tuple[list[Spooled], int]]:
        """The replies from a place on, some at a time, each with the place behind it. Lines that are not ours are put
        into ``unread``; the last one, if it was cut, was never used."""
        file.seek(start)
        replies: list[Spooled] = []
        size, end = 0, start
        while line := file.readline(LONGEST_LINE):
            if not line.endswith(b"\n"):
                if len(line) >= LONGEST_LINE and unread is not None:
                    unread.append(end)
                break
            end += len(line)
            reply = self._read(line)
            if reply is not None:
                replies.append(reply)
                size += len(line)
            elif unread is not None:
                unread.append(end)
            if size >= BATCH_BYTES:
                yield replies, end
                replies, size = [], 0
        if replies:
            yield replies, end

    def _read(self, line: bytes) -> Spooled | None:
        code, _, text = line[:-1].partition(b" ")
        if not hmac.compare_digest(code, self._code(text)):
            return None
        try:
            replaces, request_id, model, stage, at, scrubbed, request, completion = json.loads(text)
            parts = [base64.b85decode(part) for part in (model, stage, request, completion)]
        except (ValueError, TypeError, binascii.Error):
            return None
        return Spooled(Row(request_id, parts[0], parts[1], at, scrubbed, parts[2], parts[3]), replaces)


@contextlib.asynccontextmanager
async def _turn(folder: Path) -> AsyncIterator[None]:
    """The turn to hand in what is left in a folder."""
    try:
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        yield
        return
    try:
        waited = 0.0
        while _is_locked_elsewhere(handle):
            if waited >= MAX_TURN_S:
                raise OSError(errno.EAGAIN, "another command has been writing them for minutes")
            await asyncio.sleep(TURN_POLL_S)
            waited += TURN_POLL_S
        yield
    finally:
        os.close(handle)


def _is_locked_elsewhere(handle: int) -> bool:
    """Whether another process has it locked; else this one has now, where the file system knows locks."""
    try:
        lock(handle, max_wait_s=0.0)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def _put_aside(path: Path) -> Path:
    """Another name for a file, under which nobody looks at it again; its own where its folder cannot be written."""
    aside = path.with_suffix(".unreadable")
    try:
        os.replace(path, aside)
    except OSError:
        return path
    return aside


@contextlib.contextmanager
def _taken(path: Path) -> Iterator[BinaryIO | None]:
    """An ordinary file that no living process has; None where it is in use, gone, or something else.

    Raises:
        OSError: it cannot be read.
    """
    try:
        handle = _opened(path)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise OSError(error.errno, error.strerror, str(path)) from error
        yield None
        return
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        free = stat.S_ISREG(status.st_mode) and _is_free(handle, status)
        yield file if free and _is_there(path, status) else None


def _opened(path: Path) -> int:
    """To be read and, since locks of NFS want that, written."""
    flags = getattr(os, "O_NONBLOCK", 0) | _SYNC
    try:
        return os.open(path, os.O_RDWR | flags)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return os.open(path, os.O_RDONLY | flags)


def _is_free(handle: int, status: os.stat_result) -> bool:
    try:
        lock(handle, max_wait_s=0.0)
    except OSError as error:
        return error.errno != errno.EAGAIN and status.st_mtime < time.time() - UNLOCKED_S
    return True


def _is_there(path: Path, status: os.stat_result) -> bool:
    """Whether it has not been handed in and removed by another process in the meantime."""
    try:
        return os.path.samestat(path.lstat(), status)
    except OSError:
        return False
