"""Paid for once: what the store knows is not asked again, and what is asked is stored before it is used."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from promptpex.core.errors import ModelError, StoreError
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.core.response_store import ResponseStore
from promptpex.core.translation import stored
from promptpex.llm.client import Client
from promptpex.llm.pacing import CONCURRENCY
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.providers.prices import with_own_price


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
    return completion if completion.cached else completion.model_copy(update={"cached": True})


FIRST_POLL_S = 0.1
"""Seconds until another process's answer is looked for again; it doubles up to ``LAST_POLL_S``."""

LAST_POLL_S = 2.0

MAX_WAIT_S = 900.0
"""Seconds after which a question that another living process still holds is asked all the same."""

SILENT_S = 3.0
"""Seconds after which the user is told that another process's answers are waited for."""

MIN_ADMITTED = 32
"""Requests per model that are let through at a time, however few may be in flight."""


class CachedClient:
    """Answers from the store, else asks ``inner`` and stores the answer.

    A question that several tasks or processes ask at the same time is asked once. Errors are never stored; empty, cut
    off and filtered answers are, since they were paid for. An answer that was not asked for here says ``cached``.

    Answers from a recording (``replay/...``) pass by the store: they are free, and the file may change.

    A ``fresh`` request is asked once more in this session, and its answer takes the place of the stored one.

    Args:
        inner: who is asked.
        store: where answers are kept.
        concurrency: most requests in flight to a server. Twice as many per model and server go on at a time, in order.
            A run starts thousands at once: if each went straight to the store and claimed itself, none would be sent
            before all had, and another process on the same store would find everything claimed.
        fresh: whether every request is taken for a fresh one.
        cancel_token: refuses what is not asked yet, also what another process is asking.
        sleep: waits that many seconds.
        emit: is given one notice where another process's answers are waited for.
    """

    def __init__(
        self,
        inner: Client,
        store: ResponseStore,
        *,
        concurrency: int = CONCURRENCY,
        fresh: bool = False,
        cancel_token: CancelToken | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        emit: Listener = ignore_events,
    ) -> None:
        self._inner = inner
        self._store = store
        self._fresh = fresh
        self._renewed: set[str] = set()
        self._cancel_token = cancel_token or CancelToken()
        self._sleep = sleep
        self._emit = emit
        self._announced_waiting = False
        self._flights = Flights()
        self._width = max(MIN_ADMITTED, 2 * concurrency)
        self._admissions: dict[tuple[str, str | None, str | None], asyncio.Semaphore] = {}
        self._asking = 0
        self._nobody_asks = asyncio.Event()

    async def complete(self, request: Request) -> Completion:
        """The answer to ``request``, durable in the store.

        Raises:
            StoreError: the answer could not be stored.
        """
        key = request.answerer
        admission = self._admissions.get(key)
        if admission is None:
            admission = self._admissions[key] = asyncio.Semaphore(self._width)
        async with admission:
            return with_own_price(await self._complete(request), request, only_unknown=True)

    async def close(self) -> None:
        """Closes ``inner``; the store belongs to whoever opened it."""
        await self._inner.close()

    async def _complete(self, request: Request) -> Completion:
        if request.is_replay:
            return await self._inner.complete(request)
        request_id = request.id
        while True:
            stored = None if self._to_renew(request_id, request) else await self._looked_up(request_id)
            if stored is not None:
                return as_cached(stored)
            if not self._flights.under_way(request_id):
                return await self._flights.fly(request_id, lambda: self._ask(request_id, request))
            joined = await self._flights.joined(request_id)
            if joined is not None:
                return as_cached(joined)

    async def _ask(self, request_id: str, request: Request) -> Completion:
        self._cancel_token.raise_if_cancelled(request.model)
        if self._to_renew(request_id, request):
            async with self._in_flight():
                completion = await self._inner.complete(request)
                await self._store.replace(request_id, request, completion)
            self._renewed.add(request_id)
            return completion
        stored = await self._claimed_or_stored(request_id, request.model)
        if stored is not None:
            return stored
        async with self._in_flight():
            try:
                completion = await self._inner.complete(request)
                self._renewed.add(request_id)
            except BaseException:
                with contextlib.suppress(StoreError):
                    await self._store.release(request_id)
                raise
            return await self._store.put(request_id, request, completion)

    async def _looked_up(self, request_id: str) -> Completion | None:
        try:
            return await self._store.get(request_id)
        except StoreError:
            await self._answered()
            raise

    @contextlib.asynccontextmanager
    async def _in_flight(self) -> AsyncIterator[None]:
        self._asking += 1
        self._nobody_asks.clear()
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking:
                self._nobody_asks.set()

    async def _answered(self) -> None:
        """Returns when nothing is in flight: before an error of the store ends the run, what is paid for may come, and
        find the place that a store keeps for it while its server is away."""
        if self._asking:
            await self._nobody_asks.wait()

    def _to_renew(self, request_id: str, request: Request) -> bool:
        return (self._fresh or request.fresh) and request_id not in self._renewed

    async def _claimed_or_stored(self, request_id: str, model: str) -> Completion | None:
        """None once the question is ours to ask; the answer if another process gave it meanwhile."""
        wait, waited = FIRST_POLL_S, 0.0
        while waited < MAX_WAIT_S and not await self._claimed(request_id):
            stored = await self._looked_up(request_id)
            if stored is not None:
                return as_cached(stored)
            await self._cancel_token.pause(wait, self._sleep, model)
            waited += wait
            self._announce_waiting(waited)
            wait = min(LAST_POLL_S, wait * 2)
        return None

    async def _claimed(self, request_id: str) -> bool:
        try:
            return await self._store.claim(request_id)
        except StoreError:
            await self._answered()
            raise

    def _announce_waiting(self, waited: float) -> None:
        if waited >= SILENT_S and not self._announced_waiting:
            self._announced_waiting = True
            message = stored(
                "another promptpex process on this store is asking some of the same questions; waiting for its "
                "answers, up to {count} minutes",
                count=f"{MAX_WAIT_S / 60:.0f}",
            )
            self._emit(Notice(message))
