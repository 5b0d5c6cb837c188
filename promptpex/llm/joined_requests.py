"""Questions that are under way: who asks the same joins, and it is asked once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from promptpex.core.errors import ModelError
from promptpex.core.records import Completion


class Flights:
    """The questions of one process that are under way, by the ids of their requests."""

    def __init__(self) -> None:
        self._flights: dict[str, asyncio.Future[Completion | None]] = {}

    async def joined(self, request_id: str) -> Completion | None:
        """What whoever asks the same now is answered; None where nobody does, or has given up.

        Raises:
            ModelError: what that one is told.
        """
        flight = self._flights.get(request_id)
        return None if flight is None else await asyncio.shield(flight)

    def under_way(self, request_id: str) -> bool:
        """Whether somebody asks this now."""
        return request_id in self._flights

    async def fly(self, request_id: str, ask: Callable[[], Awaitable[Completion]]) -> Completion:
        """What ``ask`` gives, for all who join. They go on alone when this task is cancelled."""
        flight: asyncio.Future[Completion | None] = asyncio.get_running_loop().create_future()
        self._flights[request_id] = flight
        try:
            completion = await ask()
            flight.set_result(completion)
            return completion
        except ModelError as error:
            flight.set_exception(error)
            flight.exception()
            raise
        finally:
            del self._flights[request_id]
            if not flight.done():
                flight.set_result(None)


def as_cached(completion: Completion) -> Completion:
    """An answer as it is to those who did not ask for it themselves."""
    return completion if completion.cached else completion.model_copy(update={"cached": True})
