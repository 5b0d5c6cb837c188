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
import signal
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Generic

from promptpex.core.errors import EngineError
from promptpex.engines.in_process import run_all
from promptpex.engines.jobs import Item, Job, Result

MAX_CHUNK = 256
"""Items of one message: more would keep a process busy alone at the end."""

CHUNKS_PER_PROCESS = 4
"""Chunks that each process gets at least, so that a slow one can be made up for by the others."""

EXIT_S = 2.0
"""Seconds that a process has to close what its job opened, before it is killed."""

Chunk = tuple[int, Sequence[Item]]
"""The number of the first item, and the items."""


class ProcessEngine:
    """Runs jobs in local processes, which are started for each ``map`` and gone when it returns.

    Args:
        processes: how many; None = one per CPU.
        chunk: items of one message; None = by the number of items.
    """

    def __init__(self, processes: int | None = None, *, chunk: int | None = None) -> None:
        self._processes = max(1, processes or os.cpu_count() or 1)
        self._chunk = chunk

    async def map(self, job: Job[Item, Result], items: Iterable[Item]) -> list[Result]:
        """See ``Engine``.

        Raises:
            EngineError: a process died, or the job, an item or a result cannot be pickled.
        """
        chunks = self._chunks(list(items))
        pool: _Pool[Item, Result] = _Pool(_pickled(job), chunks, asyncio.get_running_loop())
        try:
            await pool.run(min(self._processes, len(chunks)))
        finally:
            await asyncio.shield(asyncio.to_thread(pool.end))
        return pool.results()

    def _chunks(self, items: list[Item]) -> list[Chunk[Item]]:
        size = self._chunk or min(MAX_CHUNK, max(1, len(items) // (self._processes * CHUNKS_PER_PROCESS)))
        return [(at, items[at : at + size]) for at in range(0, len(items), size)]


class _Pool(Generic[Item, Result]):
    """The processes of one ``map`` and their threads."""

    def __init__(self, job: bytes, chunks: list[Chunk[Item]], loop: asyncio.AbstractEventLoop) -> None:
        self._job = job
        self._open = deque(chunks)
        self._left = len(chunks)
        self._loop = loop
        self._done: asyncio.Future[None] = loop.create_future()
        self._results: dict[int, list[Result]] = {}
        self._workers: list[tuple[SpawnProcess, Connection, threading.Thread]] = []
        self._starting = threading.Lock()
        self._ended = False

    async def run(self, processes: int) -> None:
        """Starts the processes and waits until all chunks are done, or one of them failed."""
        if not processes:
            return
        for _ in range(processes):
            await asyncio.to_thread(self._start)
        await self._done

    def results(self) -> list[Result]:
        return [result for at in sorted(self._results) for result in self._results[at]]

    def end(self) -> None:
        """Ends the processes and the threads; what does not end by itself is killed."""
        self._open.clear()
        with self._starting:
            self._ended = True
        if len(self._results) < self._left:
            for process, _, _ in self._workers:
                process.terminate()
        for process, connection, thread in self._workers:
            process.join(EXIT_S)
            process.kill()
            process.join()
            thread.join()
            connection.close()
            process.close()

    def _start(self) -> None:
        with self._starting:
            if not self._ended:
                self._workers.append(self._started())

    def _started(self) -> tuple[SpawnProcess, Connection, threading.Thread]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), name="promptpex-engine", daemon=True)
        process.start()
        theirs.close()
        thread = threading.Thread(target=self._feed, args=(ours,), name="promptpex-engine", daemon=True)
        thread.start()
        return process, ours, thread

    def _feed(self, connection: Connection) -> None:
        """Sends one process its chunks, until there are none or it fails."""
        try:
            connection.send_bytes(self._job)
            while self._open:
                with contextlib.suppress(IndexError):  # another thread took the last
                    self._give(connection, *self._open.popleft())
            connection.send_bytes(b"")
        except (EOFError, OSError):
            self._end(EngineError("a worker process died; run the same command again, with fewer of them"))
        except Exception as error:  # whatever the job raised, or pickle could not take
            self._end(error)

    def _give(self, connection: Connection, at: int, items: Sequence[Item]) -> None:
        connection.send_bytes(_pickled(items))
        results, error = pickle.loads(connection.recv_bytes())  # our own process wrote it
        if error is not None:
            raise error
        self._loop.call_soon_threadsafe(self._take, at, results)

    def _take(self, at: int, results: list[Result]) -> None:
        self._results[at] = results
        if len(self._results) == self._left and not self._done.done():
            self._done.set_result(None)

    def _end(self, error: Exception) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits any more
            self._loop.call_soon_threadsafe(self._fail, error)

    def _fail(self, error: Exception) -> None:
        if not self._done.done():
            self._done.set_exception(error)


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise EngineError(f"a job for other processes cannot be pickled: {error}") from error


def _serve(connection: Connection) -> None:
    """The main function of a process: its job on the chunks that come, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the parent decides what it means
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_work(connection))


async def _work(connection: Connection) -> None:
    chunks: asyncio.Queue[bytes] = asyncio.Queue()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is not None:
        with contextlib.suppress(NotImplementedError):  # Windows, where a process is ended by force
            loop.add_signal_handler(signal.SIGTERM, task.cancel)
    threading.Thread(target=_receive, args=(connection, loop, chunks), daemon=True).start()
    error: Exception | None = None
    try:
        job = pickle.loads(await chunks.get())  # our parent wrote it
        async with job.open() as worker:
            while chunk := await chunks.get():
                results = await run_all(worker, pickle.loads(chunk))
                connection.send_bytes(_pickled((results, None)))
    except Exception as raised:  # it is raised again where the job was given
        error = raised
    if error is not None:
        connection.send_bytes(_pickled((None, _portable(error))))


def _receive(connection: Connection, loop: asyncio.AbstractEventLoop, chunks: asyncio.Queue[bytes]) -> None:
    """Reads what the parent sends. When the parent is gone, so is this process, whatever it is at."""
    try:
        while True:
            message = connection.recv_bytes()
            loop.call_soon_threadsafe(chunks.put_nowait, message)
    except (EOFError, OSError, RuntimeError):  # RuntimeError: the loop is closed, the work is done
        os._exit(1)


def _portable(error: Exception) -> Exception:
    """The error if it can travel, else its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return EngineError(f"a worker process failed: {type(error).__name__}: {error}")
    return error
