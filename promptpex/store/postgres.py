"""The response store on a PostgreSQL server, which processes on many machines may share; the home of psycopg.

A store has one connection. Claims are advisory locks of it (PostgreSQL, 9.28.10): the server gives them back when the
connection ends, however its process ended. What tasks ask at the same time goes to the server together.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

from pydantic import ValidationError

from promptpex.codecs.text.control_characters import visible
from promptpex.core.errors import ConfigError, StoreDamaged, StoreError, StoreRefused
from promptpex.core.records import Completion, Request
from promptpex.core.response_store import StoreEntry, StoreProblem, StoreStats
from promptpex.core.store_address import StoreAddress, parse_address
from promptpex.llm.redaction import scrubbed_request
from promptpex.store.postgres_errors import Batches, named_errors
from promptpex.store.row_texts import UselessReplies, entry_of, request_text, wrong_with

if TYPE_CHECKING:
    from psycopg import AsyncConnection

IDS_PER_QUERY = 500
"""Ids in one query."""

REPLIES_PER_GROUP = 256
BYTES_PER_GROUP = 16 * 1024 * 1024
"""About so much goes into one transaction."""

ROWS_PER_PAGE = 100
"""Entries in memory at a time."""

LOCK = 0x70707831
"""The advisory lock under which the tables are made: two numbers, this one and the hash of the schema's name."""

DEFAULTS = {
    "connect_timeout": "10",
    "tcp_user_timeout": "30000",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "application_name": "promptpex",
}
"""libpq's parameters where the address does not give them: a network that swallows everything is noticed in 30 s."""

SESSION = """
SELECT set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false),
    set_config('default_transaction_isolation', 'read committed', false),
    CASE WHEN current_setting('idle_session_timeout', true) <> '0'
        THEN set_config('idle_session_timeout', '0', false) END,
    CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END
"""
"""What is relied on, whatever the database's own settings say: the server notices a machine that is gone, and gives its
claims back; a commit waits for the disk."""

VERSION = 2
TABLES: tuple[LiteralString, ...] = (
    "CREATE TABLE {s}.about (name text PRIMARY KEY, value text)",
    "INSERT INTO {s}.about VALUES ('program', 'promptpex'), ('version', '2')",
    """CREATE TABLE {s}.replies (
        id text COLLATE "C" PRIMARY KEY,
        model bytea NOT NULL,
        stage bytea NOT NULL,
        created_at double precision NOT NULL,
        scrubbed boolean NOT NULL,
        request bytea NOT NULL,
        completion bytea NOT NULL)""",
    "CREATE INDEX replies_by_age ON {s}.replies (created_at, id)",
)
"""Texts of models and people are bytes (UTF-8): PostgreSQL's own type holds neither the character 0 nor half a
character, and its encoding is the database's."""

FROM_1: tuple[LiteralString, ...] = (
    "DROP TABLE IF EXISTS {s}.owners, {s}.claims",
    "UPDATE {s}.about SET value = '2' WHERE name = 'version'",
)
"""Version 1 kept claims in tables."""

STATE = """
SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %(schema)s),
    EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = %(schema)s AND c.relname = 'about' AND c.relkind = 'r'),
    EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s)
"""

INSERT = """
INSERT INTO {s}.replies (id, model, stage, created_at, scrubbed, request, completion)
SELECT * FROM unnest(%b::text[], %b::bytea[], %b::bytea[], %b::float8[], %b::bool[], %b::bytea[], %b::bytea[])
"""
PUT = f"{INSERT} ON CONFLICT (id) DO NOTHING RETURNING id"
"""The first reply to a request stays."""
REPLACE = f"""{INSERT} ON CONFLICT (id) DO UPDATE SET model = excluded.model, stage = excluded.stage,
    created_at = excluded.created_at, scrubbed = excluded.scrubbed, request = excluded.request,
    completion = excluded.completion"""
GET = "SELECT id, completion FROM {s}.replies WHERE id = ANY(%b::text[])"
THERE = "SELECT id FROM {s}.replies WHERE id = ANY(%b::text[])"
READ = "SELECT id, created_at, scrubbed, request, completion FROM {s}.replies WHERE id = ANY(%b::text[])"
DELETE = "DELETE FROM {s}.replies WHERE id = ANY(%b::text[])"
IDS = "SELECT id FROM {s}.replies WHERE id > %b ORDER BY id LIMIT %b"
CHOSEN = """(%b::float8 IS NULL OR created_at < %b::float8) AND (%b::bytea IS NULL OR stage = %b::bytea)
    AND (%b::bytea IS NULL OR model = %b::bytea)"""
PAGE = f"""
SELECT id, created_at, scrubbed, request, completion FROM {{s}}.replies
WHERE {CHOSEN} AND (created_at, id) > (%b::float8, %b::text) ORDER BY created_at, id LIMIT {ROWS_PER_PAGE}
"""
COUNTS = "SELECT {column}, count(*) FROM {s}.replies GROUP BY 1"
TOTALS = """
SELECT count(*), min(created_at) FILTER (WHERE created_at BETWEEN 0 AND 2.5e11),
    max(created_at) FILTER (WHERE created_at BETWEEN 0 AND 2.5e11), pg_total_relation_size(%s::regclass)
FROM {s}.replies
"""
LOCKED = "SELECT key FROM unnest(%b::bigint[]) AS wanted (key) WHERE pg_try_advisory_lock(key)"
UNLOCKED = "SELECT coalesce(bool_and(pg_advisory_unlock(key)), true) FROM unnest(%b::bigint[]) AS held (key)"

Row = tuple[str, bytes, bytes, float, bool, bytes, bytes]
"""Of the table of replies."""
T = TypeVar("T")


async def open_at(address: str, *, make: bool = True, clock: Callable[[], float] = time.time) -> PostgresStore:
    """The store at an address; see ``open_store``."""
    parsed = parse_address(address)
    connection = await _connect(parsed)
    try:
        with named_errors(parsed):
            await _prepare(connection, parsed, make=make)
    except BaseException:
        await connection.close()
        raise
    return PostgresStore(parsed, connection, clock)


class PostgresStore:
    """Replies by the id of their request, in a schema of a PostgreSQL database.

    To be made by ``open_at``, and used in that event loop. The methods are documented in ``core.response_store``.
    Where the server goes away, every method raises ``StoreUnreachable``; what was committed is kept.
    """

    def __init__(self, address: StoreAddress, connection: AsyncConnection[Any], clock: Callable[[], float]) -> None:
        self.address = address
        self._connection, self._clock = connection, clock
        self._turn = asyncio.Lock()
        self._claimed = set[str]()
        self._closed = False
        self._puts: Batches[tuple[Row, bool], bool] = Batches(
            self._put_group,
            most=REPLIES_PER_GROUP,
            size=lambda job: len(job[0][5]) + len(job[0][6]),
            most_size=BYTES_PER_GROUP,
        )
        self._claims: Batches[str, bool] = Batches(self._claim_group, most=IDS_PER_QUERY)
        self._gets: Batches[str, Completion | None] = Batches(self._get_group, most=IDS_PER_QUERY)

    async def get(self, request_id: str) -> Completion | None:
        return await self._gets.run(request_id)

    async def get_many(self, request_ids: Iterable[str]) -> dict[str, Completion]:
        ids = list(dict.fromkeys(request_ids))
        replies = await asyncio.gather(*map(self.get, ids))
        return {request_id: reply for request_id, reply in zip(ids, replies, strict=True) if reply is not None}

    async def put(self, request_id: str, request: Request, completion: Completion) -> Completion:
        if await self._puts.run((_row(request_id, request, completion, self._clock()), False)):
            return completion
        return await self.get(request_id) or completion

    async def replace(self, request_id: str, request: Request, completion: Completion) -> None:
        await self._puts.run((_row(request_id, request, completion, self._clock()), True))

    async def claim(self, request_id: str) -> bool:
        return await self._claims.run(request_id)

    async def release(self, request_id: str) -> None:
        await self._do(lambda: self._unlock([request_id]))

    async def stats(self) -> StoreStats:
        replies, oldest, newest, size = (await self._rows(TOTALS, self._filled("{s}.replies")))[0]
        counts = [await self._rows(COUNTS.replace("{column}", column)) for column in ("model", "stage")]
        models, stages = (
            dict(sorted((bytes(name).decode("utf-8", "replace"), count) for name, count in rows)) for rows in counts
        )
        return StoreStats(self.address.text, replies, models, stages, size, oldest, newest)

    async def prune(
        self,
        older_than_s: float | None = None,
        *,
        stage: str | None = None,
        model: str | None = None,
        failed: bool = False,
        dry_run: bool = False,
    ) -> int:
        before = None if older_than_s is None else self._clock() - older_than_s
        chosen = _chosen(before, stage, model)
        if not failed:
            if dry_run:
                return int((await self._rows(f"SELECT count(*) FROM {{s}}.replies WHERE {CHOSEN}", *chosen))[0][0])
            return len(await self._rows(f"DELETE FROM {{s}}.replies WHERE {CHOSEN} RETURNING true", *chosen))
        useless = UselessReplies()
        async for request_id, _, _, request, completion in self._pages(chosen):
            useless.add(request_id, request, completion)
        ids = useless.ids()
        for at in range(0, 0 if dry_run else len(ids), IDS_PER_QUERY):
            await self._rows(f"{DELETE} RETURNING true", ids[at : at + IDS_PER_QUERY])
        return len(ids)

    async def verify(self) -> list[StoreProblem]:
        problems = []
        try:
            async for request_id, _, scrubbed, request, completion in self._pages(_chosen()):
                if wrong := wrong_with(request_id, scrubbed, request, completion):
                    problems.append(StoreProblem(request_id, wrong))
        except StoreError as error:
            problems.append(StoreProblem(None, str(error)))
        return problems

    async def entries(self) -> AsyncIterator[StoreEntry]:
        async for row in self._pages(_chosen()):
            entry = entry_of(row)
            if entry is None:
                raise StoreDamaged(_unreadable(self.address, row[0]))
            yield entry

    async def ids(self, after: str = "", limit: int = IDS_PER_QUERY) -> list[str]:
        return [row[0] for row in await self._rows(IDS, after, limit)]

    async def read(self, request_ids: Sequence[str]) -> list[StoreEntry]:
        return [entry for row in await self._rows(READ, list(request_ids)) if (entry := entry_of(row)) is not None]

    async def lacks(self, request_ids: Sequence[str]) -> list[str]:
        there = {row[0] for row in await self._rows(THERE, list(request_ids))}
        return [each for each in request_ids if each not in there]

    async def add(self, entries: Sequence[StoreEntry]) -> int:
        rows = [
            _row(each.id, each.request, each.completion, each.created_at, scrubbed=each.scrubbed) for each in entries
        ]
        return len(await self._rows(PUT, *_columns(rows)))

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            for batches in (self._puts, self._claims, self._gets):
                await batches.drained()
            await self._connection.close()

    async def __aenter__(self) -> PostgresStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _filled(self, statement: LiteralString) -> LiteralString:
        return filled(statement, self.address.schema)

    async def _do(self, job: Callable[[], Awaitable[T]]) -> T:
        async with self._turn:
            with named_errors(self.address):
                return await job()

    async def _rows(self, statement: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        return await self._do(lambda: self._fetched(statement, *values))

    async def _fetched(self, statement: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        cursor = self._connection.cursor(binary=True)
        await cursor.execute(self._filled(statement), values)
        return await cursor.fetchall()

    async def _pages(self, chosen: Sequence[object]) -> AsyncIterator[tuple[str, float, bool, bytes, bytes]]:
        after: tuple[float, str] = (float("-inf"), "")
        while rows := await self._rows(PAGE, *chosen, *after):
            for row in rows:
                yield row
            after = (rows[-1][1], rows[-1][0])

    async def _get_group(self, ids: Sequence[str]) -> list[Completion | None]:
        rows = dict(await self._rows(GET, sorted(set(ids))))
        return [_completion(self.address, each, rows[each]) if each in rows else None for each in ids]

    async def _put_group(self, jobs: Sequence[tuple[Row, bool]]) -> list[bool]:
        """Whether each of these is stored: not if an earlier one is there."""
        first = {row[0]: row for row, replaces in reversed(jobs) if not replaces}
        replaced = {row[0]: row for row, replaces in jobs if replaces}

        async def commit() -> set[str]:
            async with self._connection.transaction():
                new = await self._fetched(PUT, *_columns(first.values())) if first else []
                if replaced:
                    await self._fetched(f"{REPLACE} RETURNING id", *_columns(replaced.values()))
            await self._unlock([*first, *replaced])
            return {row[0] for row in new}

        new = await self._do(commit)
        return [replaces or (row[0] in new and row is first[row[0]]) for row, replaces in jobs]

    async def _claim_group(self, ids: Sequence[str]) -> list[bool]:
        """Whether each of these is this store's to ask. The replies are looked at when the locks are held: a reply is
        committed before its lock is given back."""
        keys = {self._key(each): each for each in ids if each not in self._claimed}

        async def lock() -> None:
            locked = {keys[key] for (key,) in await self._fetched(LOCKED, list(keys))}
            self._claimed |= locked
            await self._unlock([row[0] for row in await self._fetched(THERE, sorted(locked))])

        if keys:
            await self._do(lock)
        return [each in self._claimed for each in ids]

    async def _unlock(self, ids: Sequence[str]) -> None:
        """Gives back those of these claims that are this store's.

        Raises:
            StoreRefused: they are not this connection's, which a pooler has changed.
        """
        held = self._claimed.intersection(ids)
        if not held:
            return
        self._claimed -= held
        ((were_ours,),) = await self._fetched(UNLOCKED, [self._key(each) for each in sorted(held)])
        if not were_ours:
            raise StoreRefused(
                f"{self.address.text}: a pooler changes the connection between transactions. Name the server itself, "
                "or set the pooler to sessions (pgbouncer: pool_mode = session)."
            )

    def _key(self, request_id: str) -> int:
        text = f"{self.address.schema}\0{request_id}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "big", signed=True)


async def _connect(address: StoreAddress) -> AsyncConnection[Any]:
    """A connection.

    Raises:
        StoreError: the server cannot be reached, or does not let the user in.
        ConfigError: psycopg or libpq is not installed, or cannot work in this event loop.
    """
    if "Proactor" in type(asyncio.get_running_loop()).__name__:
        raise ConfigError("psycopg does not work with Python's event loop on Windows; use WSL, or a file")
    try:
        import psycopg
        from psycopg.conninfo import make_conninfo
    except ImportError:
        raise ConfigError("a store on a PostgreSQL server needs psycopg: pip install 'promptpex[postgres]'") from None
    with named_errors(address):
        parameters = {**DEFAULTS, **address.parameters, "client_encoding": "utf8"}
        connection = await psycopg.AsyncConnection.connect(
            make_conninfo(**parameters), autocommit=True, prepare_threshold=None
        )
        await connection.execute(SESSION)
        return connection


async def _prepare(connection: AsyncConnection[Any], address: StoreAddress, *, make: bool) -> None:
    """Makes the tables or brings them forward where that is needed, and tries what will be asked of them.

    Raises:
        StoreError: there is none, another program's tables are in the way, it is newer, cannot be written, or rights
            are missing.
    """
    async with connection.transaction():
        has_schema, is_store, is_used = await _state(connection, address)
        if not is_store and not make:
            raise StoreError(
                f"{address.text}: no store here yet; the first run creates it, or name another with --store"
            )
        if not is_store or await _version(connection, address) < VERSION:
            await connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (LOCK, address.schema))
            has_schema, is_store, is_used = await _state(connection, address)
            if is_used and not is_store:
                raise StoreDamaged(_of_another_program(address))
            steps = FROM_1 if is_store else TABLES if has_schema else ("CREATE SCHEMA {s}", *TABLES)
            for statement in steps:
                await connection.execute(filled(statement, address.schema))
        cursor = connection.cursor(binary=True)
        for statement in (PUT, REPLACE):
            await cursor.execute(filled(statement, address.schema), _columns([]))
        for statement in (READ, DELETE):
            await cursor.execute(filled(statement, address.schema), ([],))


async def _state(connection: AsyncConnection[Any], address: StoreAddress) -> tuple[bool, bool, bool]:
    """Whether there is the schema, whether it may be a store, and whether there is anything in it."""
    row = await (await connection.execute(STATE, {"schema": address.schema})).fetchone()
    assert row is not None
    has_schema, is_store, is_used = row
    return has_schema, is_store, is_used


async def _version(connection: AsyncConnection[Any], address: StoreAddress) -> int:
    """The version of a store's tables.

    Raises:
        StoreError: it is newer, or none of ours.
    """
    cursor = await connection.execute(filled("SELECT name, value FROM {s}.about", address.schema))
    values = {str(name): str(value) for name, value in await cursor.fetchall()}
    version = values.get("version", "")
    if values.get("program") != "promptpex" or not (version.isascii() and version.isdecimal() and len(version) < 9):
        raise StoreDamaged(_of_another_program(address))
    if int(version) > VERSION:
        raise StoreError(
            f"{address.text}: the store was made by a newer promptpex; update promptpex or name another store."
        )
    return int(version)


def _of_another_program(address: StoreAddress) -> str:
    return (
        f"{address.text}: the schema {visible(address.schema)} contains something other than a promptpex store; it was "
        "left unchanged. Name another schema with ?schema=NAME."
    )


def _unreadable(address: StoreAddress, request_id: str) -> str:
    return f"{address.text}: the entry {request_id} cannot be read; `promptpex cache verify` lists all that is damaged."


def filled(statement: LiteralString, schema: str) -> LiteralString:
    """A statement with the schema in its place, quoted. It is not a value that the server could be given apart."""
    quoted = '"' + schema.replace('"', '""') + '"'
    return statement.replace("{s}", quoted)


def _row(request_id: str, request: Request, completion: Completion, at: float, *, scrubbed: bool = False) -> Row:
    """The row of a reply that came ``at``; ``scrubbed``: whether the request has lost a key before."""
    clean_request, cleaned = scrubbed_request(request)
    return (
        request_id,
        _name(request.model),
        _name(request.stage),
        at,
        scrubbed or cleaned,
        request_text(clean_request).encode(),
        completion.model_dump_json(exclude_defaults=True).encode(),
    )


def _name(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _columns(rows: Iterable[Row]) -> tuple[list[Any], ...]:
    """Rows as arrays, in the order of their ids, so that two transactions lock them in the same one."""
    ordered = sorted(rows)
    return tuple([row[at] for row in ordered] for at in range(7))


def _chosen(before: float | None = None, stage: str | None = None, model: str | None = None) -> list[object]:
    names = [None if name is None else _name(name) for name in (stage, model)]
    return [value for value in (before, *names) for _ in range(2)]


def _completion(address: StoreAddress, request_id: str, completion: bytes) -> Completion:
    try:
        return Completion.model_validate_json(completion)
    except ValidationError as error:
        raise StoreDamaged(_unreadable(address, request_id)) from error
