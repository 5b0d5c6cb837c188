"""The response store in one SQLite file."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from promptpex.core.errors import StoreDamaged, StoreError, StoreLocked
from promptpex.core.records import Completion, Request
from promptpex.core.response_store import StoreEntry, StoreProblem, StoreStats
from promptpex.llm.redaction import scrubbed_request
from promptpex.store.row_texts import entry_of, request_text, useless_replies, wrong_with
from promptpex.store.sqlite.file import FAILURES, Synchronous, named_errors, open_database, store_error
from promptpex.store.sqlite.writer import Claim, GroupWriter, Owner, Put, Release, Row, insert_new

IDS_PER_QUERY = 500
"""Ids in one query of ``get_many``; SQLite before 3.32 takes 999 at most."""

ENTRIES_PER_PAGE = 200
"""Entries that ``entries`` reads before the event loop has a turn."""

LOCK_POLL_S = 0.02
"""Seconds between two attempts to read while another process keeps the whole file locked."""

_PLAUSIBLE_TIME = "typeof(created_at) = 'real' AND created_at BETWEEN 0 AND 2.5e11"
"""SQLite keeps any value in any column, and the file may be hostile."""
_COUNTS = """
SELECT CASE typeof({0}) WHEN 'text' THEN {0} ELSE '(unreadable)' END AS name, count(*)
FROM replies GROUP BY name ORDER BY name
"""
_ROWS = "SELECT id, created_at, scrubbed, request, completion FROM replies"
_ALL_ROWS = f"{_ROWS} ORDER BY created_at, id"

T = TypeVar("T")
StoredRow = tuple[str, float, int, str, str]
"""A row of ``_ALL_ROWS``."""


class SqliteStore:
    """Replies by the id of their request, in one SQLite file that several processes may share.

    Reads run in the event loop (about 10 us), and wait outside of it while another process locks the file. Writes go
    through a thread that commits them in groups, and return when they are durable. ``stats``, ``prune`` and ``verify``
    run in a thread with a connection of their own. ``synchronous="full"``: a reply survives the death of the process
    and a power loss. ``"normal"``: the death of the process; a power loss may cost the last replies, never the file.

    The methods are documented in ``core.response_store``.

    Args:
        path: the file; made, with its folder, if missing. Only its owner can read and write it.
        clock: seconds since 1970, for ``created_at``.
        monotonic: seconds on a clock that does not jump, to see which other processes live.
        synchronous: SQLite's setting of that name.
        busy_timeout_s: seconds to wait for another process's lock.

    Raises:
        StoreError: the file cannot be made, opened or used, here and from every method.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        synchronous: Synchronous = "full",
        busy_timeout_s: float = 30.0,
    ) -> None:
        self.path = Path(path)
        self._clock = clock
        self._synchronous: Synchronous = synchronous
        self._busy_timeout_s = busy_timeout_s
        self._owner = Owner(monotonic)
        self._connection = self._open()
        self._wait_for_locks(0.0)
        self._writer = GroupWriter(self.path, self._owner, synchronous=synchronous, busy_timeout_s=busy_timeout_s)
        self._closed = False

    async def get(self, request_id: str) -> Completion | None:
        row = await self._read(
            lambda: self._connection.execute("SELECT completion FROM replies WHERE id = ?", (request_id,)).fetchone()
        )
        return None if row is None else self._completion(request_id, row[0])

    async def get_many(self, request_ids: Iterable[str]) -> dict[str, Completion]:
        """The stored replies to the requests of these ids; ids without one are left out."""
        unique_ids = list(dict.fromkeys(request_ids))
        stored: dict[str, Completion] = {}
        for at in range(0, len(unique_ids), IDS_PER_QUERY):
            rows = await self._read(partial(self._rows_of, unique_ids[at : at + IDS_PER_QUERY]))
            stored.update({request_id: self._completion(request_id, text) for request_id, text in rows})
        return stored

    async def put(self, request_id: str, request: Request, completion: Completion) -> Completion:
        """Stores a reply; gives the one that is stored. A write that fails is tried once more by ``close``."""
        if await self._writer.run(Put(self._row(request_id, request, completion)), keep=True):
            return completion
        return await self.get(request_id) or completion

    async def replace(self, request_id: str, request: Request, completion: Completion) -> None:
        """Stores a reply in the place of an earlier one."""
        row = self._row(request_id, request, completion)

        def job(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)", row)

        await self._writer.run(job, keep=True)

    async def claim(self, request_id: str) -> bool:
        return bool(await self._writer.run(Claim(request_id)))

    async def release(self, request_id: str) -> None:
        await self._writer.run(Release(request_id))

    async def stats(self) -> StoreStats:
        return await asyncio.to_thread(self._stats)

    async def prune(
        self,
        older_than_s: float | None = None,
        *,
        stage: str | None = None,
        model: str | None = None,
        failed: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Deletes the replies that meet all of these conditions; how many.

        The space goes back to the disk unless another process is at work in the store.
        """
        before = None if older_than_s is None else self._clock() - older_than_s
        conditions = {"created_at < ?": before, "stage = ?": stage, "model = ?": model}
        conditions_given = {text: value for text, value in conditions.items() if value is not None}
        return await asyncio.to_thread(self._prune, conditions_given, failed, dry_run)

    async def verify(self) -> list[StoreProblem]:
        """What is wrong with the file and its entries; nothing when all is well."""
        return await asyncio.to_thread(self._verify)

    async def entries(self) -> AsyncIterator[StoreEntry]:
        """Every entry, the oldest first."""
        cursor = await self._read(lambda: self._connection.execute(_ALL_ROWS))
        while rows := await self._read(lambda: cursor.fetchmany(ENTRIES_PER_PAGE)):
            for row in rows:
                entry = entry_of(row)
                if entry is None:
                    raise self._damaged(row[0])
                yield entry
            await asyncio.sleep(0)

    async def ids(self, after: str = "", limit: int = IDS_PER_QUERY) -> list[str]:
        query = "SELECT id FROM replies WHERE id > ? AND typeof(id) = 'text' ORDER BY id LIMIT ?"
        rows = await self._read(lambda: self._connection.execute(query, (after, limit)).fetchall())
        return [row[0] for row in rows]

    async def read(self, request_ids: Sequence[str]) -> list[StoreEntry]:
        ids = list(request_ids)
        rows = await self._read(lambda: self._connection.execute(_some(_ROWS, ids), ids).fetchall())
        return [entry for row in rows if (entry := entry_of(row)) is not None]

    async def lacks(self, request_ids: Sequence[str]) -> list[str]:
        ids = list(request_ids)
        query = _some("SELECT id FROM replies", ids)
        stored_ids = {row[0] for row in await self._read(lambda: self._connection.execute(query, ids).fetchall())}
        return [each for each in ids if each not in stored_ids]

    async def add(self, entries: Sequence[StoreEntry]) -> int:
        """Stores entries of another store as they are; gives how many were new."""
        rows = [self._row(each.id, each.request, each.completion, each.created_at, each.scrubbed) for each in entries]
        new = await self._writer.run(lambda connection: insert_new(connection, rows))
        assert isinstance(new, int)
        return new

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writer.flush()
        await asyncio.to_thread(self._end)

    async def __aenter__(self) -> SqliteStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _read(self, query: Callable[[], T]) -> T:
        """What a short query gives; it is tried again while the file is locked, and the event loop goes on."""
        ends: float | None = None
        while True:
            try:
                with named_errors(self.path):
                    return query()
            except StoreLocked:
                ends = ends or time.monotonic() + self._busy_timeout_s
                if time.monotonic() >= ends:
                    raise
                await asyncio.sleep(LOCK_POLL_S)

    def _rows_of(self, ids: list[str]) -> list[tuple[str, str]]:
        marks = ",".join("?" * len(ids))
        return self._connection.execute(f"SELECT id, completion FROM replies WHERE id IN ({marks})", ids).fetchall()

    def _open(self) -> sqlite3.Connection:
        return open_database(self.path, synchronous=self._synchronous, busy_timeout_s=self._busy_timeout_s)

    def _wait_for_locks(self, seconds: float) -> None:
        self._connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def _stats(self) -> StoreStats:
        with named_errors(self.path), contextlib.closing(self._open()) as connection:
            query = connection.execute
            (count,) = query("SELECT count(*) FROM replies").fetchone()
            times = f"SELECT min(created_at), max(created_at) FROM replies WHERE {_PLAUSIBLE_TIME}"
            oldest, newest = query(times).fetchone()
            return StoreStats(
                path=str(self.path),
                replies=count,
                models=dict(query(_COUNTS.format("model")).fetchall()),
                stages=dict(query(_COUNTS.format("stage")).fetchall()),
                bytes=sum(file.stat().st_size for file in self._files() if file.exists()),
                oldest=oldest,
                newest=newest,
            )

    def _prune(self, conditions: dict[str, str | float], failed: bool, dry_run: bool) -> int:
        with named_errors(self.path), contextlib.closing(self._open()) as connection:
            where = " AND ".join(conditions) or "1"
            query = f"SELECT id, request, completion FROM replies WHERE {where}"
            rows = connection.execute(query, list(conditions.values()))
            chosen = useless_replies(rows) if failed else [request_id for request_id, _, _ in rows]
            if dry_run or not chosen:
                return len(chosen)
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("DELETE FROM replies WHERE id = ?", [(request_id,) for request_id in chosen])
            connection.execute("COMMIT")
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return len(chosen)

    def _verify(self) -> list[StoreProblem]:
        problems: list[StoreProblem] = []
        try:
            with contextlib.closing(self._open()) as connection:
                results = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
                problems += [StoreProblem(None, result) for result in results if result != "ok"]
                problems += _broken_entries(connection.execute(_ALL_ROWS))
        except (*FAILURES, StoreError) as error:
            problems.append(StoreProblem(None, str(store_error(self.path, error))))
        return problems

    def _end(self) -> None:
        self._writer.close()
        with contextlib.suppress(sqlite3.Error):
            self._wait_for_locks(self._busy_timeout_s)
            if self._owner.joined:
                self._owner.leave(self._connection)
        self._owner.close()
        self._connection.close()

    def _row(
        self,
        request_id: str,
        request: Request,
        completion: Completion,
        at: float | None = None,
        was_scrubbed: bool = False,
    ) -> Row:
        clean_request, scrubbed = scrubbed_request(request)
        answer = completion.model_dump_json(exclude_defaults=True)
        at, scrubbed = self._clock() if at is None else at, scrubbed or was_scrubbed
        return (request_id, request.model, request.stage, at, int(scrubbed), request_text(clean_request), answer)

    def _completion(self, request_id: str, text: str) -> Completion:
        try:
            return Completion.model_validate_json(text)
        except ValidationError as error:
            raise self._damaged(request_id) from error

    def _damaged(self, request_id: str) -> StoreDamaged:
        return StoreDamaged(
            f"{self.path}: the entry {request_id} cannot be read; `promptpex cache verify` lists all that is damaged."
        )

    def _files(self) -> list[Path]:
        return [self.path, *(self.path.with_name(f"{self.path.name}{end}") for end in ("-wal", "-shm"))]


def _broken_entries(rows: Iterable[StoredRow]) -> Iterator[StoreProblem]:
    for row in rows:
        problem = wrong_with(row[0], row[2], row[3], row[4])
        if problem is not None:
            yield StoreProblem(str(row[0]), problem)


def _some(query: str, ids: Sequence[str]) -> str:
    return f"{query} WHERE id IN ({','.join('?' * len(ids))})"
