"""What a provider tells of a request on its way: that it leaves, and what has come of its reply so far.

Who asks says so for the requests of its task (``watching``), and a provider that can stream asks ``watcher`` for whom.
The wrappers in between know nothing of it, so a watched reply is queued, paced, retried, paid for, stored and recorded
like any other, and only once it is whole. A provider that cannot stream, a stored reply and a recording show nothing
on the way: what ``complete`` gives is always the whole reply.

That it leaves, a provider says in the moment in which it sends (``sending``), so that what never left is not counted.
Who counts says so for the requests of its task (``told_of``). An answer from a client that says nothing counts as sent
when it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from promptpex.codecs.model_json import GrowingList
from promptpex.core.errors import BadRequest, GarbledReply, ModelError
from promptpex.llm.redaction import without_own_keys_in

MOST_OBJECTS = 100
"""Objects of a reply that are told on its way; a list of ours is shorter."""

Objects = Sequence[Mapping[str, Any]]
"""The objects of a reply's list that are whole so far; none, where the reply begins anew."""


class Watcher(Protocol):
    """Is told of a reply on its way, in the event loop's thread.

    ``begin`` says that the model is asked: what came before, of an attempt that failed, no longer holds. ``add`` gives
    the text that came next, without what the model thinks.
    """

    def begin(self) -> None: ...

    def add(self, text: str) -> None: ...


_WATCHER: ContextVar[tuple[Watcher, asyncio.Task[Any] | None] | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """The requests of this task are watched until the end of the block; those of tasks that it starts are not, though
    they inherit its context: what a watcher sets going may ask something else."""
    token = _WATCHER.set((watcher, asyncio.current_task()))
    try:
        yield
    finally:
        _WATCHER.reset(token)


def watcher() -> Watcher | None:
    entry = _WATCHER.get()
    return entry[0] if entry is not None and entry[1] is asyncio.current_task() else None


class ListWatcher:
    """Tells of the objects of a reply's list as they become whole, without the keys of this machine."""

    def __init__(self, tell: Callable[[Objects], None]) -> None:
        self._tell = tell
        self._list = GrowingList()
        self._objects: list[Mapping[str, Any]] = []

    def begin(self) -> None:
        self._list = GrowingList()
        if self._objects:
            self._objects = []
            self._tell(())

    def add(self, text: str) -> None:
        new = self._list.add(text)[: MOST_OBJECTS - len(self._objects)]
        if new:
            self._objects += map(without_own_keys_in, new)
            self._tell(tuple(self._objects))


class Streams:
    """Which models of a server are asked for a stream: not those that refuse one, send something else, or break it off
    again and again."""

    def __init__(self) -> None:
        self._cut: dict[str, int] = {}

    def watcher_of(self, model: str) -> Watcher | None:
        """Who is to be told of this model's next reply on its way; None: it is asked for as a whole."""
        return watcher() if self._cut.get(model, 0) < MOST_CUT else None

    def came(self, model: str) -> None:
        self._cut.pop(model, None)

    def failed(self, model: str, error: ModelError, *, has_begun: bool) -> bool:
        """Notes how a stream failed; gives whether the model refuses streams and is to be asked for a whole reply."""
        refuses = isinstance(error, GarbledReply) or (isinstance(error, BadRequest) and "stream" in error.message)
        if refuses or has_begun:
            self._cut[model] = self._cut.get(model, 0) + (MOST_CUT if refuses else 1)
        return refuses


MOST_CUT = 2
"""Streams in a row that may break off before a model's replies are asked for as a whole."""


_TELL: ContextVar[Callable[[], None] | None] = ContextVar("tell", default=None)


@contextmanager
def told_of(tell: Callable[[], None]) -> Iterator[None]:
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
