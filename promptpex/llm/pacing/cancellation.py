"""Cancelling a run: no new request is sent, what is in flight may finish within a few seconds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from promptpex.core.errors import CutByStop, Stopped
from promptpex.core.translation import stored


class Changes:
    """Lets all who wait look again, as often as something changes."""

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None

    def announce(self) -> None:
        changed, self._next = self._next, None
        if changed is not None and not changed.done():
            changed.set_result(None)

    def next(self) -> asyncio.Future[None]:
        """Is done at the next change. It is everybody's: who may be cancelled waits for it through ``wait``."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        return self._next

    async def wait(self, seconds: float | None = None) -> None:
        """Until the next change, or until so many seconds are over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.shield(self.next())


GRACE_S = 3.0
"""Seconds that a request in flight still has once the run is being stopped; a convention: most short
answers come within it, and are kept."""


class CancelToken:
    """Cancelled once and for good, in the event loop's own thread."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._event = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._grace_s = grace_s
        self._ends: float | None = None
        self._in_flight: set[asyncio.Timeout] = set()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        """Refuses everything that is not sent yet, also what waits for its turn. May be called twice."""
        if not self.cancelled:
            self._event.set()
            self._ends = asyncio.get_running_loop().time() + self._grace_s
            for scope in self._in_flight:
                self._shorten(scope)
            for callback in self._callbacks:
                callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def raise_if_cancelled(self, model: str) -> None:
        if self.cancelled:
            raise not_asked(model)

    @contextlib.asynccontextmanager
    async def within(self, seconds: float, model: str) -> AsyncIterator[None]:
        """A request in flight: it may take so many seconds, and fewer once the run is cancelled.

        Raises:
            TimeoutError: the seconds are over.
            CutByStop: the run was stopped meanwhile, and the grace is over.
        """
        loop, due = asyncio.get_running_loop(), 0.0
        try:
            async with asyncio.timeout(seconds) as scope:
                due = loop.time() + seconds
                self._in_flight.add(scope)
                try:
                    if self.cancelled:
                        self._shorten(scope)
                    yield
                finally:
                    self._in_flight.discard(scope)
        except TimeoutError:
            if self._ends is not None and self._ends < due:
                raise unanswered(model) from None
            raise

    def _shorten(self, scope: asyncio.Timeout) -> None:
        when = scope.when()
        if self._ends is not None and (when is None or when > self._ends):
            scope.reschedule(self._ends)

    async def pause(self, seconds: float, sleep: Callable[[float], Awaitable[None]], model: str) -> None:
        """Waits so long, or raises ``Stopped`` as soon as the run is cancelled."""
        sleeping = asyncio.ensure_future(sleep(seconds))
        waiting = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({sleeping, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            waiting.cancel()
        self.raise_if_cancelled(model)


def not_asked(model: str) -> Stopped:
    message = stored(
        "{model} was not asked: the run is being stopped. The same command goes on from here.", model=model
    )
    return Stopped(message, model=model)


def unanswered(model: str) -> CutByStop:
    """The error of a request that was in flight when the run was stopped and did not end in time."""
    message = stored(
        "{model} was asked and had not answered when the run was stopped. The same command asks it again.", model=model
    )
    return CutByStop(message, model=model)
