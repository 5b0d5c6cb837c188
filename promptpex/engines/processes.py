"""The engine of N local processes: a job is pickled into each of them, and items and results travel in chunks.

Processes are spawned, not forked, so that no thread, lock or connection of this one is copied. Each has a thread here
that sends it chunks and receives their results. A process ends when the pipe to it is closed, so none survives this
one, however it dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from itertools import islice
from multiprocessing.connection import Connection
from types import FrameType
from typing import Generic, Protocol

from promptpex.core.errors import EngineError
from promptpex.core.temporary_environment import SAFE_PATH, environment_with
from promptpex.engines.in_process import Item, Item_contra, Job, Result, in_order, run_all

MAX_CHUNK = 256
"""Items of one message: more would keep a worker busy alone at the end."""

CHUNKS_PER_WORKER = 4
"""Chunks that each worker gets at least, so that a slow one can be made up for by the others; and how many of a stream
are held for each, so that the others have work while the result of a slow one is waited for."""


def chunk_size(items: int, workers: int) -> int:
    return min(MAX_CHUNK, max(1, items // (workers * CHUNKS_PER_WORKER)))


def chunks_of(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


class ChunkWorkers(Protocol[Item_contra, Result]):
    """The workers of one job, which are given chunks."""

    @property
    def most(self) -> int:
        """How many there are at most."""

    def submit(self, items: Sequence[Item_contra]) -> asyncio.Future[list[Result]]:
        """The results of these items, to come. Chunks are begun in the order in which they are given."""


class ChunkedEngine(ABC):
    """An engine whose workers are started for each ``map`` or ``stream`` and gone at its end.

    Args:
        chunk: items of one message; None = by the number of items, in a stream ``streamed``.
    """

    def __init__(self, chunk: int | None, *, streamed: int = 1) -> None:
        self._chunk = chunk
        self._streamed = streamed

    @abstractmethod
    def _opened(self, job: Job[Item, Result]) -> AbstractAsyncContextManager[ChunkWorkers[Item, Result]]:
        """The workers of a job.

        Raises:
            EngineError: there can be none, or the job cannot be pickled.
        """

    async def map(self, job: Job[Item, Result], items: Iterable[Item]) -> list[Result]:
        """See ``Engine``.

        Raises:
            EngineError: workers cannot be started or died, or the job, an item or a result cannot be pickled.
        """
        items_in_order = list(items)
        if not items_in_order:
            return []
        async with self._opened(job) as workers:
            size = self._chunk or chunk_size(len(items_in_order), workers.most)
            chunks = await asyncio.gather(*[workers.submit(chunk) for chunk in chunks_of(items_in_order, size)])
        return [result for chunk in chunks for result in chunk]

    async def stream(self, job: Job[Item, Result], items: Iterable[Item]) -> AsyncGenerator[Result, None]:
        """See ``Engine``; raises as ``map`` does."""
        async with self._opened(job) as workers:
            alive = workers.most * CHUNKS_PER_WORKER
            async with aclosing(
                in_order(workers.submit, chunks_of(items, self._chunk or self._streamed), alive)
            ) as chunks:
                async for results in chunks:
                    for result in results:
                        yield result


def died(tries: int) -> str:
    return f"a worker died {tries} times on the same work; run the command again with more memory"


def pickled(value: object) -> bytes:
    """A job, items or results for another process.

    Raises:
        EngineError: they cannot be pickled.
    """
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise EngineError(f"a job for other processes cannot be pickled: {error}") from error


def portable(error: Exception) -> Exception:
    """The error if it can travel, else its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return EngineError(f"a worker process failed: {type(error).__name__}: {error}")
    return error


_STARTING = threading.Lock()
"""For one start at a time, since the environment is the whole program's."""

EXIT_S = 5.0
"""Seconds to close what a job opened: a file or a connection takes far less."""


class ProcessEngine(ChunkedEngine):
    """Runs jobs in local processes, which are started for each ``map`` or ``stream`` and gone at its end.

    Args:
        processes: how many at most; None = one per CPU.
        chunk: items of one message; None = by the number of items, in a stream one.
        exit_s: seconds that a process has to close what its job opened, before it is killed.
    """

    def __init__(self, processes: int | None = None, *, chunk: int | None = None, exit_s: float = EXIT_S) -> None:
        self._processes = max(1, processes or os.cpu_count() or 1)
        super().__init__(chunk)
        self._exit_s = exit_s

    @asynccontextmanager
    async def _opened(self, job: Job[Item, Result]) -> AsyncIterator[_Pool[Item, Result]]:
        pool: _Pool[Item, Result] = _Pool(pickled(job), self._processes, asyncio.get_running_loop(), self._exit_s)
        opened = False
        try:
            yield pool
            opened = True
        finally:
            await asyncio.shield(asyncio.to_thread(pool.end, at_once=not opened))


class _Pool(Generic[Item, Result]):
    """The processes of one ``map`` or ``stream``, a thread for each, and the chunks that wait for one of them."""

    def __init__(self, job: bytes, processes: int, loop: asyncio.AbstractEventLoop, exit_s: float) -> None:
        self._job = job
        self.most = processes
        self._loop = loop
        self._exit_s = exit_s
        self._waiting: queue.SimpleQueue[tuple[asyncio.Future[list[Result]], Sequence[Item]] | None]
        self._waiting = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._workers: list[_Worker] = []
        self._starting = threading.Lock()
        self._ended = False

    def submit(self, items: Sequence[Item]) -> asyncio.Future[list[Result]]:
        """The results of these items, to come. Chunks are begun in the order in which they are given."""
        future: asyncio.Future[list[Result]] = self._loop.create_future()
        self._waiting.put((future, items))
        if len(self._threads) < self.most:
            thread = threading.Thread(target=self._work, name="promptpex-engine", daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def end(self, *, at_once: bool) -> None:
        """Ends the processes and their threads; ``at_once`` also those that are busy. What does not end is killed."""
        with self._starting:
            self._ended = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._waiting.get_nowait()
        for _ in self._threads:
            self._waiting.put(None)
        if at_once:
            self._end_processes()
        for thread in self._threads:
            thread.join()

    def _end_processes(self) -> None:
        """Has all of them close what their jobs opened, and kills those that take too long: a job may not let itself be
        cancelled."""
        for worker in self._workers:
            worker.process.terminate()
        latest = time.monotonic() + self._exit_s
        for worker in self._workers:
            worker.process.join(max(0.0, latest - time.monotonic()))
            worker.process.kill()

    def _work(self) -> None:
        """Has chunks done by a process of its own, until there are no more or one fails."""
        worker: _Worker | None = None
        for future, items in iter(self._waiting.get, None):
            if future.cancelled():
                continue
            outcome: list[Result] | Exception
            try:
                worker = worker or self._started()
                outcome = worker.outcome(items)
            except Exception as error:  # of the process, or of pickle
                outcome = error
            self._settle(future, outcome)
            if isinstance(outcome, Exception):
                break
        if worker is not None:
            worker.close(self._exit_s)

    def _started(self) -> _Worker:
        with self._starting:
            if self._ended:
                raise EngineError("the job has ended")
            try:
                worker = _Worker(self._job)
            except OSError as error:
                why = error.strerror or error
                raise EngineError(f"a worker process cannot be started ({why}); use fewer workers") from error
            self._workers.append(worker)
            return worker

    def _settle(self, future: asyncio.Future[list[Result]], outcome: list[Result] | Exception) -> None:
        def settle() -> None:
            if not future.done():
                future.set_exception(outcome) if isinstance(outcome, Exception) else future.set_result(outcome)

        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits any more
            self._loop.call_soon_threadsafe(settle)


class _Worker:
    """A process with the job in it, at the other end of a pipe; OSError where it cannot be started."""

    def __init__(self, job: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, workers_end = context.Pipe()
        self.process = context.Process(target=_serve, args=(workers_end,), name="promptpex-engine", daemon=True)
        with _STARTING, environment_with(SAFE_PATH):
            self.process.start()
        workers_end.close()
        self._connection.send_bytes(job)

    def outcome(self, items: Sequence[Item]) -> list[Result] | Exception:
        """What the job makes of these items, or what it raised.

        Raises:
            EngineError: the process has died, or the items cannot be pickled.
        """
        message = pickled(items)
        try:
            self._connection.send_bytes(message)
            reply = self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            sentence = "a worker process died; run the same command again, with fewer workers if memory is short"
            raise EngineError(sentence) from error
        outcome: list[Result] | Exception = pickle.loads(reply)  # our own process wrote it
        return outcome

    def close(self, exit_s: float) -> None:
        """Waits ``exit_s`` seconds for its end, and then forces it."""
        with contextlib.suppress(OSError):
            self._connection.send_bytes(b"")
        self.process.join(exit_s)
        self.process.kill()
        self.process.join()
        self._connection.close()


def _serve(connection: Connection) -> None:
    """The main function of a process: its job on the chunks that come, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the parent decides what it means
    signal.signal(signal.SIGTERM, _stop)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_served(connection))


def _stop(number: int, frame: FrameType | None) -> None:
    """Ends what is under way as well as what waits, once: a whole group may be sent the signal, and then each of it."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


async def _served(connection: Connection) -> None:
    chunks: asyncio.Queue[bytes] = asyncio.Queue()
    receiving = (connection, asyncio.get_running_loop(), chunks)
    threading.Thread(target=_receive, args=receiving, daemon=True).start()
    failure: Exception | None = None
    try:
        job = pickle.loads(await chunks.get())  # our parent wrote it
        async with job.open() as worker:
            while chunk := await chunks.get():
                results = await run_all(worker, pickle.loads(chunk))
                connection.send_bytes(pickled(results))
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a job that is being closed is closed to its end
    except Exception as error:  # it is raised again where the job was given
        failure = error
    if failure is not None:
        connection.send_bytes(pickled(portable(failure)))


def _receive(connection: Connection, loop: asyncio.AbstractEventLoop, chunks: asyncio.Queue[bytes]) -> None:
    """Reads what the parent sends. When the parent is gone, so is this process, whatever it is at."""
    try:
        while True:
            message = connection.recv_bytes()
            loop.call_soon_threadsafe(chunks.put_nowait, message)
    except (EOFError, OSError, RuntimeError):  # RuntimeError: the loop is closed, the work is done
        os._exit(1)
