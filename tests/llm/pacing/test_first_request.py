"""A model that cannot be asked at all costs one request, however many questions there are."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter

import pytest

from promptpex.core.errors import (
    BadRequest,
    BudgetExceeded,
    ModelError,
    NotAuthorised,
    RateLimited,
    Stopped,
    TimedOut,
    UnknownModel,
)
from promptpex.core.events import Event, Listener, Notice, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client, Loading
from promptpex.llm.fake import FakeClient
from promptpex.llm.pacing.retry import FirstRequests
from promptpex.llm.providers.router import Router
from promptpex.llm.stack import StackOptions, build
from tests.llm.questions import request
from tests.llm.virtual_time import in_virtual_time
from tests.servers import ScriptedServer, Step, error_body


class FirstOf:
    """Asks ``inner`` by way of ``FirstRequests``, with a queue of ``queue_s`` seconds in between."""

    def __init__(
        self, inner: Client, emit: Listener = ignore_events, *, alone_s: float = 60.0, queue_s: float = 0.0
    ) -> None:
        loading = inner if isinstance(inner, Loading) else None
        self.inner, self.firsts, self.queue_s = inner, FirstRequests(emit, loading=loading, alone_s=alone_s), queue_s

    async def complete(self, request: Request) -> Completion:
        return await self.firsts.request(request, self.queued)

    async def queued(self, request: Request) -> Completion:
        await asyncio.sleep(self.queue_s)
        return await self.firsts.attempt(request, self.inner.complete)

    async def close(self) -> None:
        await self.inner.close()


class Slow:
    """Counts what is sent, and how much of it at a time."""

    def __init__(self, error: type[ModelError] | None = None) -> None:
        self.sent, self.open, self.most, self.first_alone = 0, 0, 0, False
        self.error = error

    async def complete(self, request: Request) -> Completion:
        self.sent += 1
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            await asyncio.sleep(0.01)
            self.first_alone = self.first_alone or self.sent == 1
        finally:
            self.open -= 1
        if self.error is not None:
            raise self.error("no", model=request.model)
        return Completion(text="fine")

    async def close(self) -> None:
        pass


async def many(client: Client, count: int = 66, **more: object) -> list[object]:
    asked = [request(f"q{n}").model_copy(update=more) for n in range(count)]
    return list(await asyncio.gather(*(client.complete(one) for one in asked), return_exceptions=True))


async def test_a_wrong_key_is_found_by_one_request_and_reported_once() -> None:
    inner, heard = Slow(NotAuthorised), list[Event]()
    outcomes = await many(FirstOf(inner, heard.append))
    assert inner.sent == 1
    assert {type(outcome) for outcome in outcomes} == {NotAuthorised}
    assert [event.level for event in heard if isinstance(event, Notice)] == ["warning"]


async def test_the_same_name_at_another_server_is_another_model() -> None:
    inner = Slow(NotAuthorised)
    client = FirstOf(inner)
    await many(client, api_base="http://127.0.0.1:1/v1")
    await many(client, api_base="http://127.0.0.1:2/v1")
    assert inner.sent == 2


@pytest.mark.parametrize("error", [None, BadRequest, TimedOut])
async def test_all_go_side_by_side_once_the_first_is_back(error: type[ModelError] | None) -> None:
    inner = Slow(error)
    outcomes = await many(FirstOf(inner))
    assert inner.sent == len(outcomes) == 66
    assert inner.first_alone
    assert inner.most == 65


async def test_when_the_first_is_cancelled_the_next_is_the_first() -> None:
    inner = Slow()
    client = FirstOf(inner)
    first = asyncio.create_task(client.complete(request("a")))
    second = asyncio.create_task(client.complete(request("b")))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).text == "fine"


async def test_a_slow_server_is_not_made_slower() -> None:
    """The others wait a moment, not for as long as a server hangs; what comes at last is still heard."""
    back = asyncio.Event()

    class Hangs(Slow):
        async def complete(self, request: Request) -> Completion:
            self.sent += 1
            if self.sent == 1:
                await back.wait()
                raise NotAuthorised("no", model=request.model)
            return Completion(text="fine")

    inner = Hangs()
    client = FirstOf(inner, alone_s=0.01)
    first = asyncio.create_task(client.complete(request("first")))
    await asyncio.sleep(0)
    outcomes = await many(client)
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    back.set()
    with pytest.raises(NotAuthorised):
        await first
    with pytest.raises(NotAuthorised):
        await client.complete(request("later"))
    assert inner.sent == 67


async def test_a_server_that_refuses_the_first_attempt_for_a_while_is_then_asked_by_all() -> None:
    """Not by one request, attempt after attempt, with all others behind it."""
    sent: list[int] = []

    async def answer(asked: Request) -> Completion:
        sent.append(inner.in_flight)
        if len(sent) <= 2:
            raise TimedOut("later", model=asked.model)
        await asyncio.sleep(0.01)
        return Completion(text="fine")

    inner = FakeClient(answer)
    client = build(
        inner, store=None, rng=random.Random(1), clock=time.monotonic, sleep=lambda seconds: asyncio.sleep(60),
        options=StackOptions(max_attempts=2),
    )  # fmt: skip
    first = asyncio.create_task(client.complete(request("first")))
    others = [asyncio.create_task(client.complete(request(f"q{n}"))) for n in range(30)]
    done, _ = await asyncio.wait(others[1:], timeout=300)
    assert len(done) == 29
    assert not first.done()
    for task in (first, others[0]):
        task.cancel()


@in_virtual_time
async def test_the_time_of_the_first_begins_when_it_is_sent() -> None:
    """A model that waits behind another on one server, or for a library to load, is asked once all the same."""

    class Loads(Slow):
        async def load(self, request: Request) -> None:
            await asyncio.sleep(0.1)

    inner = Loads(NotAuthorised)
    outcomes = await many(FirstOf(inner, alone_s=0.05, queue_s=0.1))
    assert {type(outcome) for outcome in outcomes} == {NotAuthorised}
    assert inner.sent == 1


@pytest.mark.parametrize("error", [BudgetExceeded, Stopped, RateLimited])
async def test_what_says_nothing_of_the_model_does_not_end_the_others(error: type[ModelError]) -> None:
    """The longest question may pass a budget that has room for the others; a stop is not the model's fault."""
    inner = FakeClient(lambda asked: error("no") if "long" in asked.messages[-1].content else "fine")
    heard = list[Event]()
    client = FirstOf(inner, heard.append)
    first = asyncio.create_task(client.complete(request("long")))
    outcomes = await many(client)
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    with pytest.raises(error):
        await first
    assert heard == []


async def test_one_dead_model_of_two_is_asked_once_by_the_whole_stack(scripted: ScriptedServer) -> None:
    refused = Step(error_body("no such model", "model_not_found"), status=404, delay_s=0.05)
    scripted.otherwise = lambda seen: refused if seen.body["model"] == "dead" else Step()
    client = build(Router(), store=None, rng=random.Random(1), clock=time.monotonic, options=StackOptions())
    base = f"{scripted.url}/v1"
    good, bad = await asyncio.gather(
        many(client, model="openai/good", api_base=base), many(client, model="openai/dead", api_base=base)
    )
    await client.close()
    assert all(isinstance(outcome, Completion) for outcome in good)
    assert {type(outcome) for outcome in bad} == {UnknownModel}
    assert Counter(seen.body["model"] for seen in scripted.requests) == {"good": 66, "dead": 1}
