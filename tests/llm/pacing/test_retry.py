from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from typing import Any

import pytest

from promptpex.core.errors import (
    BadRequest,
    BudgetExceeded,
    CutByBudget,
    CutByDeadline,
    CutByStop,
    DeadlinePassed,
    ModelError,
    NotAuthorised,
    RateLimited,
    Stopped,
    TimedOut,
    Unavailable,
    UnknownModel,
)
from promptpex.core.events import Event, Listener, Notice, Retrying, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client, Loading
from promptpex.llm.fake import FakeClient
from promptpex.llm.pacing import CALL_DEADLINE_S, DRAIN_S
from promptpex.llm.pacing.breaker import FAILURES_TO_OPEN
from promptpex.llm.pacing.budget import Budget, Spending
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.retry import FirstRequests, RetryingClient
from promptpex.llm.pacing.server_queue import Limiter
from promptpex.llm.providers.router import Router
from promptpex.llm.stack import StackOptions, build
from tests.llm.questions import request
from tests.llm.virtual_time import in_virtual_time, now
from tests.servers import ScriptedServer, Step, error_body


class Sleeper:
    """Sleeps at once and remembers for how long it should have."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)


class SlowFailure:
    """A client that fails each request after two seconds, and remembers when it came."""

    def __init__(self) -> None:
        self.sent: list[float] = []

    async def complete(self, request: Request) -> Completion:
        self.sent.append(now())
        await asyncio.sleep(2.0)
        raise Unavailable("down")

    async def close(self) -> None:
        """There is nothing to close."""


def retrying(inner: Client, *, cancel_token: CancelToken | None = None, **options: Any) -> RetryingClient:
    cancel_token = cancel_token or CancelToken()
    clock = options.pop("clock", now)
    limiter = Limiter(
        concurrency=options.pop("concurrency", 64),
        clock=now,
        cancel_token=cancel_token,
        longest_pause_s=options.get("call_deadline_s", CALL_DEADLINE_S),
    )
    return RetryingClient(
        inner, limiter=limiter, cancel_token=cancel_token, rng=random.Random(1), clock=clock, **options
    )


@pytest.mark.parametrize("error", [TimedOut("late"), Unavailable("down")])
@in_virtual_time
async def test_what_may_pass_is_tried_again(error: ModelError) -> None:
    heard = list[Event]()
    inner = FakeClient([error, error, "fine"])
    assert (await retrying(inner, emit=heard.append).complete(request())).text == "fine"
    assert [(event.attempt, event.reason) for event in heard if isinstance(event, Retrying)] == [
        (1, error.reason),
        (2, error.reason),
    ]


@pytest.mark.parametrize("error", [BadRequest("no"), NotAuthorised("no key"), ModelError("odd")])
@in_virtual_time
async def test_what_cannot_help_is_not_tried_again(error: ModelError) -> None:
    inner = FakeClient([error, "fine"])
    with pytest.raises(type(error)) as caught:
        await retrying(inner).complete(request())
    assert caught.value is error
    assert len(inner.requests) == 1


@in_virtual_time
async def test_the_last_error_stays_and_says_how_often_it_was_tried() -> None:
    inner = FakeClient(lambda asked: Unavailable("m is down.", model="m", reply="<html>"))
    with pytest.raises(Unavailable, match=r"m is down\. Tried 3 times\.") as caught:
        await retrying(inner, max_attempts=3).complete(request())
    assert caught.value.reply == "<html>"
    assert len(inner.requests) == 3


@in_virtual_time
async def test_waits_grow_with_full_jitter() -> None:
    sleep = Sleeper()
    client = retrying(FakeClient(lambda asked: TimedOut("late")), sleep=sleep, max_attempts=9)
    with pytest.raises(TimedOut):
        await client.complete(request())
    assert len(sleep.waits) == 8
    for wait, most in zip(sleep.waits, [0.5, 1, 2, 4, 8, 16, 30, 30], strict=True):
        assert 0 <= wait <= most
    assert len(set(sleep.waits)) == 8


@in_virtual_time
async def test_retry_after_is_obeyed() -> None:
    sleep = Sleeper()
    inner = FakeClient([RateLimited("slow down", retry_after=5.0), "fine"])
    started = now()
    assert (await retrying(inner, sleep=sleep).complete(request())).text == "fine"
    assert sleep.waits == [pytest.approx(5.25, abs=0.25)]
    assert 5.0 <= now() - started <= 5.5


@in_virtual_time
async def test_a_call_has_a_deadline_over_all_its_attempts() -> None:
    inner = FakeClient(lambda asked: "late", latency_s=5.0)
    started = now()
    with pytest.raises(TimedOut, match="within"):
        await retrying(inner, call_deadline_s=0.05, max_attempts=9).complete(request())
    assert now() - started == pytest.approx(0.05, abs=0.005)
    assert len(inner.requests) == 1


@in_virtual_time
async def test_the_time_of_failed_attempts_counts_and_no_attempt_is_begun_without_any_left() -> None:
    inner = SlowFailure()
    with pytest.raises(TimedOut):
        await retrying(inner, call_deadline_s=5.0, max_attempts=9).complete(request())
    assert len(inner.sent) == 3
    assert inner.sent[2] - inner.sent[0] < 5.0


@in_virtual_time
async def test_queueing_is_not_part_of_the_calls_deadline() -> None:
    inner = FakeClient(lambda asked: "fine", latency_s=0.03)
    client = retrying(inner, call_deadline_s=0.1, concurrency=1)
    answers = await asyncio.gather(*(client.complete(request(str(n))) for n in range(8)))
    assert [answer.text for answer in answers] == ["fine"] * 8


@in_virtual_time
async def test_a_run_has_a_deadline_and_nothing_is_sent_after_it() -> None:
    """What was sent is waited for; if that takes too long, it is cut, and not a request that was never sent."""
    for latency_s, answered, cut in ((DRAIN_S, 3, 0), (2 * DRAIN_S, 2, 1)):
        inner = FakeClient(lambda asked: "fine", latency_s=latency_s)
        client = retrying(inner, run_deadline_s=2.4 * latency_s, concurrency=1)
        started = now()
        outcomes = await asyncio.gather(*(client.complete(request(str(n))) for n in range(10)), return_exceptions=True)
        assert now() - started == pytest.approx(3 * latency_s if answered == 3 else 2.4 * latency_s + DRAIN_S, abs=0.01)
        late = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        assert len(late) == 10 - answered
        assert all(isinstance(each, DeadlinePassed) and "run's deadline" in str(each) for each in late)
        assert sum(isinstance(each, CutByDeadline) for each in late) == cut
        with pytest.raises(DeadlinePassed) as caught:
            await client.complete(request("late"))
        assert type(caught.value) is DeadlinePassed
        assert len(inner.requests) == 3


@in_virtual_time
async def test_what_waits_for_its_next_try_when_the_run_ends_was_sent() -> None:
    def failing(**options: Any) -> RetryingClient:
        return retrying(
            FakeClient(lambda asked: RateLimited("slow down", model="m", retry_after=5.0)), **options, max_attempts=9
        )

    with pytest.raises(CutByDeadline, match=r"slow down .*ended before it was asked again"):
        await failing(run_deadline_s=4.0).complete(request())
    cancel_token = CancelToken()
    waiting = asyncio.ensure_future(failing(cancel_token=cancel_token).complete(request()))
    await asyncio.sleep(1.0)
    cancel_token.cancel()
    with pytest.raises(CutByStop):
        await waiting
    budget = Budget(max_requests=1)
    waiting = asyncio.ensure_future(failing(budget=budget).complete(request()))
    await asyncio.sleep(1.0)
    budget.settle(await budget.reserve(request("another")), Spending(1))
    with pytest.raises(CutByBudget):
        await waiting


@in_virtual_time
async def test_a_stop_ends_waits_and_refuses_what_comes() -> None:
    cancel_token = CancelToken()
    inner = FakeClient([Unavailable("down"), "fine"])
    client = retrying(inner, cancel_token=cancel_token)
    task = asyncio.create_task(client.complete(request()))
    await asyncio.sleep(0.01)
    cancel_token.cancel()
    with pytest.raises(CutByStop):
        await asyncio.wait_for(task, 1.0)
    with pytest.raises(Stopped) as caught:
        await client.complete(request("next"))
    assert type(caught.value) is Stopped
    assert len(inner.requests) == 1


@in_virtual_time
async def test_a_dead_server_does_not_cost_attempts_times_requests() -> None:
    inner = FakeClient(lambda asked: Unavailable("refused", model="m"))
    client = retrying(inner, concurrency=8, max_attempts=6)
    started = now()
    outcomes = await asyncio.gather(*(client.complete(request(str(n))) for n in range(200)), return_exceptions=True)
    assert now() - started < 20.0
    assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
    assert len(inner.requests) < 8 + FAILURES_TO_OPEN + 10


@in_virtual_time
async def test_a_server_that_comes_back_loses_nobody() -> None:
    back = now() + 0.8

    def reply(asked: Request) -> str | Unavailable:
        return "fine" if now() > back else Unavailable("refused", model="m")

    inner = FakeClient(reply)
    client = retrying(inner, concurrency=8, max_attempts=4)
    answers = await asyncio.gather(*(client.complete(request(str(n))) for n in range(100)))
    assert [answer.text for answer in answers] == ["fine"] * 100
    assert len(inner.requests) < 150


@in_virtual_time
async def test_a_model_that_its_gateway_cannot_serve_does_not_silence_the_others() -> None:
    inner = FakeClient(lambda asked: Unavailable("HTTP 500") if asked.model == "openai/dead" else "fine")
    client = retrying(inner, max_attempts=6)
    dead = (client.complete(request(str(n), model="openai/dead")) for n in range(20))
    assert all(isinstance(one, Unavailable) for one in await asyncio.gather(*dead, return_exceptions=True))
    assert (await client.complete(request(model="openai/judge"))).text == "fine"


@in_virtual_time
async def test_a_stop_gives_what_is_in_flight_a_few_seconds_and_no_more() -> None:
    cancel_token = CancelToken(grace_s=0.5)

    async def slow(asked: Request) -> str:
        await asyncio.sleep(0.01 if asked.messages[0].content == "quick" else 60)
        return "fine"

    client = retrying(FakeClient(slow), cancel_token=cancel_token)
    await client.complete(request("quick"))
    quick, hanging = (asyncio.ensure_future(client.complete(request(text))) for text in ("quick", "hanging"))
    await asyncio.sleep(0.002)
    begun = now()
    cancel_token.cancel()
    assert (await quick).text == "fine"
    with pytest.raises(CutByStop, match="had not answered when the run was stopped"):
        await hanging
    assert now() - begun == pytest.approx(0.5, abs=0.005)


@in_virtual_time
async def test_a_deadline_before_the_end_of_the_grace_is_a_timeout_still() -> None:
    cancel_token = CancelToken(grace_s=60)

    async def slow(asked: Request) -> str:
        await asyncio.sleep(60)
        return "fine"

    hanging = asyncio.ensure_future(
        retrying(FakeClient(slow), cancel_token=cancel_token, call_deadline_s=0.05).complete(request())
    )
    await asyncio.sleep(0.002)
    cancel_token.cancel()
    with pytest.raises(TimedOut):
        await hanging


@in_virtual_time
async def test_who_asks_for_more_patience_than_a_call_has_is_left_alone() -> None:
    inner = FakeClient(lambda asked: RateLimited("tomorrow", retry_after=86400))
    client = retrying(inner, concurrency=2, call_deadline_s=30)
    async with asyncio.timeout(5):
        outcomes = await asyncio.gather(*(client.complete(request(str(n))) for n in range(20)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {RateLimited}
    assert len(inner.requests) <= 2
    assert "asks to wait 86400 s" in str(outcomes[-1])


@in_virtual_time
async def test_whoever_probes_a_server_that_is_down_loses_no_attempt() -> None:
    """All requests share the patience; the one that tries for them all does not pay for it alone."""
    probes = 3
    failures = [Unavailable("down")] * (FAILURES_TO_OPEN + 1 + probes)
    inner = FakeClient(["fine", *failures, *["fine"] * (FAILURES_TO_OPEN + 1)])
    client = retrying(inner, max_attempts=2)
    await client.complete(request("first"))
    answers = await asyncio.gather(*(client.complete(request(str(number))) for number in range(FAILURES_TO_OPEN + 1)))
    assert {answer.text for answer in answers} == {"fine"}


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
