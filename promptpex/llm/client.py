"""The one seam to models: everything that answers, and everything that wraps what answers, has this shape."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from promptpex.core.records import Completion, Request


class Client(Protocol):
    """Something that completes requests.

    ``complete`` returns what the model answered, whatever its content (empty, truncated and filtered answers are
    returned, with their ``finish_reason``), or raises an ``errors.ModelError``. ``close`` frees connections and
    loaded models; it may be called twice.
    """

    async def complete(self, request: Request) -> Completion: ...

    async def close(self) -> None: ...


@runtime_checkable
class Loading(Protocol):
    """A client that has to load something before it can send a request, which takes seconds and is done once.

    ``load`` raises what ``complete`` would raise.
    """

    async def load(self, request: Request) -> None: ...
