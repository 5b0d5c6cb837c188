"""Group commit: one thread writes, and whatever waits when it is free goes into one transaction.

A write is done when its transaction is committed, so durability costs one disk sync per group instead of one per reply.

Python's sqlite3 gives its lock away around every statement and has to wait for it when the event loop is busy; so a
group costs a handful of statements, whatever its size.

No wall clock tells whether the holder of a claim lives, so a clock that jumps frees none: in this process an owner
lives until its store is closed; on the same host its process is looked up by id and start; on another host the count of
its heartbeats (the column ``beat``) has to grow while we watch.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import socket
import sqlite3
import sys
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from promptpex.core.errors import StoreError
from promptpex.store.sqlite.file import Synchronous, open_database, store_error


def host_name() -> str:
    """This host as process ids see it: its name, and on Linux the namespace that the ids belong to."""
    with contextlib.suppress(OSError):
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


@lru_cache(maxsize=1)
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def process_start(pid: int) -> str | None:
    """When a living process of this host started, as text that no later process with its id shares; None if unknown.

    Linux only (proc(5): ``state`` and ``starttime`` are fields 3 and 22 of ``stat``; the boot id tells one boot from
    the next).
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else f"{_boot()}:{fields[19]}"
    except (OSError, IndexError, ValueError):  # the id may be a stranger's
        return None


HEARTBEAT_S = 3.0
"""Seconds between two heartbeats of an owner."""

LEASE_S = 20.0
"""Seconds without a heartbeat after which an owner on another host counts as dead."""

_OPEN_HERE: set[str] = set()
"""The owners of this process's open stores. One whose claims could not be given back, such as on a full disk, is not
among them: its process would speak for it as long as it runs."""

_CLAIM = """
INSERT OR IGNORE INTO claims
SELECT value, ? FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM replies WHERE replies.id = value)
"""


@dataclass
class Owner:
    """This process as a holder of claims in one store."""

    monotonic: Callable[[], float]
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=host_name)
    pid: int = field(default_factory=os.getpid)
    joined: bool = False
    _seen: dict[str, tuple[int, float]] = field(default_factory=dict)
    _last_heartbeat: float = 0.0
    _known: bool = False

    def __post_init__(self) -> None:
        _OPEN_HERE.add(self.name)

    def close(self) -> None:
        _OPEN_HERE.discard(self.name)

    def claim(self, connection: sqlite3.Connection, ids: Sequence[str]) -> set[str]:
        """The questions that are this owner's to ask; not those that are answered or that a living owner has."""
        self._join(connection)
        ids_json = json.dumps(ids)
        if connection.execute(_CLAIM, (self.name, ids_json)).rowcount == len(ids):
            return set(ids)
        answered = among(connection, "SELECT group_concat(id) FROM replies WHERE id IN", ids)
        own_ids = among(connection, f"SELECT group_concat(id) FROM claims WHERE owner = '{self.name}' AND id IN", ids)
        open_ones = [each for each in ids if each not in answered and each not in own_ids]
        return own_ids | {each for each in open_ones if self._take_over(connection, each)}

    def committed(self) -> None:
        self._known = self.joined

    def release(self, connection: sqlite3.Connection, ids: Sequence[str]) -> None:
        query = "DELETE FROM claims WHERE owner = ? AND id IN (SELECT value FROM json_each(?))"
        connection.execute(query, (self.name, json.dumps(ids)))

    def heartbeat_is_due(self) -> bool:
        now = self.monotonic()
        if not self.joined or now - self._last_heartbeat < HEARTBEAT_S:
            return False
        self._last_heartbeat = now
        return True

    def heartbeat(self, connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE owners SET beat = beat + 1 WHERE owner = ?", (self.name,))

    def leave(self, connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM claims WHERE owner = ?", (self.name,))
        connection.execute("DELETE FROM owners WHERE owner = ?", (self.name,))

    def _join(self, connection: sqlite3.Connection) -> None:
        """Makes this owner known, in every transaction that claims until one of them is committed."""
        if self._known:
            return
        if not self.joined:
            for (other,) in connection.execute("SELECT owner FROM owners").fetchall():
                if not self._lives(connection, other):
                    connection.execute("DELETE FROM claims WHERE owner = ?", (other,))
                    connection.execute("DELETE FROM owners WHERE owner = ?", (other,))
        row = (self.name, self.host, self.pid, process_start(self.pid) or "", 0)
        connection.execute("INSERT OR IGNORE INTO owners VALUES (?, ?, ?, ?, ?)", row)
        self.joined = True

    def _take_over(self, connection: sqlite3.Connection, request_id: str) -> bool:
        (holder,) = connection.execute("SELECT owner FROM claims WHERE id = ?", (request_id,)).fetchone()
        if self._lives(connection, holder):
            return False
        connection.execute("UPDATE claims SET owner = ? WHERE id = ?", (self.name, request_id))
        return True

    def _lives(self, connection: sqlite3.Connection, owner: str) -> bool:
        query = "SELECT host, pid, started, beat FROM owners WHERE owner = ?"
        row = connection.execute(query, (owner,)).fetchone()
        if row is None:
            return False
        host, pid, started, heartbeats = row
        if host == self.host and pid == os.getpid():
            return owner in _OPEN_HERE
        if host == self.host and started:
            return process_start(pid) == str(started)
        now = self.monotonic()
        last_count, since = self._seen.get(owner, (None, now))
        if heartbeats != last_count:
            self._seen[owner] = (heartbeats, now)
            return True
        return now - since < LEASE_S


def among(connection: sqlite3.Connection, query: str, ids: Sequence[str]) -> set[str]:
    """The ids of ``ids`` that a query ending in ``IN`` finds: one row, so that the thread gives the lock away once."""
    (joined,) = connection.execute(f"{query} (SELECT value FROM json_each(?))", (json.dumps(ids),)).fetchone()
    return set(joined.split(",")) if joined else set()


Row = tuple[str, str, str, float, int, str, str]
"""A row of the table of replies."""

JOBS_PER_STATEMENT = 400
"""Jobs of a kind that are done together: their ids are one JSON text of some 30 KB."""

ROWS_PER_STATEMENT = (64, 16, 4, 1)
"""Rows in one statement: few sizes, each of which SQLite parses only once."""


_CHANGES = "SELECT total_changes()"


@dataclass(frozen=True, slots=True)
class Put:
    """Store a reply, and end the claim on it. Gives whether it is stored: not if an earlier one is there."""

    row: Row


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim a question. Gives whether it is claimed."""

    id: str


@dataclass(frozen=True, slots=True)
class Release:
    """Give a claim back."""

    id: str


Job = Put | Claim | Release | Callable[[sqlite3.Connection], object]


def execute(connection: sqlite3.Connection, owner: Owner, jobs: Sequence[Job]) -> list[object]:
    """Does all of ``jobs`` and gives their results, in their order."""
    results: dict[int, object] = {}
    for kind, do in ((Put, _put), (Release, _release), (Claim, _claim)):
        numbers = [number for number, job in enumerate(jobs) if isinstance(job, kind)]
        for at in range(0, len(numbers), JOBS_PER_STATEMENT):
            job_numbers = numbers[at : at + JOBS_PER_STATEMENT]
            results.update(
                zip(job_numbers, do(connection, owner, [jobs[number] for number in job_numbers]), strict=True)
            )
    for number, job in enumerate(jobs):
        if not isinstance(job, Put | Claim | Release):
            results[number] = job(connection)
    return [results[number] for number in range(len(jobs))]


def _put(connection: sqlite3.Connection, owner: Owner, jobs: Sequence[Any]) -> list[bool]:
    rows: dict[str, Row] = {}
    for job in jobs:
        rows.setdefault(job.row[0], job.row)
    rows_json = json.dumps(list(rows))
    added = insert_new(connection, list(rows.values()))
    connection.execute("DELETE FROM claims WHERE id IN (SELECT value FROM json_each(?))", (rows_json,))
    if added == len(jobs):
        return [True] * len(jobs)
    return [job.row is rows[job.row[0]] and _holds(connection, job.row) for job in jobs]


def insert_new(connection: sqlite3.Connection, rows: Sequence[Row]) -> int:
    """Inserts the rows whose ids are not there, many to a statement, in a few sizes that SQLite has to parse only once;
    how many that were."""
    before: int = connection.execute(_CHANGES).fetchone()[0]
    at = 0
    for size in ROWS_PER_STATEMENT:
        query = "INSERT OR IGNORE INTO replies VALUES " + ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * size)
        while len(rows) - at >= size:
            connection.execute(query, [value for row in rows[at : at + size] for value in row])
            at += size
    return int(connection.execute(_CHANGES).fetchone()[0]) - before


def _holds(connection: sqlite3.Connection, row: Row) -> bool:
    (answer,) = connection.execute("SELECT completion FROM replies WHERE id = ?", (row[0],)).fetchone()
    return bool(answer == row[-1])


def _release(connection: sqlite3.Connection, owner: Owner, jobs: Sequence[Any]) -> list[None]:
    owner.release(connection, [job.id for job in jobs])
    return [None] * len(jobs)


def _claim(connection: sqlite3.Connection, owner: Owner, jobs: Sequence[Any]) -> list[bool]:
    claimed = owner.claim(connection, list(dict.fromkeys(job.id for job in jobs)))
    return [job.id in claimed for job in jobs]


def needs_durability(jobs: Sequence[Job]) -> bool:
    """Whether a group has to outlive a loss of power: claims need not, they die with their process."""
    return not all(isinstance(job, Claim | Release) for job in jobs)


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
    for loop in {item.future.get_loop() for item in group}:
        items_of_loop = [item for item in group if item.future.get_loop() is loop]
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve_all, items_of_loop)


def _resolve_all(items: list[_Item]) -> None:
    for item in items:
        item.resolve()
