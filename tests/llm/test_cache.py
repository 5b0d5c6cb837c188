from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from promptpex.core.errors import RateLimited, StoreError
from promptpex.core.events import Event, Notice
from promptpex.core.records import Completion, Request
from promptpex.llm.cache import CachedClient
from promptpex.llm.fake import FakeClient
from promptpex.store import SqliteStore
from tests.llm.questions import request
from tests.store.memory import MemoryStore


class BrokenStore(MemoryStore):
    """A store that takes no replies."""

    async def put(self, request_id: str, request: Request, completion: Completion) -> Completion:
        raise StoreError("no space left; free some")


async def test_what_is_stored_is_not_asked_again(tmp_path: Path) -> None:
    inner = FakeClient(["one"])
    async with SqliteStore(tmp_path / "store.db") as store:
        client = CachedClient(inner, store)
        first = await client.complete(request())
        again = await client.complete(request())
    assert (first.cached, again.cached) == (False, True)
    assert again.replace(cached=False) == first
    assert len(inner.requests) == 1


async def test_empty_cut_and_filtered_answers_were_paid_for_too(tmp_path: Path) -> None:
    answers = [Completion(text="", finish_reason=reason) for reason in ("stop", "length", "content_filter")]
    async with SqliteStore(tmp_path / "store.db") as store:
        client = CachedClient(FakeClient(answers), store)
        for _ in range(2):
            got = [await client.complete(request(reason)) for reason in "abc"]
            assert [each.finish_reason for each in got] == ["stop", "length", "content_filter"]


async def test_errors_are_not_stored(tmp_path: Path) -> None:
    inner = FakeClient([RateLimited("slow down"), "one"])
    async with SqliteStore(tmp_path / "store.db") as store:
        client = CachedClient(inner, store)
        with pytest.raises(RateLimited):
            await client.complete(request())
        assert (await client.complete(request())).text == "one"


async def test_the_same_question_at_the_same_time_is_asked_once(tmp_path: Path) -> None:
    inner = FakeClient(["one"], latency_s=0.02)
    async with SqliteStore(tmp_path / "store.db") as store:
        client = CachedClient(inner, store)
        answers = await asyncio.gather(*(client.complete(request()) for _ in range(20)))
    assert len(inner.requests) == 1
    assert sorted(answer.cached for answer in answers) == [False, *[True] * 19]


async def test_when_the_one_who_asks_is_cancelled_another_asks(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def reply(_: Request) -> str:
        if not asked.is_set():
            asked.set()
            await asyncio.Event().wait()
        return "for the second"

    inner = FakeClient(reply)
    async with SqliteStore(tmp_path / "store.db") as store:
        client = CachedClient(inner, store)
        first = asyncio.create_task(client.complete(request()))
        second = asyncio.create_task(client.complete(request()))
        await asked.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await second).text == "for the second"
    assert len(inner.requests) == 2


async def test_two_processes_share_one_answer(tmp_path: Path) -> None:
    here, there = FakeClient(["here"], latency_s=0.15), FakeClient(["there"], latency_s=0.15)
    async with SqliteStore(tmp_path / "store.db") as one, SqliteStore(tmp_path / "store.db") as two:
        answers = await asyncio.gather(
            CachedClient(here, one).complete(request()), CachedClient(there, two).complete(request())
        )
    assert len(here.requests) + len(there.requests) == 1
    assert len({answer.text for answer in answers}) == 1


async def test_when_the_other_process_fails_this_one_asks(tmp_path: Path) -> None:
    here, there = FakeClient([RateLimited("slow down")], latency_s=0.05), FakeClient(["there"])
    async with SqliteStore(tmp_path / "store.db") as one, SqliteStore(tmp_path / "store.db") as two:
        failing = asyncio.create_task(CachedClient(here, one).complete(request()))
        await asyncio.sleep(0.03)
        assert (await CachedClient(there, two).complete(request())).text == "there"
        with pytest.raises(RateLimited):
            await failing


async def test_a_store_that_fails_is_the_stores_error() -> None:
    with pytest.raises(StoreError):
        await CachedClient(FakeClient(["one"]), BrokenStore()).complete(request())


async def test_replays_pass_by_the_store(tmp_path: Path) -> None:
    inner = FakeClient(["one", "two"])
    async with SqliteStore(tmp_path / "store.db") as store:
        client = CachedClient(inner, store)
        answers = [await client.complete(request(model="replay/run.jsonl")) for _ in range(2)]
        assert (await store.stats()).replies == 0
    assert [answer.text for answer in answers] == ["one", "two"]
    await client.close()
    assert inner.closed


async def test_a_fresh_request_is_asked_once_more_and_replaces_the_answer(tmp_path: Path) -> None:
    inner = FakeClient(["old", "new"])
    async with SqliteStore(tmp_path / "store.db") as store:
        await CachedClient(inner, store).complete(request())
        client = CachedClient(inner, store)
        fresh = request().replace(fresh=True)
        assert fresh.id == request().id
        first, again = await client.complete(fresh), await client.complete(fresh)
        assert (first.text, first.cached) == ("new", False)
        assert (again.text, again.cached) == ("new", True)
        assert (await CachedClient(inner, store).complete(request())).text == "new"
        assert await store.verify() == []
        assert not [entry async for entry in store.entries() if "fresh" in str(entry.request.to_dict())]


async def test_waiting_for_another_process_is_announced_once(tmp_path: Path) -> None:
    heard: list[Event] = []
    slept: list[float] = []

    async with SqliteStore(tmp_path / "store.db") as store, SqliteStore(tmp_path / "store.db") as other:
        questions = [request(text) for text in "ab"]
        for each in questions:
            assert await other.claim(each.id)

        async def sleep(seconds: float) -> None:
            slept.append(seconds)
            await asyncio.sleep(0)
            if sum(slept) > 60:
                for each in questions:
                    await other.put(each.id, each, Completion(text="theirs"))

        client = CachedClient(FakeClient(["ours"]), store, sleep=sleep, emit=heard.append)
        answers = await asyncio.gather(*(client.complete(each) for each in questions))
    assert [answer.text for answer in answers] == ["theirs", "theirs"]
    assert len(heard) == 1
    assert isinstance(heard[0], Notice)
    assert "another promptpex process" in heard[0].message


async def test_so_many_are_let_through_at_a_time_and_all_arrive() -> None:
    inner = FakeClient(lambda asked: asked.messages[0].content, latency_s=0.001)
    client = CachedClient(inner, MemoryStore(), concurrency=20)
    answers = await asyncio.gather(*(client.complete(request(str(n))) for n in range(200)))
    assert [answer.text for answer in answers] == [str(n) for n in range(200)]
    assert inner.max_in_flight == 40
    assert [asked.messages[0].content for asked in inner.requests] == [str(n) for n in range(200)]
