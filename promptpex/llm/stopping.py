"""Stopping a run: no new request is sent, what is in flight may finish."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from promptpex.errors import Stopped


class StopFlag:
    """Raised once, never lowered. Set it from the event loop's own thread."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._called: list[Callable[[], None]] = []

    @property
    def stopped(self) -> bool:
        """Whether the run is being stopped."""
        return self._event.is_set()

    def stop(self) -> None:
        """Refuses everything that is not sent yet, also what waits for its turn. May be called twice."""
        if not self.stopped:
            self._event.set()
            for call in self._called:
                call()

    def on_stop(self, call: Callable[[], None]) -> None:
        """``call`` is called when the flag is raised."""
        self._called.append(call)

    def check(self, model: str) -> None:
        """Raises ``Stopped`` once the flag is up."""
        if self.stopped:
            raise stopped(model)

    async def pause(self, seconds: float, sleep: Callable[[float], Awaitable[None]], model: str) -> None:
        """Waits so long, or raises ``Stopped`` as soon as the flag goes up."""
        sleeping = asyncio.ensure_future(sleep(seconds))
        waiting = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({sleeping, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            waiting.cancel()
        self.check(model)


def stopped(model: str) -> Stopped:
    """The error of a request that a stop kept from being sent."""
    return Stopped(f"{model} was not asked: the run is being stopped. The same command goes on from here.", model=model)
