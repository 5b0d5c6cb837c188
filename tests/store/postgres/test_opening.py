"""How a store on a server is made, brought forward and refused."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from promptpex.codecs.text.control_characters import OBEYED
from promptpex.core.errors import (
    StoreDamaged,
    StoreError,
    StoreReadOnly,
    StoreRefused,
    StoreUnreachable,
)
from promptpex.core.events import Event, Notice
from promptpex.core.postgres_address import parse_address
from promptpex.core.records import Completion
from promptpex.store.postgres.schema import STEPS
from promptpex.store.postgres.store import Options, PostgresStore
from tests.e2e.faults import until
from tests.llm.questions import request
from tests.postgres import GUEST, PASSWORD, SUPERUSER, Cluster, free_port

if TYPE_CHECKING:
    from psycopg import AsyncConnection

FORGED = (
    "about AS VALUES ('program', 'promptpex'), ('version', '1'), ('secret', repeat('00', 32)), ('store', '../../../x')"
)
"""A table that would have files written elsewhere."""

FATAL = b"SFATAL\0VFATAL\0C28P01\0M\x1b]0;x\x07 \xe2\x80\xae {why}\0\0"
"""An error of a hostile server, as PostgreSQL's protocol has it."""


async def opened(address: str, folder: Path, *, make: bool = True) -> PostgresStore:
    return await PostgresStore.open(parse_address(address), spool=folder / "spool", make=make)


async def used(address: str, folder: Path) -> None:
    """Opens a store, and stores a reply."""
    async with await opened(address, folder) as store:
        await store.put(request().id, request(), Completion(text="x"))
        assert await store.get(request().id) == Completion(text="x")


async def test_many_that_open_a_new_store_at_once_make_it_once(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.address()
    stores = await asyncio.gather(*(opened(address, tmp_path) for _ in range(8)))
    assert len({store._about.store for store in stores}) == 1
    await asyncio.gather(*(store.close() for store in stores))


async def test_a_store_that_is_not_wanted_is_not_made(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.address(schema="unmade")
    with pytest.raises(StoreError, match="no store here yet"):
        await opened(address, tmp_path, make=False)
    assert postgres.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'unmade'") == [(0,)]


async def test_an_older_store_is_brought_forward_and_a_newer_one_is_refused(postgres: Cluster, tmp_path: Path) -> None:
    address = parse_address(postgres.address())
    await used(address.text, tmp_path)
    newer = (*STEPS, ("ALTER TABLE {s}.replies ADD COLUMN further text", "CREATE TABLE {s}.more (x int)"))
    stores = await asyncio.gather(
        *(PostgresStore.open(address, spool=tmp_path, steps=newer) for _ in range(3)), return_exceptions=True
    )
    for store in stores:
        assert isinstance(store, PostgresStore), store
        assert await store.get(request().id) == Completion(text="x")
        await store.close()
    with pytest.raises(StoreError, match="newer promptpex"):
        await opened(address.text, tmp_path)


@pytest.mark.parametrize("table", ["birds (name text)", "about (name text, value text)", "about (x int)", FORGED])
async def test_a_schema_of_another_program_is_left_alone(postgres: Cluster, tmp_path: Path, table: str) -> None:
    address = parse_address(postgres.address())
    postgres.execute(f"CREATE SCHEMA {address.schema}; CREATE TABLE {address.schema}.{table}")
    with pytest.raises(StoreDamaged, match="Name another schema"):
        await opened(address.text, tmp_path)
    query = f"SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = '{address.schema}'::regnamespace"
    assert postgres.execute(query) == [(1,)]


async def test_names_of_schemas_and_databases_may_be_any(postgres: Cluster, tmp_path: Path) -> None:
    postgres.execute("CREATE DATABASE \"dữ liệu'; --\" ENCODING 'UTF8' TEMPLATE template0")
    postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    place = f"{SUPERUSER}@127.0.0.1:{postgres.port}"
    await used(f"postgresql://{place}/dữ%20liệu%27%3B%20--?schema=%22ngăn%20%7Bs%7D", tmp_path)
    await used(f"postgresql://{place}/latin", tmp_path)
    await used(f"postgresql://{SUPERUSER}@[::1]:{postgres.port}/latin", tmp_path)
    await used(f"postgresql://{SUPERUSER}@/latin?host={postgres.folder}&port={postgres.port}", tmp_path)


async def test_who_may_not_is_told_what_is_missing(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.address()
    theirs = address.replace(f"//{SUPERUSER}@", f"//{GUEST}@")
    with pytest.raises(StoreRefused, match="no password supplied"):
        await opened(theirs, tmp_path)
    monkeypatch.setenv("PGPASSWORD", "wrong-4711")
    with pytest.raises(StoreRefused, match=f'password authentication failed for user "{GUEST}"') as caught:
        await opened(theirs, tmp_path)
    assert "4711" not in str(caught.value)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with pytest.raises(StoreRefused, match="permission denied for database"):
        await opened(theirs, tmp_path)
    await used(address, tmp_path)
    with pytest.raises(StoreRefused, match="permission denied for schema"):
        await opened(theirs, tmp_path)
    schema = parse_address(address).schema
    postgres.execute(
        f"GRANT USAGE ON SCHEMA {schema} TO {GUEST}; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {GUEST}"
    )
    with pytest.raises(StoreRefused, match="may not read and write all tables"):
        await opened(theirs, tmp_path)
    postgres.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {GUEST}")
    await used(theirs, tmp_path)


async def test_a_service_file_names_server_and_password(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "services"
    file.write_text(
        f"[team]\nhost=127.0.0.1\nport={postgres.port}\ndbname=postgres\nuser={GUEST}\npassword={PASSWORD}\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    with pytest.raises(StoreRefused, match="permission denied for database"):  # so it was let in
        await opened("postgresql://?service=team&schema=services", tmp_path)
    with pytest.raises(StoreRefused, match="service"):
        await opened("postgresql://?service=other", tmp_path)


@pytest.mark.parametrize(
    ("change", "odd"),
    [
        ("ALTER TABLE {s}.replies DROP CONSTRAINT replies_pkey", "replies.id should be text unique"),
        ("ALTER TABLE {s}.replies DROP COLUMN scrubbed", "replies.scrubbed should be boolean"),
        ("ALTER TABLE {s}.owners ALTER COLUMN pid TYPE text", "owners.pid should be bigint"),
        ("ALTER TABLE {s}.claims RENAME TO c; CREATE VIEW {s}.claims AS SELECT * FROM {s}.c", "claims.id should be"),
        ("DROP TABLE {s}.claims", "claims.id should be text unique"),
    ],
)
async def test_tables_that_somebody_changed_are_refused_before_anything_is_asked(
    postgres: Cluster, tmp_path: Path, change: str, odd: str
) -> None:
    """A reply that they cannot take would be paid for, and kept for a store that never takes it."""
    address = postgres.address()
    await used(address, tmp_path)
    postgres.execute(change.replace("{s}", parse_address(address).schema))
    with pytest.raises(StoreDamaged, match=f"are not those of a promptpex store: {odd}"):
        await opened(address, tmp_path)


@pytest.mark.parametrize("line", ["port=hunter2000", "sslmode=hunter2000", "hunter2000"])
async def test_a_password_in_the_wrong_line_of_a_service_file_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    (tmp_path / "services").write_text(f"[team]\nhost=127.0.0.1\n{line}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    with pytest.raises(StoreRefused, match=r"service") as caught:
        await opened("postgresql://?service=team", tmp_path)
    assert "hunter" not in str(caught.value)


async def test_what_is_wrong_with_the_server_is_told(postgres: Cluster, tmp_path: Path) -> None:
    place = f"postgresql://{SUPERUSER}@127.0.0.1:{postgres.port}"
    with pytest.raises(StoreUnreachable, match="cannot be reached"):
        await opened(f"postgresql://{SUPERUSER}@127.0.0.1:{free_port()}/postgres", tmp_path)
    with pytest.raises(StoreRefused, match="no such database"):
        await opened(f"{place}/none", tmp_path)
    with pytest.raises(StoreRefused, match="refuses the login"):
        await opened(place.replace(SUPERUSER, "nobody-here"), tmp_path)
    with pytest.raises(StoreReadOnly, match="accepts no writes"):
        await opened(postgres.address(options="-c%20default_transaction_read_only%3Don"), tmp_path)
    postgres.execute("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
    with pytest.raises(StoreUnreachable, match="no free connection"):
        await opened(f"postgresql://crowded@127.0.0.1:{postgres.port}/postgres?reconnect=0", tmp_path)


async def test_a_full_server_is_waited_for_and_one_connection_is_enough(postgres: Cluster, tmp_path: Path) -> None:
    """Many clients on a small server: one that had to have two would keep the other's waiting for its second."""
    schema, events = parse_address(postgres.address()).schema, list[Event]()
    postgres.execute(f"CREATE ROLE {schema} LOGIN CONNECTION LIMIT 0; CREATE SCHEMA {schema} AUTHORIZATION {schema}")
    address = parse_address(f"postgresql://{schema}@127.0.0.1:{postgres.port}/postgres?schema={schema}")
    opening = asyncio.create_task(PostgresStore.open(address, spool=tmp_path, options=Options(emit=events.append)))
    await until(lambda: bool(events) or opening.done())
    postgres.execute(f"ALTER ROLE {schema} CONNECTION LIMIT 1")
    async with await opening as store:
        assert await store.claim(request().id)
        await asyncio.gather(
            *(store.put(each.id, each, Completion(text="x")) for each in map(request, "abcdefgh")),
            *(store.get(each.id) for each in map(request, "ijklmnop")),
        )
        ids = [request(text).id for text in "abcdefgh"]
        assert len(await store.get_many(ids)) == 8
    assert [event.message for event in events if isinstance(event, Notice)] == [
        "the store's server accepts no connections at the moment; waiting up to 60 seconds"
    ]


async def test_nothing_of_a_connection_outlives_a_transaction(postgres: Cluster, tmp_path: Path) -> None:
    """Poolers such as pgbouncer give each transaction another one (``pool_mode = transaction``)."""
    async with await opened(postgres.address(), tmp_path) as store:
        for number in range(12):
            assert await store.claim(request(str(number)).id)
            await store.put(request(str(number)).id, request(str(number)), Completion(text="x"))
            await store.get(request(str(number)).id)

        async def prepared(connection: AsyncConnection[Any]) -> object:
            return await (await connection.execute("SELECT count(*) FROM pg_prepared_statements")).fetchone()

        assert await store._link.run(prepared) == (0,)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.0 400 Bad Request\r\n\r\n", "expected authentication request"),
        (b"E" + (len(FATAL) + 4).to_bytes(4, "big") + FATAL, "{why}"),
        (b"", "cannot be reached"),
    ],
)
async def test_what_is_no_postgresql_is_told_in_one_harmless_sentence(tmp_path: Path, answer: bytes, why: str) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(8)
        writer.write(answer)
        await writer.drain()
        await reader.read(400)
        writer.close()

    server = await asyncio.start_server(reply, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(StoreError) as caught:
            await opened(f"postgresql://me@127.0.0.1:{port}/db?sslmode=disable", tmp_path)
    assert why in str(caught.value)
    assert not OBEYED.search(str(caught.value))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
async def test_a_connection_is_as_secure_as_the_address_says(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.address().replace("127.0.0.1", "localhost")
    with pytest.raises(StoreRefused, match="less secure"):
        await opened(f"{address}&sslmode=require", tmp_path)
    postgres.secure()
    for _ in range(100):
        try:
            await used(f"{address}&sslmode=verify-full&sslrootcert={postgres.folder / 'server.crt'}", tmp_path)
            break
        except StoreRefused:  # the server has not read its settings yet
            await asyncio.sleep(0.05)
    else:
        pytest.fail("the server offers no TLS")
    with pytest.raises(StoreRefused, match="less secure"):
        await opened(f"{address}&sslmode=verify-full&sslrootcert={tmp_path / 'none.crt'}", tmp_path)
    other = address.replace("localhost", "127.0.0.1")
    with pytest.raises(StoreRefused, match="less secure"):
        await opened(f"{other}&sslmode=verify-full&sslrootcert={postgres.folder / 'server.crt'}", tmp_path)
