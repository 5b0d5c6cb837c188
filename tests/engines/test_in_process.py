from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from promptpex.engines import for_each, run_all


@pytest.mark.parametrize("alive", [1, 3, 40])
async def test_no_more_jobs_are_alive_than_allowed(alive: int) -> None:
    now, most = 0, 0

    async def job(number: int) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1

    await run_all(job, range(100), alive=alive)
    assert most == alive


@pytest.mark.parametrize("alive", [1, 3, 40])
async def test_jobs_are_begun_in_order_also_where_some_end_at_once(alive: int) -> None:
    """A budget that ends leaves the last items open, not those in the middle."""
    begun: list[int] = []

    async def job(number: int) -> None:
        begun.append(number)
        if number % 3:
            await asyncio.sleep(0)

    await run_all(job, range(100), alive=alive)
    assert begun == list(range(100))


async def test_the_first_exception_ends_the_others() -> None:
    ended: list[int] = []

    async def job(number: int) -> None:
        if number == 40:
            raise ValueError("forty")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(number)

    with pytest.raises(ValueError, match="forty"):
        await run_all(job, range(100))
    assert sorted(ended) == [number for number in range(100) if number != 40]


async def test_items_are_taken_when_they_are_begun_and_nothing_is_kept_of_them() -> None:
    taken, ended = 0, 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(200):
            assert number - ended <= 20
            taken += 1
            yield number

    async def job(number: int) -> None:
        nonlocal ended
        await asyncio.sleep(0)
        ended += 1

    await for_each(job, items(), alive=20)
    assert (taken, ended) == (200, 200)
