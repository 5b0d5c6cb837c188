"""The store of replies: what a request was answered, kept for good."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptpex.core.errors import StoreDamaged
from promptpex.core.ids import canonical
from promptpex.core.records import Completion, Request
from promptpex.llm.redaction import readable
from promptpex.store.database import FAILURES, Synchronous, named_errors, open_database, store_error
from promptpex.store.leases import Owner
from promptpex.store.operations import Claim, Put, Release, Row
from promptpex.store.useless_replies import useless_replies
from promptpex.store.writer import GroupWriter

ASKED_AT_ONCE = 500
"""Ids in one query of ``get_many``."""

_A_TIME = "typeof(created_at) = 'real' AND created_at BETWEEN 0 AND 2.5e11"
"""SQLite keeps any value in any column, and a store may be a stranger's."""
_PER = """
SELECT CASE typeof({0}) WHEN 'text' THEN {0} ELSE '(unreadable)' END AS name, count(*)
FROM replies GROUP BY name ORDER BY name
"""


@dataclass(frozen=True, slots=True)
class Stats:
    """What a store holds: replies per model, bytes on disk, and when (seconds since 1970) the oldest and the newest
    were stored; times that cannot be are left out."""

    path: str
    replies: int
    models: dict[str, int]
    stages: dict[str, int]
    bytes: int
    oldest: float | None
    newest: float | None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that ``verify`` found: the entry (None = the file as a whole) and what is wrong with it."""

    id: str | None
    what: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored reply. ``request`` is scrubbed of keys; ``created_at`` is in seconds since 1970."""

    id: str
    created_at: float
    request: Request
    completion: Completion


class ReplyStore:
    """Replies by the id of their request, in one SQLite file that several processes may share.

    Reads are done at once in the calling thread (about 10 us); writes go through a thread that commits them in groups
    and return when they are durable. ``synchronous="full"``: a reply survives the death of the process and the loss of
    power. ``"normal"``: the death of the process; a power loss may cost the last replies, never the file.

    Args:
        path: the file; made, with its folder, if missing. It can be read and written by its owner alone.
        clock: seconds since 1970, for ``created_at``.
        monotonic: seconds on a clock that does not jump, to see which other processes live.
        synchronous: SQLite's setting of that name.
        busy_timeout_s: seconds to wait for another process's write.

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
        self._owner = Owner(monotonic)
        self._connection = open_database(self.path, synchronous=synchronous, busy_timeout_s=busy_timeout_s)
        self._writer = GroupWriter(self.path, self._owner, synchronous=synchronous, busy_timeout_s=busy_timeout_s)
        self._closed = False

    def get(self, request_id: str) -> Completion | None:
        """The stored answer to the request of this id."""
        return self.get_many([request_id]).get(request_id)

    def get_many(self, request_ids: Iterable[str]) -> dict[str, Completion]:
        """The stored answers to the requests of these ids; ids without one are left out."""
        wanted = list(dict.fromkeys(request_ids))
        found: dict[str, Completion] = {}
        for at in range(0, len(wanted), ASKED_AT_ONCE):
            some = wanted[at : at + ASKED_AT_ONCE]
            marks = ",".join("?" * len(some))
            with named_errors(self.path):
                rows = self._connection.execute(f"SELECT id, completion FROM replies WHERE id IN ({marks})", some)
                found.update({request_id: self._completion(request_id, text) for request_id, text in rows})
        return found

    async def put(self, request_id: str, request: Request, completion: Completion) -> Completion:
        """Stores an answer; returns once it is durable, with the answer that the store holds.

        The first answer to a question stays: where another process was faster, it is that process's answer. A write
        that fails is tried once more by ``close``.
        """
        if await self._writer.run(Put(self._row(request_id, request, completion)), keep=True):
            return completion
        return self.get(request_id) or completion

    async def replace(self, request_id: str, request: Request, completion: Completion) -> None:
        """Stores an answer in the place of an earlier one; returns once it is durable."""
        row = self._row(request_id, request, completion)

        def job(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)", row)

        await self._writer.run(job, keep=True)

    async def claim(self, request_id: str) -> bool:
        """Whether this process is to ask the question; False when it is answered or another living process asks it."""
        claimed: bool = await self._writer.run(Claim(request_id))
        return claimed

    async def release(self, request_id: str) -> None:
        """Gives a claim back without an answer."""
        await self._writer.run(Release(request_id))

    def stats(self) -> Stats:
        """What the store holds."""
        with named_errors(self.path):
            one = self._connection.execute
            (count,) = one("SELECT count(*) FROM replies").fetchone()
            oldest, newest = one(f"SELECT min(created_at), max(created_at) FROM replies WHERE {_A_TIME}").fetchone()
            return Stats(
                path=str(self.path),
                replies=count,
                models=dict(one(_PER.format("model")).fetchall()),
                stages=dict(one(_PER.format("stage")).fetchall()),
                bytes=sum(each.stat().st_size for each in self._files() if each.exists()),
                oldest=oldest,
                newest=newest,
            )

    def prune(
        self,
        older_than_s: float | None = None,
        *,
        stage: str | None = None,
        model: str | None = None,
        failed: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Deletes the replies that all of these say; how many.

        The space goes back to the disk unless another process is at work in the store.

        Args:
            older_than_s: stored more than so many seconds ago.
            stage, model: of this stage, by this model (its name without parameters).
            failed: of no use: empty, cut off, withheld, or not in the form that was asked for, read as the stage that
                asked reads it; what a repair turn put right stays.
            dry_run: only count them.
        """
        with named_errors(self.path):
            gone = self._chosen(older_than_s, stage, model, failed)
            if dry_run or not gone:
                return len(gone)
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("DELETE FROM replies WHERE id = ?", [(one,) for one in gone])
            self._connection.execute("COMMIT")
            with contextlib.suppress(sqlite3.OperationalError):
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return len(gone)

    def _chosen(self, older_than_s: float | None, stage: str | None, model: str | None, failed: bool) -> list[str]:
        before = None if older_than_s is None else self._clock() - older_than_s
        conditions = {"created_at < ?": before, "stage = ?": stage, "model = ?": model}
        given = {text: value for text, value in conditions.items() if value is not None}
        where = " AND ".join(given) or "1"
        query = f"SELECT id, request, completion FROM replies WHERE {where}"
        rows = self._connection.execute(query, list(given.values()))
        return useless_replies(rows) if failed else [one for one, _, _ in rows]

    def verify(self) -> list[Problem]:
        """What is wrong with the file and its entries; nothing when all is well."""
        problems: list[Problem] = []
        try:
            said = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check")]
            problems += [Problem(None, each) for each in said if each != "ok"]
            for row in self._rows():
                what = _wrong_with(*row)
                if what is not None:
                    problems.append(Problem(str(row[0]), what))
        except FAILURES as error:
            problems.append(Problem(None, str(store_error(self.path, error))))
        return problems

    def entries(self) -> Iterator[Entry]:
        """Every entry, the oldest first, for export."""
        with named_errors(self.path):
            for request_id, created_at, _, request, completion in self._rows():
                try:
                    asked = Request.model_validate(json.loads(request))
                except (ValueError, TypeError, RecursionError) as error:
                    raise self._damaged(request_id) from error
                yield Entry(request_id, created_at, asked, self._completion(request_id, completion))

    def close(self) -> None:
        """Finishes the writes, gives the claims back and closes the file. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        with contextlib.suppress(sqlite3.Error):
            if self._owner.joined:
                self._owner.leave(self._connection)
        self._owner.close()
        self._connection.close()

    def __enter__(self) -> ReplyStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _row(self, request_id: str, request: Request, completion: Completion) -> Row:
        asked, scrubbed = readable(request)
        answer = completion.model_dump_json(exclude_defaults=True)
        return (request_id, request.model, request.stage, self._clock(), int(scrubbed), _text_of(asked), answer)

    def _rows(self) -> Iterator[tuple[str, float, int, str, str]]:
        query = "SELECT id, created_at, scrubbed, request, completion FROM replies ORDER BY created_at, id"
        yield from self._connection.execute(query)

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
        return [self.path, *(self.path.with_name(self.path.name + end) for end in ("-wal", "-shm"))]


def _text_of(plain: dict[str, Any]) -> str:
    """JSON that SQLite can hold: escaped where it has lone surrogates."""
    text = canonical(plain)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return text


def _wrong_with(request_id: str, _: float, scrubbed: int, request: str, completion: str) -> str | None:
    try:
        Completion.model_validate_json(completion)
    except ValidationError:
        return "its answer cannot be read"
    try:
        asked = Request.model_validate(json.loads(request))
    except (ValueError, TypeError, RecursionError):
        return "its request cannot be read"
    if not scrubbed and asked.id != request_id:
        return "its request has another id"
    return None
