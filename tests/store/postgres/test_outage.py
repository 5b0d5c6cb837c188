"""A server that goes away: replies are kept, and handed in when it is back, by this process or the next."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from promptpex.codecs.files.file_lock import lock
from promptpex.core.errors import StoreError, StoreFull, StoreUnreachable
from promptpex.core.events import Event, Notice
from promptpex.core.postgres_address import parse_address
from promptpex.core.records import Completion, Request
from promptpex.store.postgres.outage_spool import Spool, Spooled
from promptpex.store.postgres.rows import row_of
from promptpex.store.postgres.store import Options, PostgresStore
from tests.e2e.faults import until
from tests.llm.questions import request
from tests.postgres import Cluster, own_cluster
from tests.store.conformance import KEY

ONE, TWO, THREE = request("one"), request("two"), request("three")


@pytest.fixture(scope="module")
def mortal(postgres: Cluster) -> Iterator[Cluster]:
    """A server that tests stop and start; it runs between them."""
    with own_cluster() as cluster:
        yield cluster


async def opened(address: str, folder: Path, events: list[Event] | None = None) -> PostgresStore:
    emit = (lambda event: None) if events is None else events.append
    return await PostgresStore.open(
        parse_address(address), spool=folder / ".promptpex/spool", options=Options(emit=emit)
    )


def spooled(folder: Path) -> list[Path]:
    return list(folder.glob(".promptpex/spool/*"))


async def test_a_server_that_comes_back_gets_what_was_kept_for_it(mortal: Cluster, tmp_path: Path) -> None:
    events: list[Event] = []
    async with await opened(mortal.address(), tmp_path, events) as store:
        assert await store.claim(ONE.id)
        assert await store.claim(TWO.id)
        mortal.stop("immediate")
        try:
            assert await store.put(ONE.id, ONE, Completion(text="1")) == Completion(text="1")
            (file,) = spooled(tmp_path)
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert (tmp_path / ".promptpex/.gitignore").read_text().startswith("*")
            assert await store.get(ONE.id) == Completion(text="1")
            assert not await store.claim(ONE.id)
            waiting = asyncio.create_task(store.get(TWO.id))
            await store.put(ONE.id, ONE, Completion(text="later"))
            await store.put(THREE.id, THREE.replace(stage=KEY), Completion(text="3"))
            assert KEY.encode() not in file.read_bytes()
        finally:
            mortal.start()
        assert await waiting is None
        assert await store.get(ONE.id) == Completion(text="1")
        assert await store.claim(TWO.id), "its claim has outlived the restart"
        assert (await store.stats()).replies == 2
        assert file.stat().st_size == 0
    assert not file.parent.exists(), "it would be in the way of other users of the project"
    notices = [event.message for event in events if isinstance(event, Notice)]
    assert [text.split(";")[0] for text in notices] == [
        "the connection to the store's server was lost",
        "the store's server is back",
    ]


async def test_a_server_that_stays_away_is_lost_and_the_next_command_hands_in(mortal: Cluster, tmp_path: Path) -> None:
    address, events = mortal.address(reconnect="0.3"), list[Event]()
    store = await opened(address, tmp_path, events)
    mortal.stop()
    try:
        for each in (ONE, TWO):
            await store.put(each.id, each, Completion(text="kept"))
        with pytest.raises(StoreUnreachable, match=r"2 replies are kept in .*\.jsonl, and the next command"):
            await store.claim(THREE.id)
        with pytest.raises(StoreUnreachable):
            await store.get(THREE.id)
        await store.put(THREE.id, THREE, Completion(text="kept"))
        await store.close()
        assert isinstance(events[-1], Notice)
        assert events[-1].message.endswith(".jsonl: 3; the next command on this store writes them to it")
        events.clear()
        with pytest.raises(StoreUnreachable, match="cannot be reached"):
            await opened(address, tmp_path)
        assert len(spooled(tmp_path)) == 1
    finally:
        mortal.start()
    async with await opened(address, tmp_path, events) as store:
        assert len(await store.get_many([ONE.id, TWO.id, THREE.id])) == 3
    assert not (tmp_path / ".promptpex/spool").exists()
    assert [event.message for event in events if isinstance(event, Notice)] == [
        "replies kept here while the store's server was away: 3 written to the store"
    ]


async def test_waiting_ends_when_the_user_stops(mortal: Cluster, tmp_path: Path) -> None:
    async with await opened(mortal.address(), tmp_path) as store:
        mortal.stop()
        try:
            waiting = asyncio.create_task(store.claim(ONE.id))
            await until(lambda: not store._link.is_up)
            store.stop_waiting()
            with pytest.raises(StoreUnreachable):
                await waiting
        finally:
            mortal.start()


async def test_a_server_without_room_ends_the_waiting_and_loses_nothing(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.address()
    store = await opened(address, tmp_path)
    schema = store.address.schema
    postgres.execute(
        f"CREATE FUNCTION {schema}.full() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END$$;"
        f"CREATE TRIGGER t BEFORE INSERT ON {schema}.replies EXECUTE FUNCTION {schema}.full()"
    )
    await store.put(ONE.id, ONE, Completion(text="kept"))
    with pytest.raises(StoreFull, match="no room left"):
        await store.claim(TWO.id)
    await store.close()
    with pytest.raises(StoreFull):
        await opened(address, tmp_path)
    postgres.execute(f"DROP TRIGGER t ON {schema}.replies")
    async with await opened(address, tmp_path) as store:
        assert await store.get(ONE.id) == Completion(text="kept")


async def left(address: str, folder: Path, replies: int = 3) -> Path:
    """A spool with replies that a process has left behind; its file."""
    async with await opened(address, folder) as store:
        spool = Spool(folder / ".promptpex/spool", store._about.store, store._about.secret)
        for number in range(replies):
            await spool.add([reply_to(request(str(number)))])
        spool.close()
        return spool.path


def reply_to(asked: Request) -> Spooled:
    return Spooled(row_of(asked.id, asked, Completion(text="\0 left"), 1.0))


async def test_a_line_that_was_cut_is_passed_over(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.address()
    file = await left(address, tmp_path)
    file.write_bytes(file.read_bytes()[:-40])
    async with await opened(address, tmp_path) as store:
        assert (await store.stats()).replies == 2
        assert await store.get(request("0").id) == Completion(text="\0 left")
    assert spooled(tmp_path) == []


async def test_a_crash_while_replies_are_handed_in_loses_and_doubles_nothing(postgres: Cluster, tmp_path: Path) -> None:
    """They were committed, and the process died before the file was removed."""
    address = postgres.address()
    file = await left(address, tmp_path)
    data = file.read_bytes()
    await (await opened(address, tmp_path)).close()
    file.parent.mkdir()
    file.write_bytes(data)
    async with await opened(address, tmp_path) as store:
        assert (await store.stats()).replies == 3
    assert spooled(tmp_path) == []


async def test_what_a_checkout_brings_along_gets_into_no_store(postgres: Cluster, tmp_path: Path) -> None:
    address, other, events = postgres.address(), postgres.address(), list[Event]()
    file = await left(other, tmp_path, replies=1)
    async with await opened(address, tmp_path) as store:
        forged = file.with_name(f"{store._about.store}-{'0' * 32}.jsonl")
    forged.write_bytes(file.read_bytes())
    linked = file.with_name(f"{store._about.store}-{'1' * 32}.jsonl")
    linked.symlink_to(file)
    async with await opened(address, tmp_path, events) as store:
        assert (await store.stats()).replies == 0
    assert not forged.exists()
    assert forged.with_suffix(".unreadable").exists()
    assert [event.message.partition(" contains ")[2] for event in events if isinstance(event, Notice)] == [
        "lines that no user of this store wrote; they were not used"
    ]
    assert file.exists(), "it is another store's"


async def test_a_file_that_a_living_process_has_is_left_to_it(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.address()
    async with await opened(address, tmp_path) as store:
        spool = Spool(tmp_path / ".promptpex/spool", store._about.store, store._about.secret)
        await spool.add([reply_to(ONE)])
        await (await opened(address, tmp_path)).close()
        assert spool.path.exists()
        assert (await store.stats()).replies == 0
        spool.close()
        await (await opened(address, tmp_path)).close()
        assert (await store.stats()).replies == 1


async def test_a_spool_that_cannot_be_read_is_told_before_anything_is_asked(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as another user's: its questions are paid for."""
    address = postgres.address()
    file = await left(address, tmp_path)
    system_open = os.open

    def refuse(path: str | Path, *more: int) -> int:
        if Path(path) == file:
            raise PermissionError(13, "Permission denied")
        return system_open(path, *more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreError, match=r"\.jsonl: replies that were kept .* cannot be read \(Permission denied\)"):
        await opened(address, tmp_path)
    monkeypatch.undo()
    kept = file.read_bytes()
    file.unlink()
    file.parent.rmdir()
    file.parent.write_bytes(kept)
    with pytest.raises(StoreError, match=r"spool: replies that were kept .* cannot be read \(Not a directory\)"):
        await opened(address, tmp_path)


async def test_one_hands_in_and_the_others_wait_for_it(tmp_path: Path) -> None:
    """Who went on meanwhile would find the questions of a dead process, and ask them again."""
    folder, order = tmp_path / "spool", list[str]()
    one, two, dead = (Spool(folder, "0" * 32, b"secret") for _ in range(3))
    await dead.add([reply_to(ONE)])
    dead.close()

    async def refuse(replies: Sequence[Spooled]) -> None:
        raise AssertionError("it was handed in before")

    async def second() -> None:
        assert await two.hand_in_left(refuse) == (0, [])
        order.append("the second went on")

    async def send(replies: Sequence[Spooled]) -> None:
        waiting.append(asyncio.create_task(second()))
        for _ in range(20):
            await asyncio.to_thread(lambda: None)
        handle = os.open(folder, os.O_RDONLY)
        with pytest.raises(OSError, match="locked"):
            lock(handle, max_wait_s=0)
        os.close(handle)
        order.append("the first was done")

    waiting: list[asyncio.Task[None]] = []
    assert await one.hand_in_left(send) == (1, [])
    await asyncio.gather(*waiting)
    assert order == ["the first was done", "the second went on"]


async def test_a_reply_is_on_the_disk_before_it_is_used(tmp_path: Path) -> None:
    """And so is the name of the file, which the next command looks for."""
    order: list[tuple[str, bytes]] = []

    def synced(handle: int) -> None:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            order.append(("folder", b" ".join(name.encode() for name in os.listdir(tmp_path / "spool"))))
        else:
            order.append(("file", os.pread(handle, status.st_size, 0)))

    spool = Spool(tmp_path / "spool", "0" * 32, b"secret", synced)
    for reply in (reply_to(ONE), reply_to(TWO)):
        await spool.add([reply])
        order.append(("used", spool.path.read_bytes()))
    spool.close()
    data = spool.path.read_bytes()
    first = data[: data.index(b"\n") + 1]
    assert order == [
        ("folder", spool.path.name.encode()),
        ("file", first),
        ("used", first),
        ("file", data),
        ("used", data),
    ]


async def test_what_is_not_on_the_disk_is_not_in_the_file(tmp_path: Path) -> None:
    """A full disk: what a line has begun goes, also where that succeeds only later."""
    failing = [True]

    def sync(handle: int) -> None:
        if stat.S_ISREG(os.fstat(handle).st_mode) and failing[0]:
            os.write(handle, b"torn")
            raise OSError(28, "No space left on device")

    spool, sent = Spool(tmp_path / "spool", "0" * 32, b"secret", sync), list[Spooled]()
    with pytest.raises(OSError, match="No space"):
        await spool.add([reply_to(ONE)])
    assert (spool.path.read_bytes(), spool.count, spool.is_empty) == (b"", 0, True)
    spool.path.write_bytes(b"what could not be cut off")
    failing[0] = False
    await spool.add([reply_to(TWO)])
    spool.path.unlink()  # somebody tidied up

    async def send(replies: Sequence[Spooled]) -> None:
        sent.extend(replies)

    await spool.hand_in(send)
    assert (sent, spool.is_empty) == ([reply_to(TWO)], True)
    spool.close()


async def shut_out(cluster: Cluster, role: str) -> None:
    """Lets a role in no more, and waits until none of its connections is left."""
    cluster.execute(f"ALTER ROLE {role} CONNECTION LIMIT 0")
    cluster.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'")
    left = f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{role}'"
    await until(lambda: cluster.execute(left) == [(0,)])


async def test_where_nothing_can_be_kept_replies_wait_for_the_server(postgres: Cluster, tmp_path: Path) -> None:
    schema, events = parse_address(postgres.address()).schema, list[Event]()
    postgres.execute(f"CREATE ROLE {schema} LOGIN; CREATE SCHEMA {schema} AUTHORIZATION {schema}")
    address = f"postgresql://{schema}@127.0.0.1:{postgres.port}/postgres?schema={schema}"

    async with await opened(address, tmp_path, events) as store:
        (tmp_path / ".promptpex").mkdir()
        (tmp_path / ".promptpex/spool").write_text("in the way")
        await shut_out(postgres, schema)
        putting = asyncio.create_task(store.put(ONE.id, ONE, Completion(text="1")))
        await until(lambda: any("cannot be kept" in str(event) for event in events) or putting.done())
        assert not putting.done()
        postgres.execute(f"ALTER ROLE {schema} CONNECTION LIMIT -1")
        assert await putting == Completion(text="1")
        assert await store.get(ONE.id) == Completion(text="1")
        await shut_out(postgres, schema)
        putting = asyncio.create_task(store.put(TWO.id, TWO, Completion(text="2")))
        await until(lambda: not store._link.is_up or putting.done())
        store.stop_waiting()
        with pytest.raises(StoreError, match=r"cannot be kept in .* either .*; they will be asked for again"):
            await putting
        (tmp_path / ".promptpex/spool").unlink()


async def test_a_server_that_was_given_up_is_tried_once_more_at_the_end(postgres: Cluster, tmp_path: Path) -> None:
    schema = parse_address(postgres.address()).schema
    postgres.execute(f"CREATE ROLE {schema} LOGIN; CREATE SCHEMA {schema} AUTHORIZATION {schema}")
    store = await opened(
        f"postgresql://{schema}@127.0.0.1:{postgres.port}/postgres?schema={schema}&reconnect=0", tmp_path
    )
    await shut_out(postgres, schema)
    await store.put(ONE.id, ONE, Completion(text="first"))
    assert await store.put(ONE.id, ONE, Completion(text="later")) == Completion(text="first")
    with pytest.raises(StoreUnreachable):
        await store.claim(TWO.id)
    assert len(spooled(tmp_path)) == 1
    postgres.execute(f"ALTER ROLE {schema} CONNECTION LIMIT -1")
    await store.close()
    assert spooled(tmp_path) == []
    assert postgres.execute(f"SELECT count(*) FROM {schema}.replies") == [(1,)]
