"""A worker's side of the leases: limits and budget that are asked for over the link, with the shape of those here."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from promptpex.core.errors import ModelError, RateLimited
from promptpex.core.events import Event, Listener, Sent
from promptpex.core.records import Completion, Request
from promptpex.engines.links import Send
from promptpex.llm.pacing.budget import NOTHING, Spending
from promptpex.llm.pacing.first_request import FATAL, FirstRequestGate, ModelAtServer, who_is_asked
from promptpex.llm.remote.messages import Done, Granted, Happened, Left, ModelKnown, Refused, Want, Withdraw

_ANSWERED: ContextVar[tuple[int, Request]] = ContextVar("answered")
"""The request of the run that this task answers, with its number."""


@contextmanager
def sends_belong_to(number: int, request: Request) -> Iterator[None]:
    """What this task sends until the end of the block is for this request of the run."""
    token = _ANSWERED.set((number, request))
    try:
        yield
    finally:
        _ANSWERED.reset(token)


@dataclass(slots=True, eq=False)
class LeasedSlot:
    """A slot of the run's limiter, and a reservation in its budget; both go back with ``free``.

    Attributes:
        granted: what the process of the run said.
        started: as ``HeldSlot``.
        used: what the request took of the budget.
    """

    granted: Granted
    started: float
    send: Send
    used: Spending = NOTHING
    _done: Done | None = None

    @property
    def sent_to(self) -> str | None:
        """As ``HeldSlot``."""
        return self.granted.sent_to

    def answered(self, completion: Completion, took_s: float) -> None:
        """As ``HeldSlot``."""
        self._done = Done(self.granted.lease, took_s, completion.tokens_in, completion.tokens_out)

    def failed(self, error: ModelError) -> None:
        """As ``HeldSlot``."""
        self._done = Done(self.granted.lease, error=_for_limits(error))

    def free(self) -> None:
        """As ``HeldSlot``."""
        report = self._done or Done(self.granted.lease)
        self.send(report._replace(used=self.used))


class Leases:
    """Slots and budget of the run, for the requests of one worker.

    Args:
        send: to the process of the run.
        gate: the worker's own; it is opened for models that others have asked.
        clock: seconds, monotonic.
        unlimited: whether the run has no budget.
    """

    def __init__(self, send: Send, gate: FirstRequestGate, clock: Callable[[], float], *, unlimited: bool) -> None:
        self.unlimited = unlimited
        self._send = send
        self._gate = gate
        self._clock = clock
        self._numbers = itertools.count()
        self._wanted: dict[int, asyncio.Future[Granted]] = {}
        self._latest: dict[int, LeasedSlot] = {}

    async def slot(self, request: Request) -> LeasedSlot:
        """As ``Slots``."""
        number, asked_request = _ANSWERED.get()
        lease, granted = next(self._numbers), asyncio.get_running_loop().create_future()
        self._wanted[lease] = granted
        same = request.messages == asked_request.messages and request.servers == asked_request.servers
        self._send(Want(lease, number, None if same else request))
        try:
            grant: Granted = await granted
        except asyncio.CancelledError:
            self._send(Withdraw(lease))
            raise
        finally:
            del self._wanted[lease]
        who = who_is_asked(request)
        if grant.known and who not in self._gate.known:
            self._gate.known.add(who)
            self._gate.wake(who)
        slot = self._latest[number] = LeasedSlot(grant, self._clock(), self._send)
        return slot

    def forget(self, number: int) -> None:
        """Nothing more is sent for this request of the run."""
        self._latest.pop(number, None)

    def take(self, answer: Granted | Refused) -> None:
        """What the process of the run says to a request for a lease; nobody may wait for it any more."""
        waiting = self._wanted.get(answer.lease)
        if waiting is None or waiting.done():
            return
        if isinstance(answer, Refused):
            waiting.set_exception(answer.error)
        else:
            waiting.set_result(answer)

    async def reserve(self, request: Request) -> Spending:
        """As ``Reserving``: what came with the lease."""
        granted = self._latest[_ANSWERED.get()[0]].granted
        if granted.refusal is not None:
            raise granted.refusal
        return granted.reserved

    def settle(self, reserved: Spending, used: Spending) -> None:
        """As ``Reserving``: goes back with the lease."""
        self._latest[_ANSWERED.get()[0]].used = used


class TellingGate(FirstRequestGate):
    """A worker's gate, which says to the process of the run which models it has found to answer."""

    def __init__(self, send: Send) -> None:
        super().__init__()
        self._send = send

    def open(self, who: ModelAtServer) -> None:
        """As ``FirstRequestGate``."""
        if who not in self.known:
            self._send(ModelKnown(who))
        super().open(who)


def telling(send: Send) -> Listener:
    """A listener to the events of a worker, for those of the run."""

    def emit(event: Event) -> None:
        if isinstance(event, Sent):
            send(Left(_ANSWERED.get()[0], event.request, event.server), soon=True)
        else:
            send(Happened(event), soon=True)

    return emit


def _for_limits(error: ModelError) -> ModelError | None:
    """What the limits need of an error, without what the model wrote."""
    if isinstance(error, (*FATAL, RateLimited)):
        return type(error)(error.message, model=error.model, retry_after=error.retry_after)
    return ModelError(error.reason, model=error.model)
