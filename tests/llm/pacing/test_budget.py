from __future__ import annotations

import asyncio
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import BudgetExceeded, RateLimited
from promptpex.core.records import Completion, Params, Request
from promptpex.llm.fake import FakeClient
from promptpex.llm.pacing.budget import Budget, Spending, tokens_of
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.retry import RetryingClient
from promptpex.llm.pacing.server_queue import Limiter
from tests.llm.questions import request

ANSWER = Completion(text="x", tokens_in=10, tokens_out=10, cost_usd=0.01)


def paying(inner: FakeClient, budget: Budget) -> RetryingClient:
    """A client that asks ``inner`` once, while the budget lasts."""
    cancel_token, now = CancelToken(), time.monotonic
    limiter = Limiter(concurrency=64, clock=now, cancel_token=cancel_token)
    return RetryingClient(
        inner,
        max_attempts=1,
        limiter=limiter,
        budget=budget,
        cancel_token=cancel_token,
        rng=random.Random(1),
        clock=now,
    )


def asked(number: int, max_tokens: int = 20) -> Request:
    return request(str(number), params=Params(max_tokens=max_tokens))


async def spend(budget: Budget, count: int, *, latency_s: float = 0.001) -> tuple[int, FakeClient]:
    """Requests that were answered, of so many at once."""
    inner = FakeClient(lambda asked: ANSWER, latency_s=latency_s)
    client = paying(inner, budget)
    outcomes = await asyncio.gather(*(client.complete(asked(n)) for n in range(count)), return_exceptions=True)
    assert all(isinstance(each, Completion | BudgetExceeded) for each in outcomes)
    return sum(isinstance(each, Completion) for each in outcomes), inner


async def test_tokens_are_limited_and_used_up_as_answers_turn_out_shorter() -> None:
    budget = Budget(max_tokens=205)
    answered, _ = await spend(budget, 50)
    assert budget.spent.tokens == answered * 20 <= 205
    assert answered >= 9


@given(st.integers(1, 400), st.lists(st.tuples(st.integers(1, 50), st.floats(0.0, 1.0)), min_size=1, max_size=20))
async def test_a_limit_is_never_passed(limit: int, answers: list[tuple[int, float]]) -> None:
    budget = Budget(max_tokens=limit)

    async def one(number: int, longest: int, share: float) -> None:
        reserved = await budget.reserve(asked(number, longest))
        await asyncio.sleep(0)
        used = tokens_of(asked(number)) + int(longest * share)
        budget.settle(reserved, Spending(1, used, 0.0))
        assert budget.spent.tokens <= limit

    await asyncio.gather(*(one(n, *each) for n, each in enumerate(answers)), return_exceptions=True)
    assert budget.spent.tokens <= limit


async def test_what_does_not_fit_is_the_last_of_its_stage_and_model() -> None:
    """A short question after a long one that did not fit would be one chosen for its length."""
    budget = Budget(max_tokens=100)
    client = paying(FakeClient(lambda asked: ANSWER), budget)
    assert (await client.complete(asked(1))).text == "x"
    for longest in (200, 20):
        with pytest.raises(BudgetExceeded):
            await client.complete(asked(2, longest))
    assert (await client.complete(asked(3).replace(stage="judge"))).text == "x"


async def test_an_unknown_price_is_not_zero() -> None:
    inner = FakeClient(["x"])
    with pytest.raises(BudgetExceeded, match="price is unknown"):
        await paying(inner, Budget(max_cost=1.0)).complete(request())
    assert inner.requests == []


async def test_a_failed_request_costs_nothing() -> None:
    budget = Budget(max_requests=1)
    client = paying(FakeClient([RateLimited("slow down"), ANSWER]), budget)
    with pytest.raises(RateLimited):
        await client.complete(request())
    assert budget.spent == Spending()
    assert (await client.complete(request())).text == "x"


async def test_what_the_provider_did_not_count_is_taken_as_reserved() -> None:
    budget = Budget(max_tokens=1000)
    await paying(FakeClient(["x"]), budget).complete(asked(1))
    assert budget.spent.tokens == tokens_of(asked(1)) + 20
    assert budget.spent.unpriced == 1


async def test_a_cancelled_request_gives_its_reservation_back() -> None:
    budget = Budget(max_requests=1)
    task = asyncio.create_task(paying(FakeClient(["x"], latency_s=10), budget).complete(request()))
    await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await budget.reserve(request())).requests == 1
