"""Work in the background of a server: an event loop in a thread of its own, with a session that is opened when it is
first needed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from promptpex.config import Resolved
from promptpex.core.errors import ModelError, PromptpexError, Stopped
from promptpex.core.events import Listener, ignore_events
from promptpex.core.records.criteria_board import ShownWork
from promptpex.llm.client import Client
from promptpex.workflow.session import Session, open_session

T = TypeVar("T")

LAST_ANSWERS_S = 5
"""Seconds that answers which are on their way have when the server stops; what comes later is asked again."""


class Background:
    """A loop in a thread, and the session of what runs in it."""

    def __init__(self, resolved: Resolved, *, provider: Client | None = None, emit: Listener = ignore_events) -> None:
        self._resolved, self._provider, self._emit = resolved, provider, emit
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._stack = contextlib.AsyncExitStack()
        self._opening = asyncio.Lock()
        self._session: Session | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_ending = False
        self._starting = threading.Lock()

    @property
    def opened(self) -> Session | None:
        return self._session

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Runs ``work`` in the loop; may be called from any thread. At the end nothing new is begun."""
        with self._starting:
            if self._is_ending:
                work.close()
                dropped: Future[T] = Future()
                dropped.cancel()
                return dropped
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop.run_forever, name="candidates", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(self._kept(work), self._loop)

    async def session(self) -> Session:
        """The session; to be called in the loop."""
        async with self._opening:
            if self._session is None:
                opened = open_session(self._resolved, provider=self._provider, emit=self._emit)
                self._session = await self._stack.enter_async_context(opened)
            return self._session

    def close(self) -> None:
        """Ends all work: what is on its way has a few seconds, the session is closed, the thread ends."""
        with self._starting:
            self._is_ending = True
        if self._thread is None:
            self._loop.close()
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _kept(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await work
        finally:
            self._tasks.discard(task)

    async def _end(self) -> None:
        if self._session is not None:
            self._session.client.cancel()
        left = set(self._tasks)
        if left:
            await asyncio.wait(left, timeout=LAST_ANSWERS_S)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._stack.aclose()


MOST_AT_A_TIME = 3
MOST_KEPT = 6
"""Finished jobs that are shown."""


@dataclass(eq=False)
class BackgroundJob:
    """One piece of work."""

    what: str
    criterion: str = ""
    state: Literal["waiting", "running", "done", "failed", "dropped"] = "waiting"
    sentence: str = ""

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "running")


class JobList:
    """The jobs of a page, in the order in which they were started. Safe in several threads."""

    def __init__(self, background: Background, exhausted: Callable[[], object]) -> None:
        self._background, self._exhausted = background, exhausted
        self._slots = asyncio.Semaphore(MOST_AT_A_TIME)
        self._open: list[BackgroundJob] = []
        self._ended: deque[BackgroundJob] = deque(maxlen=MOST_KEPT)
        self._lock = threading.Lock()

    def start(self, job: BackgroundJob, work: Callable[[], Awaitable[str]]) -> None:
        """Starts a job, unless the same is open: ``work`` gives the sentence that says what came of it."""
        with self._lock:
            if any((one.what, one.criterion) == (job.what, job.criterion) for one in self._open):
                return
            self._open.append(job)
        self._background.start(self._run(job, work))

    async def _run(self, job: BackgroundJob, work: Callable[[], Awaitable[str]]) -> None:
        try:
            async with self._slots:
                if job.state == "waiting":
                    job.state = "running"
                    job.sentence = await work()
                    job.state = "done"
        except (Stopped, asyncio.CancelledError):
            job.state = "dropped"
            raise
        except (PromptpexError, OSError) as failure:
            job.state, job.sentence = "failed", str(failure)
            if isinstance(failure, ModelError) and failure.model_wide:
                self._exhausted()
        finally:
            with self._lock:
                self._open.remove(job)
                self._ended.append(job)

    def drop(self) -> int:
        with self._lock:
            waiting = [one for one in self._open if one.state == "waiting"]
            for one in waiting:
                one.state = "dropped"
            return len(waiting)

    @property
    def is_working(self) -> bool:
        return bool(self._open)

    def working(self) -> dict[str, str]:
        with self._lock:
            return {one.criterion: one.what for one in self._open if one.criterion and one.is_open}

    def shown(self) -> tuple[ShownWork, ...]:
        """What is being done, then what was done last, the latest first."""
        with self._lock:
            all_jobs = (*self._open, *reversed(self._ended))
            return tuple(
                ShownWork(what=one.what, criterion=one.criterion, state=one.state, sentence=one.sentence)
                for one in all_jobs
            )
