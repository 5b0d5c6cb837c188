"""The store's tables: how they are made, by whomever comes first, and brought to the version of this promptpex.

They stand in a schema of their own, so that a database that is used for other things keeps them. Every version is a
list of statements that makes it from the one before; a store of a newer promptpex is refused.
"""

from __future__ import annotations

import re
import secrets
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString

from promptpex.codecs.text.control_characters import visible
from promptpex.core.errors import StoreDamaged, StoreError, StoreReadOnly, StoreRefused
from promptpex.store.postgres.statements import filled

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    from promptpex.core.postgres_address import StoreAddress

LOCK = 0x70707831
"""The advisory lock under which the tables are made: two numbers, this one and the hash of the schema's name."""

Step = tuple[str, ...]

STEPS: tuple[Step, ...] = (
    (
        """CREATE TABLE {s}.replies (
            id text COLLATE "C" PRIMARY KEY,
            model bytea NOT NULL,
            stage bytea NOT NULL,
            created_at double precision NOT NULL,
            scrubbed boolean NOT NULL,
            request bytea NOT NULL,
            completion bytea NOT NULL)""",
        "CREATE INDEX replies_by_age ON {s}.replies (created_at, id)",
        """CREATE TABLE {s}.owners (
            owner text COLLATE "C" PRIMARY KEY,
            host text NOT NULL,
            pid bigint NOT NULL,
            started text NOT NULL,
            expires timestamptz NOT NULL)""",
        'CREATE TABLE {s}.claims (id text COLLATE "C" PRIMARY KEY, owner text COLLATE "C" NOT NULL)',
    ),
)
"""The statements of each version, from the first. Texts of models and people are bytes (UTF-8): PostgreSQL's own type
holds neither the character 0 nor half a character, and its encoding is the database's."""

_STATE = """
SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
    EXISTS (SELECT FROM pg_namespace WHERE nspname = %(schema)s),
    EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = %(schema)s AND c.relname = 'about' AND c.relkind = 'r'),
    EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s)
"""
_COLUMNS = """
SELECT c.relname || '.' || a.attname, format_type(a.atttypid, NULL) || CASE WHEN EXISTS (
    SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
        AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum) THEN ' unique' ELSE '' END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE n.nspname = %(schema)s AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
"""
COLUMNS = {
    "replies.id": "text unique",
    "replies.model": "bytea",
    "replies.stage": "bytea",
    "replies.created_at": "double precision",
    "replies.scrubbed": "boolean",
    "replies.request": "bytea",
    "replies.completion": "bytea",
    "owners.owner": "text unique",
    "owners.host": "text",
    "owners.pid": "bigint",
    "owners.started": "text",
    "owners.expires": "timestamp with time zone",
    "claims.id": "text unique",
    "claims.owner": "text",
}
"""What the statements rely on: columns with their types, and of which no two rows may have the same value."""
_RIGHTS = """
SELECT bool_and(has_table_privilege(format('%%I.%%I', %(schema)s::text, name), rights))
FROM (VALUES ('replies', 'SELECT'), ('replies', 'INSERT'), ('replies', 'UPDATE'), ('replies', 'DELETE'),
    ('owners', 'SELECT'), ('owners', 'INSERT'), ('owners', 'UPDATE'), ('owners', 'DELETE'),
    ('claims', 'SELECT'), ('claims', 'INSERT'), ('claims', 'UPDATE'), ('claims', 'DELETE')) AS needed (name, rights)
"""


@dataclass(frozen=True, slots=True)
class About:
    """What a store says of itself.

    Attributes:
        version: of its tables.
        store: its id, drawn when it was made.
        secret: what only those who may use the store know; it vouches for spooled replies.
    """

    version: int
    store: str
    secret: bytes


async def prepare(
    connection: AsyncConnection[Any], address: StoreAddress, *, make: bool, steps: tuple[Step, ...] = STEPS
) -> About:
    """Makes the tables or brings them forward where that is needed, and says what the store is.

    Args:
        connection: in autocommit mode.
        make: whether a store that is not there is made.
        steps: the statements of each version.

    Raises:
        StoreError: there is none, another program's tables are in the way, it is newer, cannot be written, or rights
            are missing.
    """
    read_only, has_schema, is_store, is_used = await _row(connection, _STATE, {"schema": address.schema})
    if read_only:
        raise StoreReadOnly(
            f"{address.text}: the server accepts no writes (a standby, or read-only). Name the primary, such as with "
            "target_session_attrs=read-write."
        )
    about = await _about(connection, address, len(steps)) if is_store else None
    if about is None and not make:
        raise StoreError(f"{address.text}: no store here yet; the first run creates it, or name another with --store")
    if about is None or about.version < len(steps):
        about = await _make(connection, address, steps, has_schema=has_schema, is_used=is_used and not is_store)
    await _require_columns(connection, address)
    (allowed,) = await _row(connection, _RIGHTS, {"schema": address.schema})
    if not allowed:
        raise StoreRefused(
            f"{address.text}: you may not read and write all tables in the schema {visible(address.schema)}. Its owner "
            "can grant it; docs/store.md has the SQL."
        )
    return about


async def _require_columns(connection: AsyncConnection[Any], address: StoreAddress) -> None:
    """Refuses tables that somebody has changed before anything is asked that they could not take."""
    cursor = await connection.execute(_COLUMNS, {"schema": address.schema})
    columns_present = dict(await cursor.fetchall())
    odd = next((name for name, kind in COLUMNS.items() if columns_present.get(name) != kind), None)
    if odd is not None:
        raise StoreDamaged(
            f"{address.text}: the tables in the schema {visible(address.schema)} are not those of a promptpex store: "
            f"{odd} should be {COLUMNS[odd]}. Restore it from a backup, or name another schema with ?schema=NAME."
        )


async def _make(
    connection: AsyncConnection[Any], address: StoreAddress, steps: tuple[Step, ...], *, has_schema: bool, is_used: bool
) -> About:
    """Makes what is missing, one process at a time."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (LOCK, address.schema))
        _, has_schema, is_store, is_used = await _row(connection, _STATE, {"schema": address.schema})
        about = await _about(connection, address, len(steps)) if is_store else None
        if about is None:
            if is_used:
                raise StoreDamaged(
                    f"{address.text}: the schema {visible(address.schema)} contains something other than a promptpex "
                    "store; it was left unchanged. Name another schema with ?schema=NAME."
                )
            about = await _begin(connection, address, has_schema)
        for step in steps[about.version :]:
            for statement in step:
                await connection.execute(filled(statement, address.schema))
        update = "UPDATE {s}.about SET value = %s WHERE name = 'version'"
        await connection.execute(filled(update, address.schema), (str(len(steps)),))
        return About(len(steps), about.store, about.secret)


async def _begin(connection: AsyncConnection[Any], address: StoreAddress, has_schema: bool) -> About:
    """An empty store: its schema and the table that says what it is."""
    about = About(0, uuid.uuid4().hex, secrets.token_bytes(32))
    if not has_schema:
        await connection.execute(filled("CREATE SCHEMA {s}", address.schema))
    await connection.execute(filled("CREATE TABLE {s}.about (name text PRIMARY KEY, value text)", address.schema))
    values = {"program": "promptpex", "version": "0", "store": about.store, "secret": about.secret.hex()}
    for name, value in values.items():
        await connection.execute(filled("INSERT INTO {s}.about VALUES (%s, %s)", address.schema), (name, value))
    return about


async def _about(connection: AsyncConnection[Any], address: StoreAddress, newest: int) -> About:
    cursor = await connection.execute(filled("SELECT name, value FROM {s}.about", address.schema))
    values = dict(await cursor.fetchall())
    try:
        about = About(int(values["version"]), values["store"], bytes.fromhex(values["secret"]))
        named = re.fullmatch(r"[0-9a-f]{32}", about.store) and len(about.secret) >= 16
        ours = values["program"] == "promptpex" and about.version >= 0 and bool(named)
    except (KeyError, ValueError, TypeError, AttributeError):
        ours = False
    if not ours:
        raise StoreDamaged(
            f"{address.text}: the schema {visible(address.schema)} contains something other than a promptpex store; "
            "it was left unchanged. Name another schema with ?schema=NAME."
        )
    if about.version > newest:
        raise StoreError(
            f"{address.text}: the store was made by a newer promptpex; update promptpex or name another store."
        )
    return about


async def _row(connection: AsyncConnection[Any], query: LiteralString, values: dict[str, object]) -> tuple[Any, ...]:
    row = await (await connection.execute(query, values)).fetchone()
    assert row is not None
    return tuple(row)
