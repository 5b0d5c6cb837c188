"""A server that goes away: replies are kept, and handed in when it is back, by this process or the next."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.core.errors import StoreError, StoreFull, StoreUnreachable
from promptpex.core.events import Event, Notice
from promptpex.core.records import Completion, Request
from promptpex.core.store_address import parse_address
from promptpex.store.postgres.rows import row_of
from promptpex.store.postgres.spool import Spool, Spooled
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
    assert spooled(tmp_path) == []
    notices = [event.message for event in events if isinstance(event, Notice)]
    assert [text.split(";")[0] for text in notices] == [
        "the store's server has gone away",
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
        assert events[-1].message.endswith(".jsonl: 3; the next command on this store hands them in")
        events.clear()
        with pytest.raises(StoreUnreachable, match="cannot be reached"):
            await opened(address, tmp_path)
        assert len(spooled(tmp_path)) == 1
    finally:
        mortal.start()
    async with await opened(address, tmp_path, events) as store:
        assert len(await store.get_many([ONE.id, TWO.id, THREE.id])) == 3
    assert spooled(tmp_path) == []
    assert [event.message for event in events if isinstance(event, Notice)] == [
        "replies that were kept here while the store's server was away: 3 handed in"
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
    assert [event.message.partition(" holds ")[2] for event in events if isinstance(event, Notice)] == [
        "lines that nobody who may use this store wrote; they were not used"
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
    address = postgres.address()
    file = await left(address, tmp_path)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "glob", refuse)
    with pytest.raises(StoreError, match=r"spool: replies that were kept .* cannot be read \(Permission denied\)"):
        await opened(address, tmp_path)
    assert file.exists()
