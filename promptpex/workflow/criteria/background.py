"""Work in the background of a server: an event loop in a thread of its own, with a session that is opened when it is
first needed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from promptpex.config import Resolved
from promptpex.core.events import Listener, ignore_events
from promptpex.llm.client import Client
from promptpex.workflow.session import Session, open_session

T = TypeVar("T")

LAST_ANSWERS_S = 5
"""Seconds that answers which are on their way have when the server stops; what comes later is asked again."""


class Background:
    """A loop in a thread, and the session of what runs in it.

    Args:
        resolved: the settings of the session.
        provider: who answers; None = the real ones.
        emit: is given the session's events, in the loop's thread.
    """

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
        """The session, if it was needed yet."""
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
        """The session; to be called in the loop.

        Raises:
            StoreError: the response store cannot be opened.
        """
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
