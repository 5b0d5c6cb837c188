"""Waiting for the next change of something that many tasks watch, in one event loop."""

from __future__ import annotations

import asyncio
import contextlib


class Changes:
    """Lets all who wait look again, as often as something changes."""

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None

    def announce(self) -> None:
        """Lets everyone who waits look again."""
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
