"""Workers that talk: a service lives in another process, is told things at any time, and tells things at any time.

Where a job has a result for each item and nothing between, a service and whoever started it send each other messages
for as long as it runs. A carrier starts services; what it starts them in (actors of Ray, tasks in a test) is its own.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from promptpex.core.errors import EngineError, PromptpexError

MAX_BATCH = 64
"""Messages that travel together at most: enough to share the cost of a transfer, few enough to be handled without
holding up the event loop of the receiver."""

BATCH_DELAY_S = 0.01
"""Seconds for which a message that nobody waits for may wait for company: little beside an answer, and half of the
transfers are saved where few requests are under way."""


class WorkerLost(Exception):
    """The process or machine of a worker is gone, with what it had not said yet. ``str`` says what is known of it."""


Receive = Callable[[], Awaitable[Sequence[object]]]
"""The messages that came, in order; waits for some. None means that the service is to end."""


class Send(Protocol):
    """Sends a message that can be pickled; returns at once. Messages arrive in order.

    ``soon``: nobody waits for it, so that it may go with the next, for up to ``BATCH_DELAY_S``.
    """

    def __call__(self, message: object, *, soon: bool = False) -> None: ...


class Service(Protocol):
    """What a worker runs; it can be pickled."""

    async def serve(self, receive: Receive, send: Send) -> None:
        """Runs until ``receive`` gives nothing. What it raises is raised where it was started."""


class ServiceLink(Protocol):
    """A running service, seen from where it was started."""

    def send(self, message: object, *, soon: bool = False) -> None:
        """As ``Send``."""

    async def receive(self) -> Sequence[object]:
        """The messages that the service sent, in order; waits for some. None once it has ended.

        Raises:
            WorkerLost: its process is gone.
            Exception: what ended the service.
        """

    def end(self) -> None:
        """Tells the service to end; what it still sends can be received."""

    async def kill(self) -> None:
        """Ends its process at once, if it is still there."""


class Carrier(Protocol):
    """A way to start services elsewhere."""

    async def room(self) -> int:
        """How many services can run side by side, each with a CPU."""

    async def start(self, service: Service) -> ServiceLink:
        """The service, running.

        Raises:
            WorkerLost: its process could not be started.
        """


class Mailbox:
    """Messages that wait, in order, for the one task that takes them: all that are there, up to ``MAX_BATCH``."""

    def __init__(self) -> None:
        self._messages: list[object] = []
        self._closed = False
        self._due = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def put(self, messages: Sequence[object], *, soon: bool = False) -> None:
        """Adds messages, to be taken at once or, as in ``Send``, ``soon``; a closed mailbox drops them."""
        if self._closed:
            return
        self._messages += messages
        if not soon or len(self._messages) >= MAX_BATCH:
            self._due.set()
        elif self._timer is None and not self._due.is_set():
            self._timer = asyncio.get_running_loop().call_later(BATCH_DELAY_S, self._due.set)

    def close(self) -> None:
        """Takes no more; what is there can still be taken."""
        self._closed = True
        self._due.set()

    async def take(self) -> Sequence[object]:
        """Waits for messages; none once the mailbox is closed and empty."""
        await self._due.wait()
        taken, self._messages = self._messages[:MAX_BATCH], self._messages[MAX_BATCH:]
        if not self._messages and not self._closed:
            self._due.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return taken


class Host:
    """A service in the process of a worker, with what came for it and what it has to say.

    What a carrier moves are batches as bytes (``packed``), so that pickling them is the same everywhere.
    """

    def __init__(self, service: Service) -> None:
        self._inbox, self._outbox = Mailbox(), Mailbox()
        self._failure: Exception | None = None
        self.task = asyncio.ensure_future(self._serve(service))

    def put(self, batch: bytes) -> None:
        """Hands in what was sent to the service."""
        self._inbox.put(unpacked(batch))

    def end(self) -> None:
        """Has the service end."""
        self._inbox.close()

    async def take(self) -> bytes:
        """What the service sent; an empty batch once it has ended, or the exception that ended it."""
        messages = await self._outbox.take()
        if not messages and self._failure is not None:
            return packed([Ended(self._failure)])
        return packed(messages)

    def _send(self, message: object, *, soon: bool = False) -> None:
        self._outbox.put([message], soon=soon)

    async def _serve(self, service: Service) -> None:
        try:
            await service.serve(self._inbox.take, self._send)
        except Exception as error:  # it is raised again where the service was started
            self._failure = portable(error)
        finally:
            self._outbox.close()


class Ended:
    """The last message of a service that failed."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def packed(messages: Sequence[object]) -> bytes:
    """A batch as it travels."""
    return pickle.dumps(messages, pickle.HIGHEST_PROTOCOL)


def unpacked(batch: bytes) -> Sequence[object]:
    """The batch that travelled here from a process of our own.

    Raises:
        Exception: the one that ended the service.
    """
    messages: Sequence[object] = pickle.loads(batch)
    if messages and isinstance(messages[0], Ended):
        raise messages[0].error
    return messages


def portable(error: Exception) -> PromptpexError:
    """The error as it can travel: itself if it is one of ours, else its text."""
    if not isinstance(error, PromptpexError):
        return EngineError(f"a worker failed: {type(error).__name__}: {error}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return EngineError(str(error))
    return error
