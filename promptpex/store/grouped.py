"""Group commit in an event loop: what waits while a group is on its way goes into the next one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


class Batches(Generic[Job, Result]):
    """Does jobs in groups, one group at a time.

    Args:
        do: does a group; gives the results in the jobs' order. What it raises, all of the group get.
        most: jobs in a group.
        size: what a job weighs, such as bytes; None = nothing.
        most_size: the weight at which a group is full; by default never.
    """

    def __init__(
        self,
        do: Callable[[Sequence[Job]], Awaitable[Sequence[Result]]],
        *,
        most: int,
        size: Callable[[Job], int] = lambda job: 0,
        most_size: int = 2**62,
    ) -> None:
        self._do = do
        self._most = most
        self._size = size
        self._most_size = most_size
        self._waiting: deque[tuple[Job, asyncio.Future[Result]]] = deque()
        self._work: asyncio.Task[None] | None = None

    async def run(self, job: Job) -> Result:
        """The job's result. It goes on when its caller is cancelled: what was handed over is done."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, future))
        if self._work is None:
            self._work = asyncio.create_task(self._serve())
        return await future

    async def drained(self) -> None:
        """Returns when nothing waits or is on its way."""
        while self._work is not None:
            await asyncio.shield(self._work)

    async def _serve(self) -> None:
        await asyncio.sleep(0)  # whoever asks in this round of the loop comes along
        while self._waiting:
            group = self._next_group()
            try:
                results = await self._do([job for job, _ in group])
            except Exception as error:
                for _, future in group:
                    if not future.done():
                        future.set_exception(error)
            else:
                for (_, future), result in zip(group, results, strict=True):
                    if not future.done():
                        future.set_result(result)
        self._work = None

    def _next_group(self) -> list[tuple[Job, asyncio.Future[Result]]]:
        group: list[tuple[Job, asyncio.Future[Result]]] = []
        weight = 0
        while self._waiting and len(group) < self._most and weight < self._most_size:
            group.append(self._waiting.popleft())
            weight += self._size(group[-1][0])
        return group
