"""A model is asked once before it is asked a hundred times: a wrong key or name costs one request."""

from __future__ import annotations

import asyncio

from promptpex.core.errors import ModelError, NotAuthorised, RetiredModel, UnknownModel
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.core.translation import stored
from promptpex.llm.client import Client, Loading

FIRST_ALONE_S = 1.0
"""Seconds for which the others wait once the first is sent: a wrong key is refused well within them, and a model that
takes long to answer is held up no longer."""

FATAL = (NotAuthorised, UnknownModel, RetiredModel)
"""What holds for every further question to a model. A spent budget or a stop does not say anything about the model."""

ModelAtServer = tuple[str, str | None, str | None, str | None]
"""A model, its server or backend where one is named, and the variable of its key."""


def who_is_asked(request: Request) -> ModelAtServer:
    """The model and server that a request goes to, and the variable of its key."""
    return *request.answerer, request.key_env


class FirstRequestGate:
    """Which models may be asked by many at once, which not at all, and which are being tried by one request."""

    def __init__(self) -> None:
        self.known: set[ModelAtServer] = set()
        self.dead: dict[ModelAtServer, ModelError] = {}
        self.tried: dict[ModelAtServer, asyncio.Future[None]] = {}

    def open(self, who: ModelAtServer) -> None:
        """All may go from now on."""
        self.known.add(who)
        self.wake(who)

    def wake(self, who: ModelAtServer) -> None:
        """Those who wait look again."""
        waiting = self.tried.pop(who, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


class FirstRequestClient:
    """Sends the first request to each model and server alone; the others wait here for what comes of it.

    If it ends in one of ``FATAL``, the others end so too, and are not sent. ``FirstAttemptClient``, below the retries,
    lets them go when the first attempt ends in anything else, or takes long. What the store answers does not pass here.
    """

    def __init__(self, inner: Client, gate: FirstRequestGate, emit: Listener = ignore_events) -> None:
        self._inner = inner
        self._gate = gate
        self._emit = emit

    async def complete(self, request: Request) -> Completion:
        """The answer of ``inner``.

        Raises:
            NotAuthorised, UnknownModel, RetiredModel: also where an earlier request said so.
        """
        who, gate = who_is_asked(request), self._gate
        while who not in gate.known or who in gate.dead:
            if who in gate.dead:
                raise again(gate.dead[who], request.model)
            waiting = gate.tried.get(who)
            if waiting is None:
                return await self._first(who, request)
            await asyncio.shield(waiting)
        return await self._inner.complete(request)

    async def close(self) -> None:
        """Closes ``inner``."""
        await self._inner.close()

    async def _first(self, who: ModelAtServer, request: Request) -> Completion:
        """Asks alone. When this task is cancelled, the next that waits is the first."""
        gate = self._gate
        gate.tried[who] = asyncio.get_running_loop().create_future()
        try:
            return await self._inner.complete(request)
        except FATAL as error:
            gate.dead[who] = error
            message = stored(
                "{label} cannot be asked, so it is asked nothing more: {part}",
                label=request.label or request.model,
                part=error.message,
            )
            self._emit(Notice(message, "warning"))
            raise
        except ModelError:
            gate.open(who)
            raise
        finally:
            gate.wake(who)


class FirstAttemptClient:
    """One attempt of a request: the first to a model and server opens its gate, unless it ends in one of ``FATAL``.

    It stands below the queue and the retries: a server that refuses the first attempt for a while is then asked by
    all, and the time for which the others wait begins when the first is sent. What the provider has to load first is
    not counted.
    """

    def __init__(
        self, inner: Client, gate: FirstRequestGate, *, loading: Loading | None = None, alone_s: float = FIRST_ALONE_S
    ) -> None:
        self._inner = inner
        self._gate = gate
        self._loading = loading
        self._alone_s = alone_s

    async def complete(self, request: Request) -> Completion:
        """The answer of ``inner``."""
        who = who_is_asked(request)
        if who in self._gate.known:
            return await self._inner.complete(request)
        return await self._tried(who, request)

    async def close(self) -> None:
        """Closes ``inner``."""
        await self._inner.close()

    async def _tried(self, who: ModelAtServer, request: Request) -> Completion:
        try:
            completion = await self._watched(who, request)
        except FATAL:
            raise
        except ModelError:
            self._gate.open(who)
            raise
        self._gate.open(who)
        return completion

    async def _watched(self, who: ModelAtServer, request: Request) -> Completion:
        if self._loading is not None:
            await self._loading.load(request)
        timer = asyncio.get_running_loop().call_later(self._alone_s, self._gate.open, who)
        try:
            return await self._inner.complete(request)
        finally:
            timer.cancel()


def again(error: ModelError, model: str) -> ModelError:
    """The same error for a request that was not sent."""
    return type(error)(error.message, model=model)
