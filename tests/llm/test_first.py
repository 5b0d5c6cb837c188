"""A model that cannot be asked at all costs one request, however many questions there are."""

from __future__ import annotations

import asyncio

import pytest

from promptpex.errors import BadRequest, ModelError, NotAuthorised, TimedOut
from promptpex.events import Event, Notice
from promptpex.llm.fake import FakeClient
from promptpex.llm.first import FirstClient
from promptpex.records import Completion, Request
from tests.llm.questions import request


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


async def many(client: FirstClient, count: int = 66, **more: object) -> list[object]:
    asked = [request(f"q{n}").model_copy(update=more) for n in range(count)]
    return list(await asyncio.gather(*(client.complete(one) for one in asked), return_exceptions=True))


async def test_a_wrong_key_is_found_by_one_request_and_said_once() -> None:
    inner, heard = Slow(NotAuthorised), list[Event]()
    outcomes = await many(FirstClient(inner, heard.append))
    assert inner.sent == 1
    assert {type(outcome) for outcome in outcomes} == {NotAuthorised}
    assert [event.level for event in heard if isinstance(event, Notice)] == ["warning"]


async def test_one_dead_model_of_two_holds_the_other_up_in_nothing() -> None:
    inner = FakeClient(lambda asked: NotAuthorised("no", model="b") if asked.model == "b" else "fine")
    client = FirstClient(inner)
    good, bad = await asyncio.gather(many(client, model="a"), many(client, model="b"))
    assert all(isinstance(outcome, Completion) for outcome in good)
    assert all(isinstance(outcome, NotAuthorised) for outcome in bad)
    assert sum(asked.model == "b" for asked in inner.requests) == 1


async def test_the_same_name_at_another_server_is_another_model() -> None:
    inner = Slow(NotAuthorised)
    client = FirstClient(inner)
    await many(client, api_base="http://127.0.0.1:1/v1")
    await many(client, api_base="http://127.0.0.1:2/v1")
    assert inner.sent == 2


@pytest.mark.parametrize("error", [None, BadRequest, TimedOut])
async def test_all_go_side_by_side_once_the_first_is_back(error: type[ModelError] | None) -> None:
    inner = Slow(error)
    outcomes = await many(FirstClient(inner))
    assert inner.sent == len(outcomes) == 66
    assert inner.first_alone
    assert inner.most == 65


async def test_when_the_first_is_cancelled_the_next_is_the_first() -> None:
    inner = Slow()
    client = FirstClient(inner)
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
    client = FirstClient(inner, alone_s=0.01)
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
