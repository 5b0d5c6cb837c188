"""The engine of this process: the event loop, with a bounded number of items alive at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from promptpex.engines.jobs import Item, Job, Result

MAX_ALIVE = 2048
"""Items alive at a time, which bounds memory. How many are in flight to a server is up to the limiter."""

STARTED_PER_TURN = 16
"""Items that are started before the event loop has a turn, so that the first are sent before the last are prepared."""


class LocalEngine:
    """Runs jobs in the event loop of this process."""

    def __init__(self, alive: int = MAX_ALIVE) -> None:
        self._alive = alive

    async def map(self, job: Job[Item, Result], items: Iterable[Item]) -> list[Result]:
        """See ``Engine``."""
        async with job.open() as worker:
            return await run_all(worker, items, alive=self._alive)


async def run_all(
    worker: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, alive: int = MAX_ALIVE
) -> list[Result]:
    """``worker`` applied to every item, results in the items' order.

    The first exception cancels the rest and is raised as it is; a worker that must not end the others handles its own.
    """
    queue = list(enumerate(items))
    queue.reverse()
    results: dict[int, Result] = {}

    async def work() -> None:
        while queue:
            index, item = queue.pop()
            results[index] = await worker(item)

    tasks: list[asyncio.Task[None]] = []
    try:
        while queue and len(tasks) < alive:
            tasks += [asyncio.create_task(work()) for _ in range(min(STARTED_PER_TURN, alive - len(tasks), len(queue)))]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [results[index] for index in sorted(results)]
