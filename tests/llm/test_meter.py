from __future__ import annotations

import pytest

from promptpex.core.errors import RateLimited
from promptpex.core.events import Answered, Event, Failed, Listener, ignore_events
from promptpex.core.records import Completion
from promptpex.llm.client import Client, Meter, Totals
from promptpex.llm.fake import FakeClient
from promptpex.llm.pacing.budget import Budget
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.stack import Stack
from tests.llm.questions import request

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
