"""The leases of a cluster: what one process keeps for itself, kept here for all workers together.

A worker sends a request only with a lease. A lease is a slot of the run's own ``Limiter``, so requests in flight, rpm,
tpm and the pauses that servers ask for hold for all workers, and a reservation in the run's ``Budget``. A worker has as
many leases as it wants and the limits allow; none is for more than one request, so none can be used twice. The leases
of a worker that is gone come back at once; what they had reserved is settled when it is known whether the dead worker
had its answer (``answered``).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from promptpex.core.errors import BudgetExceeded, ModelError
from promptpex.core.records import Completion, Request
from promptpex.llm.pacing.budget import Budget, Spending, used_of
from promptpex.llm.pacing.first_request import FATAL, FirstRequestGate, again, who_is_asked
from promptpex.llm.pacing.server_queue import HeldSlot, Slots
from promptpex.llm.remote.messages import Done, Granted, Refused, Want

Tell = Callable[[object], None]
"""Sends a message to one worker."""


@dataclass(slots=True, eq=False)
class _Lease:
    """A lease that is wanted or given: ``slot`` is None as long as it is only wanted; ``tries`` whether its request is
    the first to its model, which all others wait for."""

    number: int
    request: Request
    task: asyncio.Task[None] | None = None
    slot: HeldSlot | None = None
    reserved: Spending = field(default_factory=Spending)
    tries: bool = False


class Coordinator:
    """Gives leases to workers, and takes them back.

    Args:
        slots: the run's limits.
        budget: the run's budget.
        gate: which models may be asked by many at once.
    """

    def __init__(self, slots: Slots, budget: Budget, gate: FirstRequestGate) -> None:
        self._slots = slots
        self._budget = budget
        self._gate = gate
        self._leases: defaultdict[int, dict[int, _Lease]] = defaultdict(dict)
        self._unsettled: dict[int, Spending] = {}

    @property
    def given(self) -> int:
        """How many leases are out."""
        return sum(lease.slot is not None for leases in self._leases.values() for lease in leases.values())

    def want(self, worker: int, want: Want, request: Request, tell: Tell) -> None:
        """Grants a lease for ``request`` once it is its turn, or refuses it; ``tell`` says so to the worker."""
        self._settle_earlier(want.number)
        lease = _Lease(want.number, want.changed or request)
        self._leases[worker][want.lease] = lease
        lease.task = asyncio.ensure_future(self._granted_or_refused(worker, want.lease, lease, tell))

    def done(self, worker: int, done: Done) -> None:
        """Takes a lease back, with what came of it."""
        lease = self._leases[worker].pop(done.lease, None)
        if lease is None or lease.slot is None:
            return
        self._budget.settle(lease.reserved, done.used)
        if done.took_s is not None:
            lease.slot.answered(Completion(text="", tokens_in=done.tokens_in, tokens_out=done.tokens_out), done.took_s)
        elif done.error is not None:
            lease.slot.failed(done.error)
        self._end_trial(lease, done)
        lease.slot.free()

    def withdraw(self, worker: int, number: int) -> None:
        """Takes a lease back that is not wanted any more."""
        lease = self._leases[worker].pop(number, None)
        if lease is not None:
            self._give_back(lease)
            self._budget.settle(lease.reserved, Spending())

    def lost(self, worker: int) -> set[int]:
        """Takes back all that a dead worker had; the numbers of the requests that it had leases for."""
        leases = self._leases.pop(worker, {}).values()
        for lease in leases:
            self._give_back(lease)
            if lease.reserved.requests:
                self._settle_earlier(lease.number)
                self._unsettled[lease.number] = lease.reserved
        return {lease.number for lease in leases if lease.slot is not None}

    def answered(self, number: int, completion: Completion | None) -> None:
        """A request has its answer. Where a worker died over it and the store has the answer all the same, that worker
        had paid for it."""
        reserved = self._unsettled.pop(number, None)
        if reserved is not None:
            was_paid = completion is not None and completion.cached
            self._budget.settle(reserved, used_of(completion, reserved) if completion and was_paid else Spending())

    def _settle_earlier(self, number: int) -> None:
        """A request is asked once more after a worker died over it: no record of ours paid for what that one sent."""
        reserved = self._unsettled.pop(number, None)
        if reserved is not None:
            self._budget.settle(reserved, Spending())

    async def _granted_or_refused(self, worker: int, number: int, lease: _Lease, tell: Tell) -> None:
        who = who_is_asked(lease.request)
        try:
            await self._wait_for_trial(lease)
            lease.slot = await self._slots.slot(lease.request)
        except ModelError as error:
            del self._leases[worker][number]
            self._abandon_trial(lease)
            tell(Refused(number, error))
            return
        try:
            if not self._budget.unlimited:
                lease.reserved = await self._budget.reserve(lease.request)
        except BudgetExceeded as error:
            tell(Granted(number, who in self._gate.known, lease.slot.sent_to, refusal=error))
        else:
            tell(Granted(number, who in self._gate.known, lease.slot.sent_to, lease.reserved))

    async def _wait_for_trial(self, lease: _Lease) -> None:
        """Lets the first request to a model go alone, as ``FirstRequestClient`` does; the others wait for what comes of
        it."""
        gate, who = self._gate, who_is_asked(lease.request)
        while who not in gate.known or who in gate.dead:
            if who in gate.dead:
                raise again(gate.dead[who], lease.request.model)
            waiting = gate.tried.get(who)
            if waiting is None:
                gate.tried[who] = asyncio.get_running_loop().create_future()
                lease.tries = True
                return
            await asyncio.shield(waiting)

    def _end_trial(self, lease: _Lease, done: Done) -> None:
        who = who_is_asked(lease.request)
        if isinstance(done.error, FATAL):
            if lease.request.servers:  # it holds for one of them
                self._abandon_trial(lease)
                return
            self._gate.dead[who] = done.error
            self._gate.wake(who)
        elif done.took_s is not None or done.error is not None:
            self._gate.open(who)
        self._abandon_trial(lease)

    def _abandon_trial(self, lease: _Lease) -> None:
        """Where the first request to a model comes to nothing, the next that waits is the first."""
        if lease.tries:
            lease.tries = False
            self._gate.wake(who_is_asked(lease.request))

    def _give_back(self, lease: _Lease) -> None:
        if lease.task is not None:
            lease.task.cancel()
        self._abandon_trial(lease)
        if lease.slot is not None:
            lease.slot.free()
