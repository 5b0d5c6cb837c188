"""The client of a run that asks on workers: it answers here what cannot be asked elsewhere."""

from __future__ import annotations

from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client
from promptpex.llm.joined_requests import Flights, as_cached
from promptpex.llm.remote.workers import Workers
from promptpex.llm.resolve_model import Provider, resolve
from promptpex.llm.streaming import watcher

AT_HOME: frozenset[Provider] = frozenset(("embedded", "replay", "fake"))
"""What is not asked elsewhere: a recording is on this disk, a model in this process takes the memory of this machine
once, and a stand-in answers at once."""


class RemoteClient:
    """Has ``workers`` answer, each question once, however many ask it.

    Replies that are watched on their way are asked for here, since a watcher is.

    Args:
        here: answers what is not asked elsewhere.
        workers: answer the rest.
        fresh: whether nothing is taken from the store that was not answered in this session.
    """

    def __init__(self, here: Client, workers: Workers, *, fresh: bool = False) -> None:
        self._here = here
        self._workers = workers
        self._fresh = fresh
        self._renewed: set[str] = set()
        self._flights = Flights()

    async def complete(self, request: Request) -> Completion:
        """As ``CachedClient``: the answer, durable in the store.

        Raises:
            PromptpexError: see ``Workers.answer``.
        """
        if resolve(request.model, request.address).provider in AT_HOME or watcher() is not None:
            return await self._here.complete(request)
        request_id = request.id
        while self._flights.under_way(request_id):
            joined = await self._flights.joined(request_id)
            if joined is not None:
                return as_cached(joined)
        return await self._flights.fly(request_id, lambda: self._ask(request_id, request))

    async def close(self) -> None:
        """Closes the workers, and what answers here."""
        try:
            await self._workers.close()
        finally:
            await self._here.close()

    async def _ask(self, request_id: str, request: Request) -> Completion:
        """A fresh question is asked anew once in a session, whichever worker is asked then."""
        fresh = (self._fresh or request.fresh) and request_id not in self._renewed
        completion = await self._workers.answer(request if fresh == request.fresh else request.replace(fresh=fresh))
        if not completion.cached:
            self._renewed.add(request_id)
        return completion
