"""Group commit: one thread writes, and whatever waits when it is free goes into one transaction.

A write is done when its transaction is committed, so durability costs one disk sync per group instead of one per reply.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from pathlib import Path

from promptpex.core.errors import StoreError
from promptpex.store.sqlite.file import Synchronous, open_database, store_error
from promptpex.store.sqlite.leases import HEARTBEAT_S, Owner
from promptpex.store.sqlite.writer_jobs import Job, execute, needs_durability

MAX_GROUP_WRITES = 1000
"""Writes in one transaction."""

EAGER_WRITES = 64
"""Writes handed to the thread before the event loop's round is over, so that it begins while the round goes on."""


class _Item:
    """A job, who waits for it, and how it ended."""

    __slots__ = ("error", "future", "job", "keep", "result")

    def __init__(self, job: Job, future: asyncio.Future[object], keep: bool) -> None:
        self.job = job
        self.future = future
        self.keep = keep
        self.result: object = None
        self.error: StoreError | None = None

    def resolve(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class GroupWriter:
    """Does jobs inside transactions, in groups.

    Args:
        path: the store's file.
        owner: in whose name claims are made; its heartbeat is counted while it has any.
        synchronous, busy_timeout_s: as in ``open_database``.
    """

    def __init__(self, path: Path, owner: Owner, *, synchronous: Synchronous, busy_timeout_s: float) -> None:
        self._path = path
        self._owner = owner
        self._synchronous = synchronous
        self._busy_timeout_s = busy_timeout_s
        self._queue: queue.SimpleQueue[list[_Item] | None] = queue.SimpleQueue()
        self._waiting: list[_Item] = []
        self._unwritten: list[Job] = []
        self._thread: threading.Thread | None = None

    async def run(self, job: Job, *, keep: bool = False) -> object:
        """The job's result once its transaction is committed.

        A job goes on when its caller is cancelled: what was handed over is written. ``keep``: a job that fails is
        remembered and tried once more by ``close``, when the disk may have room or the lock be gone.

        Raises:
            StoreError: the transaction could not be made or committed; nothing of it is in the store.
        """
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if not self._waiting:
            future.get_loop().call_soon(self.flush)
        self._waiting.append(_Item(job, future, keep))
        if len(self._waiting) >= EAGER_WRITES:
            self.flush()
        return await future

    def close(self) -> None:
        """Writes what was flushed and tries again what failed, then ends the thread. May be called twice."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def flush(self) -> None:
        """Hands what waits to the thread; to be called in the event loop's thread."""
        if not self._waiting:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="promptpex-store", daemon=True)
            self._thread.start()
        group, self._waiting = self._waiting, []
        self._queue.put(group)

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while (group := self._next_group()) is not None:
            heartbeat = self._owner.heartbeat_is_due()
            if group or heartbeat:
                connection = self._commit(connection, group, heartbeat)
                _resolve(group)
        if connection is not None:
            self._write_unwritten(connection)
            connection.close()

    def _next_group(self) -> list[_Item] | None:
        """All that waits; an empty list after ``HEARTBEAT_S`` without any; None at the end."""
        try:
            group = self._queue.get(timeout=HEARTBEAT_S)
        except queue.Empty:
            return []
        while group is not None and len(group) < MAX_GROUP_WRITES and not self._queue.empty():
            more = self._queue.get_nowait()
            if more is None:
                self._queue.put(None)
                break
            group = group + more
        return group

    def _commit(
        self, connection: sqlite3.Connection | None, group: list[_Item], heartbeat: bool
    ) -> sqlite3.Connection | None:
        """Does a group in one transaction; all of it fails together."""
        try:
            connection = connection or open_database(
                self._path, synchronous=self._synchronous, busy_timeout_s=self._busy_timeout_s
            )
            jobs = [item.job for item in group]
            connection.execute(f"PRAGMA synchronous = {self._synchronous if needs_durability(jobs) else 'normal'}")
            connection.execute("BEGIN IMMEDIATE")
            results = execute(connection, self._owner, jobs)
            if heartbeat:
                self._owner.heartbeat(connection)
            connection.execute("COMMIT")
            self._owner.committed()
            for item, result in zip(group, results, strict=True):
                item.result = result
        except Exception as error:  # whatever it is, those who wait hear of it and the writer goes on
            _roll_back(connection)
            self._fail(group, store_error(self._path, error))
        return connection

    def _fail(self, group: list[_Item], error: StoreError) -> None:
        self._unwritten += [item.job for item in group if item.keep]
        for item in group:
            item.error = error

    def _write_unwritten(self, connection: sqlite3.Connection) -> None:
        if self._unwritten:
            with contextlib.suppress(sqlite3.Error, OSError):
                execute(connection, self._owner, self._unwritten)


def _roll_back(connection: sqlite3.Connection | None) -> None:
    if connection is not None and connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _resolve(group: list[_Item]) -> None:
    """Wakes the waiting coroutines: one call per event loop, not one per item."""
    for loop in {item.future.get_loop() for item in group}:
        items_of_loop = [item for item in group if item.future.get_loop() is loop]
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve_all, items_of_loop)


def _resolve_all(items: list[_Item]) -> None:
    for item in items:
        item.resolve()
