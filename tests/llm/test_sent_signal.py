"""Requests are counted in the moment in which they leave; what never leaves is not."""

from __future__ import annotations

import asyncio

import pytest

from promptpex.core.errors import BadRequest, ModelError, NotAuthorised, RateLimited, Unavailable
from promptpex.core.events import Answered, Event, Failed, Listener, Retrying, Sent, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client, Meter, Totals
from promptpex.llm.fake import FakeClient
from promptpex.llm.pacing.budget import Budget
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.providers.openai_compatible import OpenAICompatible
from promptpex.llm.resolve_model import OPENAI
from promptpex.llm.stack import Stack
from tests.llm.questions import request
from tests.llm.test_stack import stack


def counted(inner: Client) -> tuple[Stack, Meter, list[Event]]:
    heard = list[Event]()
    client = stack(inner, emit=heard.append, max_attempts=1)
    return client, client.meter, heard


async def test_a_request_counts_before_there_is_an_answer() -> None:
    async def never(asked: Request) -> str:
        await asyncio.Event().wait()
        return "too late"

    client, meter, heard = counted(FakeClient(never))
    asking = asyncio.create_task(client.complete(request(label="m?top_p=1")))
    await asyncio.sleep(0)
    assert heard == [Sent("m?top_p=1", "output", request().id, "m", 300.0)]
    asking.cancel()
    assert (meter.total.sent, meter.total.requests) == (1, 0)


async def test_each_attempt_is_sent_and_booked_under_the_label() -> None:
    heard = list[Event]()
    client = stack(FakeClient([Unavailable("down"), Unavailable("down"), "up"]), emit=heard.append, max_attempts=3)
    await client.complete(request(label="m?top_p=1"))
    assert (client.meter.total.sent, client.meter.total.requests) == (3, 1)
    assert {event.model for event in heard if isinstance(event, Sent | Retrying)} == {"m?top_p=1"}
    assert sum(isinstance(event, Sent) for event in heard) == 3


async def test_what_a_provider_refuses_by_itself_was_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    provider = OpenAICompatible(OPENAI)
    client, meter, _ = counted(provider)
    with pytest.raises(NotAuthorised, match="OPENAI_API_KEY"):
        await client.complete(request(model="gpt-4o-mini"))
    await provider.close()
    assert meter.total.sent == 0


class Silent:
    """A client of somebody else, who does not say when a request leaves."""

    def __init__(self, answer: Completion | ModelError) -> None:
        self.answer = answer

    async def complete(self, request: Request) -> Completion:
        if isinstance(self.answer, ModelError):
            raise self.answer
        return self.answer

    async def close(self) -> None:
        return


async def test_an_answer_proves_that_a_request_was_sent() -> None:
    client, meter, _ = counted(Silent(Completion(text="x")))
    await client.complete(request())
    assert meter.total.sent == 1
    client, meter, _ = counted(Silent(BadRequest("no")))
    with pytest.raises(BadRequest):
        await client.complete(request())
    assert meter.total.sent == 0


async def test_what_a_recording_answers_was_not_sent() -> None:
    client, meter, heard = counted(FakeClient(lambda asked: "recorded"))
    asked = request(model="replay/old.jsonl#m")
    await client.complete(asked)
    assert not any(isinstance(event, Sent) for event in heard)
    assert (meter.total.sent, meter.total.requests, meter.total.replayed) == (0, 1, 1)


PAID = Completion(text="x", tokens_in=3, tokens_out=4, cost_usd=0.5, latency_ms=7.0)


def metered(inner: Client, meter: Meter, emit: Listener = ignore_events) -> Stack:
    return Stack(inner, meter=meter, budget=Budget(), cancel_token=CancelToken(), emit=emit)


async def test_totals_tell_known_from_unknown_and_cached_from_paid() -> None:
    meter = Meter()
    client = metered(FakeClient([PAID, "uncounted", PAID.replace(cached=True), RateLimited("no")]), meter)
    for _ in range(3):
        await client.complete(request())
    with pytest.raises(RateLimited):
        await client.complete(request(stage="judge"))
    assert meter.totals[("output", "m")] == Totals(
        requests=2, cached=1, tokens_in=3, tokens_out=4, cost_usd=0.5, unpriced=1, latency_ms=7.0
    )
    assert meter.totals[("judge", "m")] == Totals(failed=1)
    assert meter.total.requests == 2
    assert meter.total.failed == 1


async def test_every_request_is_metered() -> None:
    heard = list[Event]()
    client = metered(FakeClient([PAID, RateLimited("slow down")]), Meter(), heard.append)
    await client.complete(request())
    with pytest.raises(RateLimited):
        await client.complete(request())
    assert heard == [
        Answered("m", "output", request().id, False, 7.0, 3, 4, 0.5),
        Failed("m", "output", request().id, "rate-limited", "slow down"),
    ]
