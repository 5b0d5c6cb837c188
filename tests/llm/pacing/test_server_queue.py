from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import RateLimited, Stopped
from promptpex.core.records import Completion, Params, Request
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.server_queue import Charge, Limiter, SlidingWindow
from tests.llm.questions import request
from tests.llm.virtual_time import in_virtual_time, now


def limiter(**options: Any) -> Limiter:
    return Limiter(**{"concurrency": 4, "clock": now, "cancel_token": CancelToken(), **options})


async def use(limits: Limiter, asked: Request, seconds: float, order: list[str] | None = None) -> None:
    slot = await limits.slot(asked)
    if order is not None:
        order.append(asked.model)
    await asyncio.sleep(seconds)
    slot.free()
    slot.answered(Completion(text="x", tokens_in=5, tokens_out=5))


@in_virtual_time
async def test_no_more_are_in_flight_than_allowed_and_all_get_their_turn() -> None:
    limits, most = limiter(concurrency=4), 0

    async def one(number: int) -> None:
        nonlocal most
        slot = await limits.slot(request(str(number)))
        most = max(most, limits.queue_of(request()).in_flight)
        await asyncio.sleep(0.002)
        slot.free()

    await asyncio.gather(*(one(number) for number in range(50)))
    assert most == 4
    assert limits.queue_of(request()).in_flight == 0


@in_virtual_time
async def test_models_of_one_local_server_run_one_after_the_other() -> None:
    limits, order = limiter(concurrency=4), list[str]()
    asked = [request(str(n), model=f"ollama/{name}") for n in range(6) for name in "abc"]
    await asyncio.gather(*(use(limits, each, 0.002, order) for each in asked))
    changes = [one for one, before in zip(order, ["", *order], strict=False) if one != before]
    assert changes == ["ollama/a", "ollama/b", "ollama/c"]


@in_virtual_time
async def test_the_model_that_has_the_server_keeps_it_for_a_question_that_follows() -> None:
    limits, order = limiter(), list[str]()

    async def two() -> None:
        await use(limits, request("first", model="ollama/a"), 0.01, order)
        await use(limits, request("second", model="ollama/a"), 0.01, order)

    await asyncio.gather(two(), use(limits, request(model="ollama/b"), 0.0, order))
    assert order == ["ollama/a", "ollama/a", "ollama/b"]


@in_virtual_time
async def test_requests_per_window_are_kept() -> None:
    limits, sent = limiter(concurrency=100, rpm=5), list[float]()

    async def one(number: int) -> None:
        slot = await limits.slot(request(str(number)))
        sent.append(slot.started)
        slot.free()

    await asyncio.gather(*(one(number) for number in range(12)))
    for at in sent:
        assert sum(at - 60.0 < other <= at for other in sent) <= 5
    assert max(sent) - min(sent) == pytest.approx(120.0, abs=0.01)


@in_virtual_time
async def test_tokens_per_window_are_kept_by_guess_and_by_count() -> None:
    limits = limiter(tpm=600)
    started = now()
    slots = [await limits.slot(request("x" * 40, params=Params(max_tokens=200))) for _ in range(2)]
    assert now() == started
    for slot in slots:
        slot.free()
        slot.answered(Completion(text="x", tokens_in=300, tokens_out=300))
    third = await limits.slot(request("x" * 40, params=Params(max_tokens=200)))
    assert now() - started == pytest.approx(60.0, abs=0.01)
    third.free()


@in_virtual_time
async def test_a_refusal_with_retry_after_holds_the_whole_server_back() -> None:
    limits = limiter()
    slot = await limits.slot(request())
    slot.failed(RateLimited("slow down", retry_after=0.1))
    slot.free()
    before = now()
    (await limits.slot(request("other"))).free()
    assert now() - before == pytest.approx(0.1, abs=0.005)


@in_virtual_time
async def test_a_stop_refuses_whoever_waits_and_whoever_comes() -> None:
    cancel_token = CancelToken()
    limits = limiter(concurrency=1, cancel_token=cancel_token)
    slot = await limits.slot(request())
    waiting = [asyncio.create_task(limits.slot(request(str(n)))) for n in range(3)]
    await asyncio.sleep(0)
    cancel_token.cancel()
    assert [type(each) for each in await asyncio.gather(*waiting, return_exceptions=True)] == [Stopped] * 3
    with pytest.raises(Stopped):
        await limits.slot(request("late"))
    slot.free()


@in_virtual_time
async def test_a_turn_that_is_cancelled_goes_to_the_next() -> None:
    limits = limiter(concurrency=1)
    slot = await limits.slot(request())
    first, second = (asyncio.create_task(limits.slot(request(text))) for text in "ab")
    await asyncio.sleep(0)
    slot.free()
    first.cancel()
    async with asyncio.timeout(0.5):
        (await second).free()
    assert limits.queue_of(request()).in_flight == 0


@in_virtual_time
async def test_what_an_answer_may_take_is_set_aside_before_it_is_sent() -> None:
    now = [0.0]
    limits = Limiter(concurrency=64, tpm=10_000, clock=lambda: now[0], cancel_token=CancelToken())
    started = [
        asyncio.create_task(limits.slot(request(str(n), model="openai/x", params=Params(max_tokens=3000))))
        for n in range(20)
    ]
    await asyncio.sleep(0.2)
    assert sum(task.done() for task in started) == 3
    for task in started:
        task.cancel()
    await asyncio.gather(*started, return_exceptions=True)


def test_the_true_amount_replaces_what_was_set_aside() -> None:
    window = SlidingWindow(100)
    spent = window.add(0.0, 90)
    assert window.wait_s(1.0, 20) == 59.0
    window.correct(spent, 50, 1.0)
    assert window.wait_s(1.0, 20) == 0.0
    window.correct(spent, 110, 1.0)
    assert window.wait_s(1.0, 20) > 0.0
    assert window.wait_s(61.0, 20) == 0.0
    window.correct(spent, 170, 62.0)
    assert window.wait_s(63.0, 50) == 59.0


@given(
    limit=st.integers(10, 50),
    asked=st.lists(st.tuples(st.floats(0, 20), st.integers(1, 10), st.integers(0, 10), st.floats(0, 90)), max_size=40),
)
def test_corrected_windows_hold_no_more_than_their_limit(
    limit: int, asked: list[tuple[float, int, int, float]]
) -> None:
    """Whatever came of what was set aside, and whenever that was known."""
    window, now = SlidingWindow(limit), 0.0
    sent: list[tuple[float, int]] = []
    pending: list[tuple[float, Charge, int]] = []

    def settle(until: float) -> None:
        for entry in sorted((each for each in pending if each[0] <= until), key=lambda each: each[0]):
            pending.remove(entry)
            window.correct(entry[1], entry[2], entry[0])

    for pause, reserved, less, took in asked:
        now += pause
        settle(now)
        while (wait := window.wait_s(now, reserved)) > 0:
            now += wait + 1e-6
            settle(now)
        true = max(0, reserved - less)
        pending.append((now + took, window.add(now, reserved), true))
        sent.append((now, true))
    for at, _ in sent:
        assert sum(each for since, each in sent if at - 60.0 < since <= at) <= limit
