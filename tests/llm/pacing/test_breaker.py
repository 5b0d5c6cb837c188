from __future__ import annotations

import asyncio

import pytest

from promptpex.llm.pacing.breaker import FAILURES_TO_OPEN, MAX_PROBE_BACKOFF_S, MAX_WAIT_S, Breaker
from tests.llm.virtual_time import in_virtual_time, now


def always() -> None:
    return None


async def open_one(*, answered: bool = True) -> Breaker:
    breaker = Breaker(now)
    if answered:
        breaker.succeeded()
    for _ in range(FAILURES_TO_OPEN):
        breaker.failed()
    assert breaker.open
    return breaker


@in_virtual_time
async def test_a_few_failures_or_failures_between_answers_do_not_open_it() -> None:
    breaker = Breaker(now)
    for _ in range(20):
        breaker.failed()
        breaker.failed()
        breaker.succeeded()
    assert not breaker.open
    assert await breaker.admit(always)


@in_virtual_time
async def test_while_it_is_open_one_probe_at_a_time_passes() -> None:
    breaker = await open_one()
    admitted = [asyncio.create_task(breaker.admit(always)) for _ in range(10)]
    await asyncio.sleep(0.2)
    assert not any(task.done() for task in admitted)
    await asyncio.sleep(0.6)
    assert sum(task.done() for task in admitted) == 1
    breaker.succeeded()
    assert await asyncio.gather(*admitted) == [True] * 10
    assert not breaker.open


@in_virtual_time
async def test_a_server_that_stays_away_is_dead_but_still_probed() -> None:
    breaker = await open_one()
    assert await breaker.admit(always)
    waiting = asyncio.create_task(breaker.admit(always))
    await asyncio.sleep(MAX_WAIT_S + 1)
    assert await waiting is False
    assert breaker.dead
    breaker.failed()
    assert not await breaker.admit(always)
    await asyncio.sleep(MAX_PROBE_BACKOFF_S)
    assert await breaker.admit(always)
    breaker.succeeded()
    assert await breaker.admit(always)


@in_virtual_time
async def test_a_probe_that_came_to_nothing_makes_room_for_the_next() -> None:
    breaker = await open_one()
    assert await breaker.admit(always)
    waiting = asyncio.create_task(breaker.admit(always))
    await asyncio.sleep(0)
    breaker.inconclusive()
    assert await asyncio.wait_for(waiting, 0.5)


@in_virtual_time
async def test_whoever_waits_hears_of_a_stop() -> None:
    breaker, stopped = await open_one(), False

    def check() -> None:
        if stopped:
            raise KeyError("stop")

    waiting = asyncio.create_task(breaker.admit(check))
    await asyncio.sleep(0.01)
    stopped = True
    breaker.wake()
    with pytest.raises(KeyError):
        await waiting
