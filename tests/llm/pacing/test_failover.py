"""Several servers of one model: who is asked, and what becomes of a request that a server fails."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import (
    BadRequest,
    DeadlinePassed,
    ModelError,
    NotAuthorised,
    RateLimited,
    Stopped,
    TimedOut,
    Unavailable,
    UnknownModel,
)
from promptpex.core.events import Event, Notice
from promptpex.core.records import Completion, Request
from promptpex.llm.fake import FakeClient
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.retry import RetryingClient, RetryPolicy
from promptpex.llm.pacing.server_queue import Limiter, by_load
from tests.llm.questions import request
from tests.llm.virtual_time import VirtualTimeLoop, in_virtual_time, now

A, B, C = (f"http://10.0.0.{n}:8080/v1" for n in (1, 2, 3))
"""Not on this machine, so that nothing waits for a model to be loaded."""


def asked(text: str = "hello", servers: tuple[str, ...] = (A, B), **fields: Any) -> Request:
    return request(text, model="openai/x", label="small", servers=servers, backend="the servers of small", **fields)


class Place:
    """A client over scripted servers.

    Attributes:
        fails: the error of each server that fails now.
        sent: how many requests went to each.
        heard: its events.
    """

    def __init__(self, *, latency_s: float = 0.1, concurrency: int = 4, **policy: Any) -> None:
        self.fails: dict[str, Callable[[], ModelError]] = {}
        self.sent: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self._in_flight: Counter[str] = Counter()
        self.heard: list[Event] = []
        self.token = CancelToken()
        self.fake = FakeClient(self._reply)
        self._latency_s = latency_s
        limits = {name: policy.pop(name) for name in ("rpm", "tpm") if name in policy}
        longest = policy.get("call_deadline_s", 300.0)
        self.limiter = Limiter(
            concurrency=concurrency, clock=now, cancel_token=self.token, longest_pause_s=longest, **limits
        )
        self.client = RetryingClient(
            self.fake,
            RetryPolicy(**policy),
            limiter=self.limiter,
            cancel_token=self.token,
            rng=random.Random(1),
            clock=now,
            emit=self.heard.append,
        )

    async def _reply(self, request: Request) -> str | ModelError:
        server = request.sent_to or ""
        self.sent[server] += 1
        self._in_flight[server] += 1
        self.most[server] = max(self.most[server], self._in_flight[server])
        try:
            if server in self.fails:
                await asyncio.sleep(0.001)
                return self.fails[server]()
            await asyncio.sleep(self._latency_s)
            return server
        finally:
            self._in_flight[server] -= 1

    async def ask(self, count: int, servers: tuple[str, ...] = (A, B)) -> list[Completion | BaseException]:
        questions = (self.client.complete(asked(str(n), servers)) for n in range(count))
        return await asyncio.gather(*questions, return_exceptions=True)

    @property
    def held(self) -> list[int]:
        """How many slots of the first two servers are not given back."""
        return [self.limiter.queue_of(asked(sent_to=server)).in_flight for server in (A, B)]

    def notices(self, level: str) -> list[str]:
        return [event.message for event in self.heard if isinstance(event, Notice) and event.level == level]


def down() -> ModelError:
    return Unavailable("x: connection refused", model="openai/x")


def answered(outcomes: list[Completion | BaseException]) -> int:
    assert all(isinstance(each, Completion | ModelError) for each in outcomes), outcomes
    return sum(isinstance(each, Completion) for each in outcomes)


@in_virtual_time
async def test_all_servers_have_their_share_and_each_its_own_limit() -> None:
    place = Place()
    assert answered(await place.ask(120, (A, B, C))) == 120
    assert max(place.most.values()) == 4
    assert min(place.sent.values()) >= 36


@in_virtual_time
async def test_one_request_at_a_time_goes_to_each_server_in_turn() -> None:
    place = Place()
    order = [(await place.client.complete(asked(str(n)))).text for n in range(6)]
    assert order in ([A, B] * 3, [B, A] * 3)


@in_virtual_time
async def test_a_slow_server_is_given_less() -> None:
    place = Place(concurrency=2)
    reply = place._reply

    async def slow(request: Request) -> str | ModelError:
        await asyncio.sleep(0.9 if request.sent_to == A else 0.0)
        return await reply(request)

    place.fake._reply = slow
    assert answered(await place.ask(60)) == 60
    assert place.sent[B] > 5 * place.sent[A]


@in_virtual_time
async def test_a_server_that_was_never_asked_is_given_one_request_first() -> None:
    place = Place(concurrency=8)
    place.fails[B] = lambda: NotAuthorised("x: wrong key", model="openai/x")
    assert answered(await place.ask(40)) == 40
    assert place.sent[B] == 1
    (notice,) = place.notices("warning")
    assert notice.startswith(f"small: {B} is asked nothing more")


@in_virtual_time
async def test_a_server_that_takes_long_at_first_is_given_more_after_a_second() -> None:
    place = Place(latency_s=30.0, concurrency=8)
    assert answered(await place.ask(16)) == 16
    assert place.most == {A: 8, B: 8}


@in_virtual_time
async def test_a_server_that_is_down_is_passed_over_and_costs_a_few_attempts() -> None:
    place = Place()
    place.fails[B] = down
    assert answered(await place.ask(200)) == 200
    assert place.sent[A] == 200
    assert 5 <= place.sent[B] <= 20
    assert place.most[B] == 1
    (notice,) = place.notices("warning")
    assert notice == f"small: {B} does not answer; the other servers are asked until it does."


@in_virtual_time
async def test_a_server_that_goes_down_in_mid_run_loses_nothing_and_is_asked_again_when_it_is_back() -> None:
    place = Place()

    async def outage() -> None:
        await asyncio.sleep(2.0)
        place.fails[B] = down
        await asyncio.sleep(5.0)
        place.sent.clear()
        del place.fails[B]

    _, outcomes = await asyncio.gather(outage(), place.ask(900))
    assert answered(outcomes) == 900
    assert place.sent[B] > 0.25 * place.sent[A]
    assert place.notices("info") == [f"small: {B} answers again."]


@in_virtual_time
async def test_where_all_are_down_the_error_names_each() -> None:
    place = Place()
    place.fails = {A: down, B: lambda: RateLimited("x: busy", model="openai/x")}
    (outcome,) = await place.ask(1)
    assert isinstance(outcome, ModelError)
    assert f"small has no answer from its servers {A} (unavailable), {B} (rate-limited): x: " in outcome.message
    assert "Tried" in outcome.message


@in_virtual_time
async def test_servers_that_stay_down_end_all_requests_soon() -> None:
    place = Place()
    place.fails = {A: down, B: down}
    started = now()
    outcomes = await place.ask(500)
    assert answered(outcomes) == 0
    assert now() - started < 30
    assert sum(place.sent.values()) < 60
    assert f"none of its servers ({A}, {B}) has answered for a while" in str(outcomes[-1])


@in_virtual_time
async def test_servers_that_are_back_in_time_answer_those_who_wait() -> None:
    place = Place()
    assert answered(await place.ask(4)) == 4
    place.fails = {A: down, B: down}

    async def repair() -> None:
        await asyncio.sleep(12.0)
        place.fails.clear()

    _, outcomes = await asyncio.gather(repair(), place.ask(100))
    assert answered(outcomes) >= 92


@in_virtual_time
async def test_a_server_that_asks_to_wait_is_left_alone_meanwhile() -> None:
    place = Place()
    assert answered(await place.ask(8)) == 8
    place.sent.clear()
    place.fails[B] = lambda: RateLimited("x: busy", model="openai/x", retry_after=20.0)
    started = now()
    assert answered(await place.ask(100)) == 100
    assert now() - started < 20
    assert place.sent[B] <= 4
    del place.fails[B]
    await asyncio.sleep(21)
    assert answered(await place.ask(8)) == 8
    assert place.sent[B] > 4


@in_virtual_time
async def test_a_server_that_fails_from_the_beginning_is_asked_by_one_at_a_time() -> None:
    """However many it would bear: what it fails is to be sent elsewhere, not to fill its queue first."""
    place = Place(concurrency=32)
    place.fails[B] = down
    assert answered(await place.ask(200)) == 200
    assert 5 <= place.sent[B] <= 8
    assert place.most[B] == 1


@in_virtual_time
async def test_a_server_that_asks_to_wait_from_the_beginning_is_asked_once() -> None:
    place = Place(concurrency=32)
    place.fails[B] = lambda: RateLimited("x: busy", model="openai/x", retry_after=20.0)
    assert answered(await place.ask(200)) == 200
    assert place.sent[B] == 1


@in_virtual_time
async def test_what_hangs_from_the_beginning_is_answered_elsewhere() -> None:
    """Only where others do answer: servers that are all slow have all the time there is."""
    place = Place(call_deadline_s=60.0)
    reply = place._reply
    seconds = {A: 1.0, B: 1000.0}

    async def late(request: Request) -> str | ModelError:
        await asyncio.sleep(seconds[request.sent_to or ""])
        return await reply(request)

    place.fake._reply = late
    started = now()
    assert answered(await place.ask(100)) == 100
    assert now() - started < 40
    assert place.sent[B] == 0
    place = Place(call_deadline_s=60.0)
    place.fake._reply, reply, seconds = late, place._reply, {A: 50.0, B: 50.0}
    assert answered(await place.ask(8)) == 8
    assert sum(place.sent.values()) == 8


@in_virtual_time
async def test_where_all_ask_to_wait_the_first_that_is_over_is_used() -> None:
    place = Place()
    waits = {A: 40.0, B: 5.0}

    def refuse_once(server: str) -> Callable[[], ModelError]:
        def error() -> ModelError:
            del place.fails[server]
            return RateLimited("x: busy", model="openai/x", retry_after=waits[server])

        return error

    place.fails = {server: refuse_once(server) for server in waits}
    started = now()
    assert answered(await place.ask(1)) == 1
    assert 5 <= now() - started < 10


@in_virtual_time
async def test_servers_that_all_ask_for_too_long_a_wait_are_not_waited_for() -> None:
    place = Place(call_deadline_s=60.0)
    place.fails = dict.fromkeys((A, B), lambda: RateLimited("x: tomorrow", model="openai/x", retry_after=3600.0))
    started = now()
    outcomes = await place.ask(50)
    assert answered(outcomes) == 0
    assert now() - started < 60
    assert "asks to wait 3600 s" in str(outcomes[-1])


@in_virtual_time
async def test_what_every_server_would_say_again_goes_to_no_other() -> None:
    place = Place()
    place.fails = dict.fromkeys((A, B), lambda: BadRequest("x: too hot", model="openai/x"))
    (outcome,) = await place.ask(1)
    assert isinstance(outcome, BadRequest)
    assert outcome.message == "x: too hot"
    assert sum(place.sent.values()) == 1


@in_virtual_time
async def test_servers_of_which_none_knows_the_model_end_it_with_that() -> None:
    place = Place()
    place.fails = {A: lambda: UnknownModel("x: 404", model="openai/x"), B: lambda: NotAuthorised("x: 401")}
    (first,) = await place.ask(1)
    (second,) = await place.ask(1)
    assert isinstance(first, UnknownModel | NotAuthorised)
    assert f"{A} (unknown-model), {B} (not-authorised)" in first.message
    assert isinstance(second, UnknownModel | NotAuthorised)
    assert place.sent == {A: 1, B: 1}


@in_virtual_time
async def test_a_probe_that_hangs_leaves_time_for_the_others() -> None:
    place = Place(call_deadline_s=20.0)
    place.fails[B] = down
    assert answered(await place.ask(40)) == 40
    reply = place._reply

    async def hangs(request: Request) -> str | ModelError:
        if request.sent_to == B:
            await asyncio.sleep(1000)
        return await reply(request)

    place.fake._reply = hangs
    await asyncio.sleep(15)
    outcomes = await place.ask(100)
    assert answered(outcomes) == 100


@in_virtual_time
async def test_servers_that_answer_as_different_models_are_told() -> None:
    place = Place()
    place.fake._reply = lambda sent: Completion(text="x", model_reported="one" if sent.sent_to == A else "two" * 99)
    assert answered(await place.ask(12)) == 12
    (notice,) = place.notices("warning")
    assert "its servers answer as different models" in notice
    assert {A, B} <= set(notice.split())
    assert "…" in notice


@in_virtual_time
async def test_a_stop_ends_those_who_wait_in_several_queues() -> None:
    place = Place(latency_s=1.0)

    async def stop() -> None:
        await asyncio.sleep(1.5)
        place.token.cancel()

    _, outcomes = await asyncio.gather(stop(), place.ask(50))
    refused = [each for each in outcomes if isinstance(each, ModelError)]
    assert len(refused) >= 34
    assert all(isinstance(each, Stopped) for each in refused)
    assert place.held == [0, 0]


@in_virtual_time
async def test_a_stop_ends_those_who_wait_for_servers_that_are_down() -> None:
    place = Place()
    place.fails = {A: down, B: down}

    async def stop() -> None:
        await asyncio.sleep(3.0)
        place.token.cancel()

    started = now()
    _, outcomes = await asyncio.gather(stop(), place.ask(20))
    assert now() - started < 4
    assert any(isinstance(each, Stopped) for each in outcomes)


@in_virtual_time
async def test_a_run_deadline_ends_those_who_wait() -> None:
    place = Place(latency_s=2.0, run_deadline_s=5.0)
    outcomes = await place.ask(60)
    late = [each for each in outcomes if not isinstance(each, Completion)]
    assert late
    assert all(isinstance(each, DeadlinePassed) for each in late)


@in_virtual_time
async def test_a_cancelled_request_gives_its_slot_back() -> None:
    place = Place(latency_s=10.0, concurrency=1)
    tasks = [asyncio.create_task(place.client.complete(asked(str(n)))) for n in range(6)]
    await asyncio.sleep(2.0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert place.held == [0, 0]
    assert answered(await place.ask(4)) == 4


@in_virtual_time
async def test_caps_hold_for_each_server() -> None:
    place = Place(rpm=10, latency_s=0.01)
    started = now()
    assert answered(await place.ask(40)) == 40
    assert 60 <= now() - started < 121
    assert place.sent == {A: 20, B: 20}


@in_virtual_time
async def test_a_timeout_is_no_answer_of_the_server() -> None:
    place = Place(call_deadline_s=60.0)
    place.fails[B] = lambda: TimedOut("x: late", model="openai/x")
    assert answered(await place.ask(100)) == 100
    assert place.sent[B] <= 12


@st.composite
def loads(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Of each server how many it bears, and how many are in flight."""
    bears = draw(st.lists(st.integers(1, 8), min_size=1, max_size=6))
    return [(most, draw(st.integers(0, most))) for most in bears]


@given(loads())
@settings(max_examples=60)
def test_the_choice_falls_on_a_server_with_the_least_share_in_flight(servers: list[tuple[int, int]]) -> None:
    async def choose() -> None:
        limits = Limiter(concurrency=8, clock=now, cancel_token=CancelToken())
        places = tuple(f"http://10.0.1.{number}/v1" for number in range(len(servers)))
        queues = [limits.queue_of(asked(sent_to=place)) for place in places]
        for place, queue, (most, busy) in zip(places, queues, servers, strict=True):
            queue.controller.allowed = most
            for _ in range(busy):
                await limits.slot(asked(servers=(place,)))
        shares = [busy / most for most, busy in servers]
        assert [queue.in_flight / queue.bears for queue in by_load(queues)] == sorted(shares)
        turn = asyncio.ensure_future(limits.slot(asked(servers=places)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if min(shares) == 1:
            assert not turn.done()
            queues[-1].freed()
            assert (await turn).queue is queues[-1]
        else:
            slot = await turn
            assert slot.sent_to == places[queues.index(slot.queue)]
            assert shares[queues.index(slot.queue)] == min(shares)
        assert sum(queue.in_flight for queue in queues) == sum(busy for _, busy in servers) + (min(shares) < 1)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(choose())
