"""What every response store does: subclass ``Conformance`` for a backend, and pytest runs all of it.

Two handles that ``opener`` gives stand for two processes on the same data.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from promptpex.core.records import Completion, Request, TokenLogprob
from promptpex.core.response_store import ResponseStore, StoreEntry
from tests.llm.questions import request
from tests.store.memory import MemoryStore

ANSWER = Completion(
    text="Hà Nội \u2028 \x00",
    finish_reason="stop",
    tokens_in=3,
    cost_usd=0.5,
    latency_ms=1.5,
    logprobs=(TokenLogprob(token="a", logprob=-0.5, top=(("b", -1.0),)),),
)
KEY = "sk-proj-abcdefghijklmnopqrstuvwx123456"


class Clock:
    """Seconds since 1970, set by the test."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


Opener = Callable[[], Awaitable[ResponseStore]]


async def put(store: ResponseStore, asked: Request, answer: Completion = ANSWER) -> Completion:
    return await store.put(asked.id, asked, answer)


async def entries(store: ResponseStore) -> list[StoreEntry]:
    return [entry async for entry in store.entries()]


class Conformance:
    """The tests. A backend overrides ``make``, which opens one more handle on the data in ``folder``."""

    async def make(self, folder: Path, clock: Clock) -> ResponseStore:
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    async def opener(self, tmp_path: Path, clock: Clock) -> AsyncIterator[Opener]:
        opened: list[ResponseStore] = []

        async def open_one() -> ResponseStore:
            opened.append(await self.make(tmp_path, clock))
            return opened[-1]

        yield open_one
        for store in opened:
            await store.close()

    @pytest.fixture
    async def store(self, opener: Opener) -> ResponseStore:
        return await opener()

    async def test_a_reply_comes_back_whole(self, store: ResponseStore) -> None:
        assert await store.get(request().id) is None
        assert await put(store, request(), ANSWER.replace(cached=True)) == ANSWER.replace(cached=True)
        assert await store.get(request().id) == ANSWER

    async def test_a_reply_is_there_for_whoever_opens_the_store_next(self, opener: Opener) -> None:
        first = await opener()
        await put(first, request())
        second = await opener()
        assert await second.get(request().id) == ANSWER
        await first.close()
        await second.close()
        assert await (await opener()).get(request().id) == ANSWER

    async def test_many_are_read_at_once_and_those_without_a_reply_left_out(self, store: ResponseStore) -> None:
        asked = [request(str(number)) for number in range(1203)]
        await asyncio.gather(*(put(store, each, Completion(text=each.messages[0].content)) for each in asked))
        stored = await store.get_many([*(each.id for each in asked), asked[0].id, "0" * 64])
        assert {name: reply.text for name, reply in stored.items()} == {
            each.id: str(number) for number, each in enumerate(asked)
        }
        assert await store.get_many([]) == {}

    async def test_the_first_reply_stays(self, opener: Opener) -> None:
        one, two = await opener(), await opener()
        await put(one, request())
        assert (await put(two, request(), ANSWER.replace(text="later"))).text == ANSWER.text
        assert await one.get(request().id) == ANSWER

    async def test_a_later_reply_can_replace_it(self, opener: Opener) -> None:
        one, two = await opener(), await opener()
        await put(one, request())
        await two.replace(request().id, request(), Completion(text="later"))
        assert await one.get(request().id) == Completion(text="later")
        assert (await one.stats()).replies == 1

    async def test_one_of_two_may_ask(self, opener: Opener) -> None:
        one, two = await opener(), await opener()
        assert await one.claim(request().id)
        assert not await two.claim(request().id)
        assert await two.claim(request("another").id)
        await one.release(request().id)
        assert await two.claim(request().id)
        await two.release(request().id)

    async def test_what_is_answered_cannot_be_claimed(self, opener: Opener) -> None:
        one, two = await opener(), await opener()
        assert await one.claim(request().id)
        await put(one, request())
        assert not await one.claim(request().id)
        assert not await two.claim(request().id)

    async def test_only_the_holder_gives_a_claim_back(self, opener: Opener) -> None:
        one, two = await opener(), await opener()
        assert await one.claim(request().id)
        await two.release(request().id)
        assert not await two.claim(request().id)

    async def test_closing_gives_claims_back_and_may_happen_twice(self, opener: Opener) -> None:
        one, two = await opener(), await opener()
        assert await one.claim(request().id)
        await one.close()
        await one.close()
        assert await two.claim(request().id)

    async def test_keys_are_not_written(self, store: ResponseStore) -> None:
        await put(store, request(f"my key is {KEY}"))
        assert KEY not in str(await entries(store))
        assert await store.verify() == []

    async def test_lone_surrogates_do_no_harm(self, store: ResponseStore) -> None:
        await put(store, request("x\ud800y"), Completion(text="z"))
        assert [entry.request for entry in await entries(store)] == [request("x\ud800y")]

    async def test_entries_come_oldest_first(self, store: ResponseStore, clock: Clock) -> None:
        for step, text in ((5, "b"), (-10, "a"), (20, "c")):
            clock.now += step
            await put(store, request(text))
        assert [entry.request.messages[0].content for entry in await entries(store)] == ["a", "b", "c"]
        assert {entry.completion for entry in await entries(store)} == {ANSWER}
        assert [entry.id for entry in await entries(store)] == [request(text).id for text in "abc"]

    async def test_an_empty_store_is_sound_and_says_so(self, store: ResponseStore) -> None:
        stats = await store.stats()
        assert (stats.replies, stats.models, stats.stages, stats.oldest, stats.newest) == (0, {}, {}, None, None)
        assert await store.verify() == []
        assert await store.prune(0.0) == 0

    async def test_statistics_count_by_model_and_stage(self, store: ResponseStore, clock: Clock) -> None:
        began = clock.now
        await put(store, request("a", stage="output"))
        clock.now += 60
        await put(store, request("b", stage="judge"))
        await put(store, request("c", stage="judge", model="n"))
        stats = await store.stats()
        assert (stats.replies, stats.models, stats.stages) == (3, {"m": 2, "n": 1}, {"judge": 2, "output": 1})
        assert (stats.oldest, stats.newest) == (began, began + 60)

    async def test_what_meets_all_conditions_is_pruned(self, store: ResponseStore, clock: Clock) -> None:
        await put(store, request("old", stage="output"))
        await put(store, request("old", stage="judge", model="n"))
        clock.now += 100
        await put(store, request("new", stage="judge"))
        assert await store.prune(101.0) == 0
        assert await store.prune(99.0, stage="judge", model="m") == 0
        assert await store.prune(stage="judge", dry_run=True) == 2
        assert await store.prune(99.0, stage="judge") == 1
        assert await store.prune(model="m") == 2
        assert (await store.stats()).replies == 0

    async def test_useless_replies_are_pruned(self, store: ResponseStore) -> None:
        await put(store, request("useful"), Completion(text="yes", finish_reason="stop"))
        await put(store, request("empty"), Completion(text="", finish_reason="stop"))
        await put(store, request("cut off"), Completion(text="y", finish_reason="length"))
        assert await store.prune(failed=True) == 2
        assert await store.get(request("useful").id) is not None

    async def test_ids_come_in_their_order_some_at_a_time(self, store: ResponseStore) -> None:
        asked = [request(str(number)) for number in range(7)]
        await asyncio.gather(*(put(store, each) for each in asked))
        first = await store.ids(limit=4)
        assert [*first, *await store.ids(first[-1], 4)] == sorted(each.id for each in asked)
        assert await store.ids("f" * 65) == []

    async def test_entries_of_another_store_are_taken_as_they_are(self, opener: Opener) -> None:
        one, two = await opener(), MemoryStore(clock=lambda: 7.5)
        asked = [request(text) for text in ("here too", "new", f"a key {KEY}")]
        for each in asked:
            await put(two, each)
        await put(one, request("here too"), Completion(text="mine"))
        ids = [each.id for each in asked]
        entries = await two.read(ids)
        assert set(await one.lacks([*ids, "0" * 64])) == {*ids, "0" * 64} - {request("here too").id}
        assert await one.add(entries) == 2
        assert await one.add(entries) == 0
        assert await one.add([]) == 0
        assert await one.lacks(ids) == []
        stored = {entry.id: entry for entry in await one.read(ids)}
        assert stored[request("here too").id].completion == Completion(text="mine")
        assert [stored[each] for each in ids[1:]] == entries[1:]
        assert await one.verify() == []
        assert {entry.scrubbed for entry in entries} == {True, False}
