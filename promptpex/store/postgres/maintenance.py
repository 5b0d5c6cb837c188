"""What a store on a server holds: counted, verified, pruned, and read from one end to the other in bounded memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString

from pydantic import ValidationError

from promptpex.core.errors import StoreDamaged
from promptpex.core.records import Completion, Request
from promptpex.core.response_store import StoreEntry, StoreProblem, StoreStats
from promptpex.store.postgres import statements
from promptpex.store.postgres.rows import name_bytes
from promptpex.store.postgres.statements import filled
from promptpex.store.row_texts import wrong_with
from promptpex.store.unusable_replies import UselessReplies

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    from promptpex.core.postgres_address import StoreAddress

    Connection = AsyncConnection[Any]

ROWS_PER_FETCH = 100
"""Entries that are fetched at a time."""

StoredRow = tuple[str, float, bool, bytes, bytes]


@dataclass(frozen=True, slots=True)
class PrunedReplies:
    """Which replies are pruned: those that meet all conditions that are given.

    Attributes:
        before: stored before this time, in seconds since 1970.
        stage, model: of this stage, by this model.
        failed: of no use.
    """

    before: float | None
    stage: str | None
    model: str | None
    failed: bool

    def where(self) -> tuple[LiteralString, list[object]]:
        """The conditions that the server checks, and their values."""
        parts: list[LiteralString] = []
        values: list[object] = []
        if self.before is not None:
            parts.append("created_at < %b::float8")
            values.append(self.before)
        if self.stage is not None:
            parts.append("stage = %b::bytea")
            values.append(name_bytes(self.stage))
        if self.model is not None:
            parts.append("model = %b::bytea")
            values.append(name_bytes(self.model))
        return " AND ".join(parts) or "true", values


async def stats(connection: Connection, address: StoreAddress) -> StoreStats:
    """What the store holds; see ``core.response_store``."""
    async with connection.transaction():
        table = filled("{s}.replies", address.schema)
        cursor = await connection.execute(filled(statements.TOTALS, address.schema), (table,))
        totals = await cursor.fetchone()
        assert totals is not None
        replies, oldest, newest, size = totals
        return StoreStats(
            path=address.text,
            replies=replies,
            models=await _counts(connection, address, "model"),
            stages=await _counts(connection, address, "stage"),
            bytes=size,
            oldest=oldest,
            newest=newest,
        )


async def _counts(connection: Connection, address: StoreAddress, column: LiteralString) -> dict[str, int]:
    cursor = await connection.execute(filled(statements.COUNTS.replace("{column}", column), address.schema))
    counts = {bytes(name).decode("utf-8", "replace"): count for name, count in await cursor.fetchall()}
    return dict(sorted(counts.items()))


async def prune(connection: Connection, address: StoreAddress, chosen: PrunedReplies, *, dry_run: bool) -> int:
    """Deletes replies, in one transaction; how many."""
    where, values = chosen.where()
    async with connection.transaction():
        if chosen.failed:
            useless = UselessReplies()
            async with _rows(connection, address, where, values) as rows:
                async for request_id, _, _, request, completion in rows:
                    useless.add(request_id, request, completion)
            ids = useless.ids()
            for at in range(0, 0 if dry_run else len(ids), 1000):
                await connection.execute(filled(statements.DELETE, address.schema), (ids[at : at + 1000],))
            return len(ids)
        begin: LiteralString = "SELECT count(*)" if dry_run else "DELETE"
        cursor = await connection.execute(filled(f"{begin} FROM {{s}}.replies WHERE {where}", address.schema), values)
        row = await cursor.fetchone() if dry_run else None
        return cursor.rowcount if row is None else int(row[0])


async def verify(connection: Connection, address: StoreAddress) -> list[StoreProblem]:
    """What is wrong with the entries."""
    problems = []
    async with connection.transaction(), _rows(connection, address, "true", ()) as rows:
        async for request_id, _, scrubbed, request, completion in rows:
            wrong = wrong_with(request_id, scrubbed, request, completion)
            if wrong is not None:
                problems.append(StoreProblem(request_id, wrong))
    return problems


async def entries(connection: Connection, address: StoreAddress) -> AsyncIterator[StoreEntry]:
    """Every entry, the oldest first."""
    async with connection.transaction(), _rows(connection, address, "true", (), "ORDER BY created_at, id") as rows:
        async for row in rows:
            entry = entry_of(row)
            if entry is None:
                raise StoreDamaged(
                    f"{address.text}: the entry {row[0]} cannot be read; `promptpex cache verify` lists all that is "
                    "damaged."
                )
            yield entry


async def ids(connection: Connection, address: StoreAddress, after: str, limit: int) -> list[str]:
    """The next ids, in their order."""
    cursor = await connection.execute(filled(statements.IDS, address.schema), (after, limit))
    return [row[0] for row in await cursor.fetchall()]


async def read(connection: Connection, address: StoreAddress, request_ids: Sequence[str]) -> list[StoreEntry]:
    """The entries of these ids that are there and can be read."""
    cursor = connection.cursor(binary=True)
    await cursor.execute(filled(f"{statements.ROWS} WHERE id = ANY(%b::text[])", address.schema), (list(request_ids),))
    return [entry for row in await cursor.fetchall() if (entry := entry_of(row)) is not None]


async def there(connection: Connection, address: StoreAddress, request_ids: Sequence[str]) -> set[str]:
    """Those of these ids that have an entry."""
    cursor = await connection.execute(filled(statements.THERE, address.schema), (list(request_ids),))
    return {row[0] for row in await cursor.fetchall()}


def entry_of(row: StoredRow) -> StoreEntry | None:
    """An entry; None where it cannot be read."""
    request_id, created_at, scrubbed, request, completion = row
    try:
        request_record = Request.model_validate(json.loads(request))
        return StoreEntry(request_id, created_at, request_record, Completion.model_validate_json(completion), scrubbed)
    except (ValidationError, ValueError, TypeError, RecursionError):
        return None


@asynccontextmanager
async def _rows(
    connection: Connection, address: StoreAddress, where: LiteralString, values: Sequence[object], order: str = ""
) -> AsyncIterator[AsyncGenerator[StoredRow, None]]:
    """The rows under a condition, through a cursor on the server; inside of a transaction."""

    async def each() -> AsyncGenerator[StoredRow, None]:
        async with connection.cursor("promptpex_rows", binary=True) as cursor:
            await cursor.execute(filled(f"{statements.ROWS} WHERE {where} {order}", address.schema), values)
            while rows := await cursor.fetchmany(ROWS_PER_FETCH):
                for row in rows:
                    yield row
                await asyncio.sleep(0)

    rows = each()
    try:
        yield rows
    finally:
        await rows.aclose()
