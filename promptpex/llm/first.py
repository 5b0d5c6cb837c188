"""A model is asked once before it is asked a hundred times: a wrong key or name costs one request."""

from __future__ import annotations

import asyncio

from promptpex.errors import ModelError
from promptpex.events import Listener, Notice, nobody
from promptpex.llm.client import Client
from promptpex.records import Completion, Request

ALONE_S = 0.5
"""Seconds for which the others wait: a wrong key is refused at once, and a slow server shall not be made slower."""

Who = tuple[str, str | None]


class FirstClient:
    """Sends the first request to each model and server alone; the others wait for what comes of it.

    If it ends in an error of the model or the key, not of the question (``ModelError.model_wide``), the others end so
    too, without being sent. Whatever else it ends in, or when ``alone_s`` seconds are over, all go.
    What the store answers does not pass here.
    """

    def __init__(self, inner: Client, emit: Listener = nobody, *, alone_s: float = ALONE_S) -> None:
        self._inner = inner
        self._alone_s = alone_s
        self._emit = emit
        self._known: set[Who] = set()
        self._dead: dict[Who, ModelError] = {}
        self._asking: dict[Who, asyncio.Future[None]] = {}

    async def complete(self, request: Request) -> Completion:
        """The answer of ``inner``.

        Raises:
            NotAuthorised, UnknownModel, RetiredModel: also where an earlier request said so.
        """
        who = (request.model, request.api_base)
        while who not in self._known or who in self._dead:
            if who in self._dead:
                raise _again(self._dead[who], request.model)
            if who not in self._asking:
                return await self._first(who, request)
            await asyncio.shield(self._asking[who])
        return await self._inner.complete(request)

    async def close(self) -> None:
        """Closes ``inner``."""
        await self._inner.close()

    async def _first(self, who: Who, request: Request) -> Completion:
        """Asks alone. When this task is cancelled, the next that waits is the first."""
        loop = asyncio.get_running_loop()
        asking: asyncio.Future[None] = loop.create_future()
        self._asking[who] = asking
        waited = loop.call_later(self._alone_s, self._open, who, asking)
        try:
            completion = await self._inner.complete(request)
        except ModelError as error:
            if error.model_wide:
                self._dead[who] = error
                said = f"{request.model} cannot be asked, so it is asked nothing more: {error.message}"
                self._emit(Notice(said, "warning"))
            else:
                self._known.add(who)
            raise
        else:
            self._known.add(who)
            return completion
        finally:
            waited.cancel()
            del self._asking[who]
            if not asking.done():
                asking.set_result(None)

    def _open(self, who: Who, asking: asyncio.Future[None]) -> None:
        self._known.add(who)
        asking.set_result(None)


def _again(error: ModelError, model: str) -> ModelError:
    """The same error for a request that was not sent."""
    return type(error)(error.message, model=model)
