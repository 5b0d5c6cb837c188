"""The engine of this process: the event loop, with a bounded number of items alive at a time.

A job carries no connection, file or future. It is told where it runs, in ``open``, and opens there what it needs: a
client, a store, compiled assertions. So the same job runs in the event loop, in processes, or on other machines.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Job(Protocol[Item_contra, Result_co]):
    """Something to be done for each of many records; it, the records and the results can be pickled."""

    def open(self) -> AbstractAsyncContextManager[Callable[[Item_contra], Awaitable[Result_co]]]:
        """Opens what the job needs, once in every place where it runs, and gives the function of one record."""


class Engine(Protocol):
    """A place where jobs run."""

    async def map(self, job: Job[Item, Result], items: Iterable[Item]) -> list[Result]:
        """The job's result for each item, in the items' order.

        The first exception of the job ends the others and is raised as it is; cancelling the call ends all of them.
        """

    def stream(self, job: Job[Item, Result], items: Iterable[Item]) -> AsyncGenerator[Result, None]:
        """As ``map`` for items without end: each result is given in its turn, and a bounded number of items is held.

        An exception, of the job or of the items themselves, is raised in its turn as well, after the results of all
        items before it. Whoever leaves early closes the generator (``contextlib.aclosing``), which ends what runs.
        """


MAX_ALIVE = 2048
"""Items alive at a time, which bounds memory. How many are in flight to a server is up to the limiter."""

STARTED_PER_TURN = 16
"""Items that are started before the event loop has a turn, so that the first are sent before the last are prepared."""


class LocalEngine:
    """Runs jobs in the event loop of this process."""

    def __init__(self, alive: int = MAX_ALIVE) -> None:
        self._alive = alive

    async def map(self, job: Job[Item, Result], items: Iterable[Item]) -> list[Result]:
        async with job.open() as worker:
            return await run_all(worker, items, alive=self._alive)

    async def stream(self, job: Job[Item, Result], items: Iterable[Item]) -> AsyncGenerator[Result, None]:
        """See ``Engine``."""
        async with (
            job.open() as worker,
            aclosing(in_order(lambda item: asyncio.ensure_future(worker(item)), items, self._alive)) as results,
        ):
            async for result in results:
                yield result


async def run_all(
    worker: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, alive: int = MAX_ALIVE
) -> list[Result]:
    """``worker`` applied to every item, results in the items' order; exceptions as of ``for_each``."""
    results: dict[int, Result] = {}

    async def one(numbered: tuple[int, Item]) -> None:
        results[numbered[0]] = await worker(numbered[1])

    await for_each(one, enumerate(items), alive=alive)
    return [results[index] for index in sorted(results)]


async def for_each(
    worker: Callable[[Item], Awaitable[object]], items: Iterable[Item], *, alive: int = MAX_ALIVE
) -> None:
    """``worker`` applied to every item, each taken when it is begun, so that they are begun in their order; nothing is
    kept of those that are done.

    The first exception cancels the rest and is raised as it is; a worker that must not end the others handles its own.
    """
    remaining, more = iter(items), True

    async def work() -> None:
        nonlocal more
        for item in remaining:
            await worker(item)
        more = False

    tasks: list[asyncio.Task[None]] = []
    try:
        while more and len(tasks) < alive:
            tasks += [asyncio.create_task(work()) for _ in range(min(STARTED_PER_TURN, alive - len(tasks)))]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def in_order(
    begin: Callable[[Item], asyncio.Future[Result]], items: Iterable[Item], alive: int
) -> AsyncGenerator[Result, None]:
    """The results of items that are begun one after the other, at most ``alive`` of them ahead of what was given.

    A result that is there is given before another item is taken, which may have to be waited for.
    """
    remaining, begun, more = iter(items), deque[asyncio.Future[Result]](), True
    try:
        while more or begun:
            if begun and (begun[0].done() or len(begun) >= alive or not more):
                result = await begun[0]
                begun.popleft()
                yield result
            elif (future := _next_begun(begin, remaining)) is None:
                more = False
            else:
                begun.append(future)
                await asyncio.sleep(0)
    finally:
        for future in begun:
            future.cancel()
        await asyncio.gather(*begun, return_exceptions=True)


def _next_begun(
    begin: Callable[[Item], asyncio.Future[Result]], remaining: Iterator[Item]
) -> asyncio.Future[Result] | None:
    """The next item, begun; None where there is none. Where taking it fails, that is what comes of it."""
    try:
        item = next(remaining)
    except StopIteration:
        return None
    except Exception as error:
        failed: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        failed.set_exception(error)
        return failed
    return begin(item)


@contextmanager
def as_they_come(stream: AsyncGenerator[Result, None]) -> Iterator[Iterator[Result]]:
    """The results, none of them None, in a loop of their own; what runs for them ends with the block."""
    with asyncio.Runner() as runner:
        try:
            yield iter(lambda: runner.run(_next(stream)), None)
        finally:
            runner.run(_closed(stream))


async def _next(stream: AsyncGenerator[Result, None]) -> Result | None:
    return await anext(stream, None)


async def _closed(stream: AsyncGenerator[Result, None]) -> None:
    waiting = asyncio.all_tasks() - {asyncio.current_task()}
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await stream.aclose()
