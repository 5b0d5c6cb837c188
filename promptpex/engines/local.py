"""The local engine: many small asynchronous jobs in this process, a bounded number of them alive at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

ALIVE = 2048
"""Jobs alive at a time. How many are in flight to a server is the limiter's business, not the engine's."""

AT_ONCE = 16
"""Jobs that are started before the event loop has a turn, so that the first are sent before the last are prepared."""


async def run_all(
    worker: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, alive: int = ALIVE
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
            tasks += [asyncio.create_task(work()) for _ in range(min(AT_ONCE, alive - len(tasks), len(queue)))]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [results[index] for index in sorted(results)]
