"""Not too far ahead: how many requests to one model are past this point at a time.

A run starts thousands of questions at once. If each went straight to the store and claimed itself, none would be sent
before all had, and another process on the same store would find everything claimed. So only as many are let through
as keep the queues behind filled.
"""

from __future__ import annotations

import asyncio

from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client

LEAST = 32
"""However few may be in flight, so many may be on their way."""


class AheadClient:
    """Lets ``2 * concurrency`` requests per model and server through to ``inner`` at a time, in order."""

    def __init__(self, inner: Client, concurrency: int) -> None:
        self._inner = inner
        self._width = max(LEAST, 2 * concurrency)
        self._gates: dict[tuple[str, str | None], asyncio.Semaphore] = {}

    async def complete(self, request: Request) -> Completion:
        """The answer of ``inner``."""
        key = (request.model, request.api_base)
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = asyncio.Semaphore(self._width)
        async with gate:
            return await self._inner.complete(request)

    async def close(self) -> None:
        """Closes ``inner``."""
        await self._inner.close()
