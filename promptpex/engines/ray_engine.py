"""The engine of a Ray cluster: actors that open the job once, and chunks of items that go to whichever is free.

An actor takes a CPU of some node and does one chunk at a time. Where its process or its node is lost, its chunk is done
again by another; a chunk that has ended ``TRIES`` of them is given up, since it may be what they die of.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import pickle
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic

from promptpex.core.errors import EngineError
from promptpex.engines.chunked import ChunkedEngine, died, pickled, portable
from promptpex.engines.in_process import run_all
from promptpex.engines.jobs import Item, Job, Result
from promptpex.engines.open_engine import OpenEngine
from promptpex.engines.ray_cluster import RayCluster
from promptpex.engines.ray_links import RayCarrier

TRIES = 3
"""Workers that may be lost at a chunk, or in a row before they have begun."""
CPU = 0.9
"""Of a CPU that a worker reserves: what asks models on the same nodes reserves hardly any of it, but not nothing."""
EXIT_S = 5.0
"""Seconds to close what a job opened, before its worker is killed."""


def opened(workers: int | None, address: str | None) -> OpenEngine:
    """The engine of the cluster at an address, see ``RayCluster``, by default with a worker for each of its CPUs."""
    cluster = RayCluster(address, workers)
    return OpenEngine(RayEngine(cluster, workers), RayCarrier(cluster), cluster.close)


class RayEngine(ChunkedEngine):
    """Runs jobs on a cluster; its workers are started for each ``map`` or ``stream`` and gone at its end.

    Args:
        cluster: connected to when the first job is given.
        workers: how many at most; None = one per CPU of the cluster.
        chunk: items of one message; None = by the number of items, in a stream one.
        exit_s: seconds that a worker has to close what its job opened.
    """

    def __init__(
        self, cluster: RayCluster, workers: int | None = None, *, chunk: int | None = None, exit_s: float = EXIT_S
    ) -> None:
        self._cluster = cluster
        self._workers = workers
        super().__init__(chunk)
        self._exit_s = exit_s

    async def stream_from(self, job: Job[Item, Result], source: Iterable[Item]) -> AsyncGenerator[Result, None]:
        """See ``Engine``; raises as ``map`` does. Blocks while it waits: it is for who has nothing else to do."""
        from promptpex.engines import ray_data

        message, source_message = pickled(job), pickled(source)
        await self._cluster.opened()
        streamed = ray_data.outcomes(source_message, message, workers=self._workers, cpu=CPU, tries=TRIES)
        with contextlib.closing(streamed):
            for results in streamed:
                for result in results:
                    yield result

    @asynccontextmanager
    async def _opened(self, job: Job[Item, Result]) -> AsyncIterator[_Workers[Item, Result]]:
        message = pickled(job)
        await self._cluster.opened()
        pool: _Workers[Item, Result] = _Workers(message, max(1, self._workers or self._cluster.cpus), self._exit_s)
        try:
            yield pool
        finally:
            await asyncio.shield(asyncio.ensure_future(pool.end()))


@dataclass(slots=True, order=True)
class _Chunk(Generic[Item, Result]):
    """Items in their turn, by their number; what becomes of them; and how many workers were lost at them."""

    number: int
    message: bytes = field(compare=False)
    results: asyncio.Future[list[Result]] = field(compare=False)
    lost: int = field(default=0, compare=False)


class _Workers(Generic[Item, Result]):
    """The workers of one ``map`` or ``stream``, a task for each, and the chunks that wait for one of them."""

    def __init__(self, job: bytes, most: int, exit_s: float) -> None:
        import ray

        self.most = most
        self._exit_s = exit_s
        self._job = ray.put(job)
        self._actor: Any = ray.remote(num_cpus=CPU, max_restarts=0)(Worker)
        self._lost = (ray.exceptions.RayActorError, ray.exceptions.RaySystemError, ray.exceptions.ObjectLostError)
        self._numbers = itertools.count()
        self._waiting: asyncio.PriorityQueue[_Chunk[Item, Result]] = asyncio.PriorityQueue()
        self._tasks: list[asyncio.Task[None]] = []
        self._workers: set[Any] = set()
        self._failure: EngineError | None = None

    def submit(self, items: Sequence[Item]) -> asyncio.Future[list[Result]]:
        """The results of these items, to come. Chunks are begun in the order in which they are given."""
        future: asyncio.Future[list[Result]] = asyncio.get_running_loop().create_future()
        try:
            chunk: _Chunk[Item, Result] = _Chunk(next(self._numbers), pickled(items), future)
            if self._failure is not None:
                raise self._failure
        except EngineError as error:
            future.set_exception(error)
            return future
        self._waiting.put_nowait(chunk)
        if len(self._tasks) < self.most:
            self._tasks.append(asyncio.ensure_future(self._work()))
        return future

    async def end(self) -> None:
        """Ends all workers; those that are busy have a few seconds to close what they opened."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        closing = [asyncio.ensure_future(_reply(worker.close.remote())) for worker in self._workers]
        if closing:
            await asyncio.wait(closing, timeout=self._exit_s)
        for future in closing:
            future.cancel()
        await asyncio.gather(*closing, return_exceptions=True)
        for worker in list(self._workers):
            self._kill(worker)

    async def _work(self) -> None:
        """Has chunks done by a worker, and by another where it is lost, until the task is cancelled."""
        failed = 0
        while failed < TRIES:
            worker = self._actor.remote(self._job)
            self._workers.add(worker)
            try:
                await _reply(worker.ready.remote())
                failed = 0
                await self._chunks_by(worker)
            except self._lost as error:
                failed += 1
                why = str(error).strip().splitlines()
                self._kill(worker)
        self._fail(EngineError(f"no worker can be started on the Ray cluster: {why[0] if why else 'it is lost'}"))

    async def _chunks_by(self, worker: Any) -> None:
        while True:
            chunk = await self._waiting.get()
            if chunk.results.cancelled():
                continue
            try:
                outcome = await _reply(worker.outcome.remote(chunk.message))
            except self._lost:
                self._done_again(chunk)
                raise
            settle(chunk.results, pickle.loads(outcome))  # our own worker wrote it

    def _done_again(self, chunk: _Chunk[Item, Result]) -> None:
        chunk.lost += 1
        if chunk.lost < TRIES:
            self._waiting.put_nowait(chunk)
        else:
            settle(chunk.results, EngineError(died(TRIES)))

    def _fail(self, error: EngineError) -> None:
        self._failure = error
        while not self._waiting.empty():
            settle(self._waiting.get_nowait().results, error)

    def _kill(self, worker: Any) -> None:
        import ray

        self._workers.discard(worker)
        with contextlib.suppress(Exception):  # it is gone already
            ray.kill(worker)


async def _reply(reference: Any) -> Any:
    return await reference


def settle(future: asyncio.Future[list[Result]], outcome: list[Result] | Exception) -> None:
    """Gives a chunk its results, or what was raised, unless nobody waits for them any more."""
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


class Worker:
    """What runs on a node: the job, opened once, in the event loop of an actor."""

    def __init__(self, job: bytes) -> None:
        self._job = job
        self._over: asyncio.Event | None = None
        self._opened: asyncio.Future[Callable[[Any], Awaitable[Any]]] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._busy: set[asyncio.Task[Any]] = set()

    async def ready(self) -> None:
        """Answers once the worker is there."""

    async def outcome(self, chunk: bytes) -> bytes:
        """What the job makes of a chunk of items, or what it raised; pickled."""
        task = asyncio.ensure_future(self._results(chunk))
        self._busy.add(task)
        try:
            return pickled(await task)
        except Exception as error:  # it is raised again where the job was given
            return pickled(portable(error))
        finally:
            self._busy.discard(task)

    async def close(self) -> None:
        """Cancels what is under way, and closes what the job opened."""
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        if self._over is not None and self._serving is not None:
            self._over.set()
            await self._serving

    async def _results(self, chunk: bytes) -> list[Any]:
        if self._opened is None:
            self._opened = asyncio.get_running_loop().create_future()
            self._over = asyncio.Event()
            self._serving = asyncio.ensure_future(self._serve(self._opened, self._over))
        worker = await asyncio.shield(self._opened)
        return await run_all(worker, pickle.loads(chunk))  # our driver wrote it

    async def _serve(self, opened: asyncio.Future[Callable[[Any], Awaitable[Any]]], over: asyncio.Event) -> None:
        """Opens and closes the job in one task, as context variables want it."""
        try:
            job: Job[Any, Any] = pickle.loads(self._job)  # our driver wrote it
            async with job.open() as worker:
                opened.set_result(worker)
                await over.wait()
        except Exception as error:
            if not opened.done():
                opened.set_exception(error)
