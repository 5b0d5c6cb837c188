"""The engine of your Ray cluster: chunks of items are tasks, which Ray does again where a worker or a node is lost.

The cluster is the one that the program is connected to (``ray.init``), the one at an address, or that of this machine;
none is started. Ray is imported here and nowhere else.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, Generic

from promptpex.core.errors import EngineError
from promptpex.engines.in_process import Item, Job, Result, run_all
from promptpex.engines.processes import ChunkedEngine, died, pickled, portable

TRIES = 3
"""Workers that may be lost at a chunk, since it may be what they die of."""
STREAMED = 4
"""Items of one message of a stream: each opens the job anew."""
REACHED_S = 5.0
"""Seconds in which something has to answer at the cluster's address."""

AUTO = "auto"
"""The address of the cluster that this machine is a node of, as Ray's own tools call it."""


class RayEngine(ChunkedEngine):
    """Runs jobs as tasks of a cluster, which is connected to when the first job is given.

    Args:
        address: HOST:PORT of the cluster's head, or ``auto``; this process has to run on one of its nodes. None: what
            the variable ``RAY_ADDRESS`` says, else ``auto``.
        workers: how many tasks run at a time; None = one per CPU of the cluster.
        chunk: items of one task; None = by the number of items, in a stream ``STREAMED``.
    """

    def __init__(self, address: str | None = None, workers: int | None = None, *, chunk: int | None = None) -> None:
        super().__init__(chunk, streamed=STREAMED)
        self._address = address or os.environ.get("RAY_ADDRESS") or AUTO
        self._workers = workers
        self._connected = False

    def close(self) -> None:
        if self._connected:
            import ray

            self._connected = False
            ray.shutdown()

    @asynccontextmanager
    async def _opened(self, job: Job[Item, Result]) -> AsyncIterator[_Tasks[Item, Result]]:
        message = pickled(job)
        self._connected = _connect(self._address) or self._connected
        tasks: _Tasks[Item, Result] = _Tasks(message, self._workers)
        try:
            yield tasks
        finally:
            tasks.end()


class _Tasks(Generic[Item, Result]):
    """The tasks of one ``map`` or ``stream``."""

    def __init__(self, job: bytes, workers: int | None) -> None:
        import ray

        self.most = max(1, workers or int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call]
        self._job = ray.put(job)
        self._task: Any = ray.remote(num_cpus=1, max_retries=TRIES - 1)(done)
        self._lost = (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError)
        self._turn = asyncio.Semaphore(self.most)
        self._running: set[Any] = set()

    def submit(self, items: Sequence[Item]) -> asyncio.Future[list[Result]]:
        """The results of these items, to come. Chunks are begun in the order in which they are given."""
        return asyncio.ensure_future(self._results(items))

    async def _results(self, items: Sequence[Item]) -> list[Result]:
        async with self._turn:
            task = self._task.remote(version("promptpex"), self._job, pickled(items))
            self._running.add(task)
            try:
                answer = await task
            except self._lost as error:
                raise EngineError(died(TRIES)) from error
            except Exception as error:
                raise EngineError(f"the Ray cluster cannot go on: {_one_line(error)}") from error
        self._running.discard(task)
        outcome: list[Result] | Exception = pickle.loads(answer)  # our own task wrote it
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def end(self) -> None:
        """Ends the tasks that run, with their processes: one that waits does not notice that it is cancelled."""
        import ray

        for task in self._running:
            ray.cancel(task, force=True)


def done(expected: str, job: bytes, items: bytes) -> bytes:
    """What the job makes of these items, or what it raised; pickled. Runs in a task."""
    try:
        if (own := version("promptpex")) != expected:
            raise EngineError(
                f"a node of the Ray cluster has promptpex {own}; install promptpex {expected} on every node"
            )
        return pickled(asyncio.run(_done(pickle.loads(job), pickle.loads(items))))  # our driver wrote them
    except Exception as error:  # it is raised again where the job was given
        return pickled(portable(error))


async def _done(job: Job[Item, Result], items: Sequence[Item]) -> list[Result]:
    async with job.open() as worker:
        return await run_all(worker, items)


def _connect(address: str) -> bool:
    """Connects this process to the cluster; False where it is connected already.

    Ray lets workers import from the working folder, which may be a stranger's checkout, unless the job says that it has
    one of its own; a real one would start a further process for each worker.

    Raises:
        EngineError: Ray is not installed, or the cluster cannot be used.
    """
    try:
        import ray
    except ImportError as error:
        raise EngineError("the engine ray needs Ray: pip install 'promptpex[ray]'") from error
    if ray.is_initialized():
        return False
    _require_server(address)
    worker: Any = sys.modules["ray._private.worker"]
    worker.print_to_stdstream = lambda *arguments, **options: None  # what nodes lost would stand among results
    job = ray.job_config.JobConfig()
    job._runtime_env_has_working_dir = lambda: True  # type: ignore[method-assign]
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False, job_config=job)
    except Exception as error:
        token = "" if "RAY_AUTH_MODE" in os.environ else "; one with a token takes RAY_AUTH_MODE=token"
        raise EngineError(f"the Ray cluster at {address} cannot be used: {_one_line(error)}{token}") from error
    _take_signals_back()
    return True


def _require_server(address: str) -> None:
    """Ray itself would try for a minute, and then end the process.

    Raises:
        EngineError: the address is malformed, or nothing answers there.
    """
    if address == AUTO:
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise EngineError(f"{address!r} is not the address of a Ray cluster; write HOST:PORT, as `ray start` prints it")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACHED_S).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise EngineError(f"no Ray cluster answers at {address} ({why}); start one with `ray start --head`") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:400] or type(error).__name__


def _take_signals_back() -> None:
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is not None:
                signal.signal(number, handler)
