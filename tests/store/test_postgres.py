"""A store on a server: made, brought forward and refused, its claims, and a server that goes away."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.codecs.text.control_characters import OBEYED
from promptpex.core.errors import (
    StoreDamaged,
    StoreError,
    StoreReadOnly,
    StoreRefused,
    StoreUnreachable,
)
from promptpex.core.records import Completion
from promptpex.core.store_address import parse_address
from promptpex.store.postgres import PostgresStore, open_at
from tests.fork_server.start import forking
from tests.llm.questions import request
from tests.postgres import GUEST, PASSWORD, SUPERUSER, Cluster, free_port, own_cluster

FORGED = (
    "about AS VALUES ('program', 'promptpex'), ('version', '1'), ('secret', repeat('00', 32)), ('store', '../../../x')"
)
"""A table that would have files written elsewhere."""

FATAL = b"SFATAL\0VFATAL\0C28P01\0M\x1b]0;x\x07 \xe2\x80\xae {why}\0\0"
"""An error of a hostile server, as PostgreSQL's protocol has it."""


@pytest.fixture(scope="module")
def mortal(postgres: Cluster) -> Iterator[Cluster]:
    """A server that tests stop and start; it runs between them."""
    with own_cluster() as cluster:
        yield cluster


async def used(address: str) -> None:
    """Opens a store, and stores a reply."""
    async with await open_at(address) as store:
        await store.put(request().id, request(), Completion(text="x"))
        assert await store.get(request().id) == Completion(text="x")


async def test_many_that_open_a_new_store_at_once_make_it_once(postgres: Cluster) -> None:
    address = postgres.address()
    stores = await asyncio.gather(*(open_at(address) for _ in range(8)))
    assert postgres.execute(f"SELECT count(*) FROM {parse_address(address).schema}.about") == [(2,)]
    await asyncio.gather(*(store.close() for store in stores))


async def test_an_older_store_is_brought_forward_and_a_newer_one_is_refused(postgres: Cluster) -> None:
    """Version 1 had tables of claims, and more in the table that says what it is."""
    address = parse_address(postgres.address())
    await used(address.text)
    old = (
        "UPDATE {s}.about SET value = '1' WHERE name = 'version'; INSERT INTO {s}.about VALUES ('secret', 'ff');"
        "CREATE TABLE {s}.owners (owner text); CREATE TABLE {s}.claims (id text)"
    )
    postgres.execute(old.replace("{s}", address.schema))
    for store in await asyncio.gather(*(open_at(address.text) for _ in range(3))):
        assert await store.get(request().id) == Completion(text="x")
        await store.close()
    tables = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = '{s}'::regnamespace ORDER BY 1"
    assert postgres.execute(tables.replace("{s}", address.schema)) == [("about",), ("replies",)]
    postgres.execute(f"UPDATE {address.schema}.about SET value = '3' WHERE name = 'version'")
    with pytest.raises(StoreError, match="newer promptpex"):
        await open_at(address.text)


@pytest.mark.parametrize("table", ["birds (name text)", "about (name text, value text)", "about (x int)", FORGED])
async def test_a_schema_of_another_program_is_left_alone(postgres: Cluster, tmp_path: Path, table: str) -> None:
    address = parse_address(postgres.address())
    postgres.execute(f"CREATE SCHEMA {address.schema}; CREATE TABLE {address.schema}.{table}")
    with pytest.raises(StoreDamaged, match=r"(?i)name another schema"):
        await open_at(address.text)
    query = f"SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = '{address.schema}'::regnamespace"
    assert postgres.execute(query) == [(1,)]


async def test_who_may_not_is_told_what_is_missing(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.address()
    theirs = address.replace(f"//{SUPERUSER}@", f"//{GUEST}@")
    with pytest.raises(StoreRefused, match="no password supplied"):
        await open_at(theirs)
    monkeypatch.setenv("PGPASSWORD", "wrong-4711")
    with pytest.raises(StoreRefused, match=f'password authentication failed for user "{GUEST}"') as caught:
        await open_at(theirs)
    assert "4711" not in str(caught.value)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with pytest.raises(StoreRefused, match="permission denied for database"):
        await open_at(theirs)
    await used(address)
    with pytest.raises(StoreRefused, match="permission denied for schema"):
        await open_at(theirs)
    schema = parse_address(address).schema
    postgres.execute(
        f"GRANT USAGE ON SCHEMA {schema} TO {GUEST}; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {GUEST}"
    )
    with pytest.raises(StoreRefused, match="permission denied for table"):
        await open_at(theirs)
    postgres.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {GUEST}")
    await used(theirs)


async def test_a_service_file_names_server_and_password(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "services"
    file.write_text(
        f"[team]\nhost=127.0.0.1\nport={postgres.port}\ndbname=postgres\nuser={GUEST}\npassword={PASSWORD}\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    with pytest.raises(StoreRefused, match="permission denied for database"):  # so it was let in
        await open_at("postgresql://?service=team&schema=services")
    with pytest.raises(StoreRefused, match="service"):
        await open_at("postgresql://?service=other")


@pytest.mark.parametrize(
    ("change", "odd"),
    [
        ("ALTER TABLE {s}.replies DROP CONSTRAINT replies_pkey", "no unique or exclusion constraint"),
        ("ALTER TABLE {s}.replies DROP COLUMN scrubbed", 'column "scrubbed" of relation "replies" does not exist'),
        ("ALTER TABLE {s}.replies ALTER COLUMN request TYPE int USING 1", "request"),
        ("DROP TABLE {s}.replies", "does not exist"),
    ],
)
async def test_tables_that_somebody_changed_are_refused_before_anything_is_asked(
    postgres: Cluster, tmp_path: Path, change: str, odd: str
) -> None:
    """A reply that they cannot take would be paid for in vain."""
    address = postgres.address()
    await used(address)
    postgres.execute(change.replace("{s}", parse_address(address).schema))
    with pytest.raises(StoreDamaged, match=f"are not those of a promptpex store .*{odd}"):
        await open_at(address)


@pytest.mark.parametrize("line", ["port=hunter2000", "sslmode=hunter2000", "hunter2000"])
async def test_a_password_in_the_wrong_line_of_a_service_file_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    (tmp_path / "services").write_text(f"[team]\nhost=127.0.0.1\n{line}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    with pytest.raises(StoreRefused, match=r"service") as caught:
        await open_at("postgresql://?service=team")
    assert "hunter" not in str(caught.value)


async def test_what_is_wrong_with_the_server_is_told(postgres: Cluster) -> None:
    place = f"postgresql://{SUPERUSER}@127.0.0.1:{postgres.port}"
    with pytest.raises(StoreUnreachable, match="cannot be reached"):
        await open_at(f"postgresql://{SUPERUSER}@127.0.0.1:{free_port()}/postgres")
    with pytest.raises(StoreRefused, match="no such database"):
        await open_at(f"{place}/none")
    with pytest.raises(StoreRefused, match="refuses the login"):
        await open_at(place.replace(SUPERUSER, "nobody-here"))
    with pytest.raises(StoreReadOnly, match="accepts no writes"):
        await open_at(postgres.address(options="-c%20default_transaction_read_only%3Don"))
    postgres.execute("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
    with pytest.raises(StoreUnreachable, match="no free connection"):
        await open_at(f"postgresql://crowded@127.0.0.1:{postgres.port}/postgres")


async def test_one_connection_is_enough(postgres: Cluster) -> None:
    schema = parse_address(postgres.address()).schema
    postgres.execute(f"CREATE ROLE {schema} LOGIN CONNECTION LIMIT 1; CREATE SCHEMA {schema} AUTHORIZATION {schema}")
    address = f"postgresql://{schema}@127.0.0.1:{postgres.port}/postgres?schema={schema}"
    async with await open_at(address) as store:
        assert await store.claim(request().id)
        await asyncio.gather(
            *(store.put(each.id, each, Completion(text="x")) for each in map(request, "abcdefgh")),
            *(store.get(each.id) for each in map(request, "ijklmnop")),
        )
        assert len(await store.get_many([request(text).id for text in "abcdefgh"])) == 8
        assert [entry.completion.text async for entry in store.entries()] == ["x"] * 8


async def test_of_many_that_ask_at_once_one_may_whatever_their_order(postgres: Cluster) -> None:
    """Also where replies come while others claim: what is answered is claimed by nobody."""
    stores = [await open_at(postgres.address()) for _ in range(1)]
    stores += [await open_at(stores[0].address.text) for _ in range(3)]
    asked = [request(str(number)) for number in range(60)]
    answered: list[str] = []

    async def work(store: PostgresStore, turn: int) -> None:
        async def one(number: int) -> None:
            each = asked[number]
            if await store.claim(each.id):
                answered.append(each.id)
                await store.put(each.id, each, Completion(text="x"))

        order = range(60) if turn % 2 else range(59, -1, -1)
        await asyncio.gather(*(one(number) for number in order))

    await asyncio.gather(*(work(store, turn) for turn, store in enumerate(stores)))
    assert sorted(answered) == sorted(each.id for each in asked)
    for store in stores:
        await store.close()


CLAIMS = """
import asyncio, sys
from promptpex.store.postgres import open_at

async def main():
    store = await open_at(sys.argv[1])
    print(await store.claim(sys.argv[2]), flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_the_claims_of_a_killed_process_are_free_at_once(postgres: Cluster) -> None:
    address = postgres.address()
    async with await open_at(address) as store:
        with forking():
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", CLAIMS, address, request().id), stdout=asyncio.subprocess.PIPE
            )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"True\n"
        assert not await store.claim(request().id)
        process.kill()
        await process.wait()
        for _ in range(200):
            if await store.claim(request().id):
                break
            await asyncio.sleep(0.05)
        assert await store.claim(request().id), "who holds it holds it"


async def test_a_pooler_that_changes_connections_is_refused(postgres: Cluster) -> None:
    """As pgbouncer does with ``pool_mode = transaction``: a lock would stay with a connection of another."""
    async with await open_at(postgres.address()) as one, await open_at(one.address.text) as two:
        assert await one.claim(request().id)
        one._connection, two._connection = two._connection, one._connection
        with pytest.raises(StoreRefused, match="pool_mode = session"):
            await one.release(request().id)


async def test_a_server_that_goes_away_is_named_and_what_was_committed_is_kept(mortal: Cluster) -> None:
    address = mortal.address()
    store = await open_at(address)
    await store.put(request("kept").id, request("kept"), Completion(text="x"))
    assert await store.claim(request().id)
    mortal.stop("immediate")
    try:
        for ask in (store.get(request().id), store.claim(request("new").id), store.release(request().id)):
            with pytest.raises(StoreUnreachable, match="When it is back, run the same command again"):
                await ask
        with pytest.raises(StoreUnreachable):
            await store.put(request().id, request(), Completion(text="x"))
        await store.close()
        with pytest.raises(StoreUnreachable, match="cannot be reached"):
            await open_at(address)
    finally:
        mortal.start()
    async with await open_at(address) as store:
        assert await store.get(request("kept").id) == Completion(text="x")
        assert await store.claim(request().id)


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
            await open_at(f"postgresql://me@127.0.0.1:{port}/db?sslmode=disable")
    assert why in str(caught.value)
    assert not OBEYED.search(str(caught.value))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
async def test_a_connection_is_as_secure_as_the_address_says(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.address().replace("127.0.0.1", "localhost")
    with pytest.raises(StoreRefused, match="less secure"):
        await open_at(f"{address}&sslmode=require")
    postgres.secure()
    for _ in range(100):
        try:
            await used(f"{address}&sslmode=verify-full&sslrootcert={postgres.folder / 'server.crt'}")
            break
        except StoreRefused:  # the server has not read its settings yet
            await asyncio.sleep(0.05)
    else:
        pytest.fail("the server offers no TLS")
    with pytest.raises(StoreRefused, match="less secure"):
        await open_at(f"{address}&sslmode=verify-full&sslrootcert={tmp_path / 'none.crt'}")
    other = address.replace("localhost", "127.0.0.1")
    with pytest.raises(StoreRefused, match="less secure"):
        await open_at(f"{other}&sslmode=verify-full&sslrootcert={postgres.folder / 'server.crt'}")
