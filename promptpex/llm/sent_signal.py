"""When a request leaves: a provider says so in the moment in which it sends, so that what never left is not counted.

Who counts says so for the requests of its task (``told_of``); what a provider refuses before it sends, for want of a
key or for a parameter, is told to nobody. An answer from a client that says nothing counts as sent when it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from promptpex.core.events import Listener, Sent, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client
from promptpex.llm.meter import Meter
from promptpex.llm.resolve_model import server_of

_TELL: ContextVar[Callable[[], None] | None] = ContextVar("tell", default=None)


@contextmanager
def told_of(tell: Callable[[], None]) -> Iterator[None]:
    """Until the end of the block ``tell`` is called whenever this task sends a request."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def sending() -> None:
    """To be called by a provider right before a request leaves this process, or goes to a model inside it."""
    tell = _TELL.get()
    if tell is not None:
        tell()


class CountedClient:
    """Tells ``meter`` and ``emit`` of every request that ``inner`` sends; one that is tried again is sent again, one
    that a recording answers is not sent.

    Args:
        gives_up_s: seconds after which an answer is no longer waited for.
    """

    def __init__(self, inner: Client, meter: Meter, emit: Listener = ignore_events, *, gives_up_s: float) -> None:
        self._inner = inner
        self._meter = meter
        self._emit = emit
        self._gives_up_s = gives_up_s

    async def complete(self, request: Request) -> Completion:
        """The answer of ``inner``."""
        if request.is_replay:
            return await self._inner.complete(request)
        times = 0

        def tell() -> None:
            nonlocal times
            times += 1
            self._meter.sent(request)
            label = request.label or request.model
            self._emit(Sent(label, request.stage, request.id, server_of(request).key, self._gives_up_s))

        with told_of(tell):
            completion = await self._inner.complete(request)
        if not times:
            tell()
        return completion

    async def close(self) -> None:
        """Closes ``inner``."""
        await self._inner.close()
