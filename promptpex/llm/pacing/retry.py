"""Sending: in turn, within deadlines, again where that can help. The one retry layer there is.

Waits grow exponentially with full jitter (Brooker, "Exponential Backoff And Jitter", 2015): uniform between zero and
the step, so that those who failed together do not come back together.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace

from promptpex.core.errors import CutByDeadline, DeadlinePassed, ModelError, TimedOut, Unavailable
from promptpex.core.events import Listener, Retrying, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.core.translation import stored
from promptpex.llm.client import Client
from promptpex.llm.pacing import CALL_DEADLINE_S, DRAIN_S, MAX_ATTEMPTS
from promptpex.llm.pacing.breaker import FIRST_PROBE_BACKOFF_S, MAX_FIRST_WAIT_S, MAX_WAIT_S, Breaker
from promptpex.llm.pacing.budget import NOTHING, Budget, Spending, used_of
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.failover import Member, ServerGroup, Tries
from promptpex.llm.pacing.server_queue import Limiter, Slot
from promptpex.llm.resolve_model import Server, server_of


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave to send one request: what is sent, by which slot, whether it probes a server that was down, and for how
    many seconds it is waited for at most; ``member`` is the one of several servers that it goes to, ``reserved`` what
    it may take of the budget."""

    request: Request
    slot: Slot
    breaker: Breaker
    probe: bool
    left: float
    member: Member | None = None
    reserved: Spending = NOTHING


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to try again.

    Attributes:
        max_attempts: tries of one request in all, those not counted that probe a server which is down.
        first_backoff_s, max_backoff_s: the first and the longest step of the waits; by default half a second, a
            convention, and half of the minute over which providers count rates.
        call_deadline_s: seconds for one request, its attempts and the waits between them; queueing not included.
        run_deadline_s: seconds from the making of the client, after which nothing is sent any more.
        drain_s: seconds beyond them for which what was sent is waited for.
        max_wait_s, max_first_wait_s, first_probe_backoff_s: as in ``breaker``.
    """

    max_attempts: int = MAX_ATTEMPTS
    first_backoff_s: float = 0.5
    max_backoff_s: float = 30.0
    call_deadline_s: float = CALL_DEADLINE_S
    run_deadline_s: float | None = None
    drain_s: float = DRAIN_S
    max_wait_s: float = MAX_WAIT_S
    max_first_wait_s: float = MAX_FIRST_WAIT_S
    first_probe_backoff_s: float = FIRST_PROBE_BACKOFF_S


class RetryingClient:
    """Sends requests to ``inner``, each when the limiter lets it, and again after errors that may pass.

    Args:
        inner: who answers; one attempt each.
        policy: when to try again.
        limiter: whose turn it is.
        budget: what may be spent; by default as much as one likes.
        cancel_token: refuses what is not sent yet.
        rng: draws the jitter.
        clock: seconds, monotonic.
        sleep: waits that many seconds.
        emit: receives ``Retrying``.
        where: the server of a request.
    """

    def __init__(
        self,
        inner: Client,
        policy: RetryPolicy,
        *,
        limiter: Limiter,
        budget: Budget | None = None,
        cancel_token: CancelToken,
        rng: random.Random,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        emit: Listener = ignore_events,
        where: Callable[[Request], Server] = server_of,
    ) -> None:
        self._inner = inner
        self._policy = policy
        self._limiter = limiter
        self._budget = budget or Budget()
        self._cancel_token = cancel_token
        self._rng = rng
        self._clock = clock
        self._sleep = sleep
        self._emit = emit
        self._where = where
        self._breakers: dict[tuple[str, str], Breaker] = {}
        self._groups: dict[tuple[str, str | None, str | None], ServerGroup] = {}
        self._run_ends = None if policy.run_deadline_s is None else clock() + policy.run_deadline_s
        cancel_token.on_cancel(self._wake)

    async def complete(self, request: Request) -> Completion:
        """The answer, by the first attempt that gives one.

        Raises:
            DeadlinePassed, Stopped, BudgetExceeded: the run ended; their subclasses where an attempt had been sent.
            ModelError: the last attempt's, when no further one can help.
        """
        left = self._policy.call_deadline_s
        tries = Tries(self._group(request))
        while True:
            leave = await tries.unless_ended(self._leave(request, left, tries))
            outcome, took = await self._attempt(leave, tries)
            if isinstance(outcome, Completion):
                return outcome
            left -= took
            if left > 0 and tries.may_go_elsewhere(outcome):
                self._emit(Retrying(request.label or request.model, request.id, tries.sent, 0.0, outcome.reason))
                continue
            errors = tries.end_round()
            wait = min(self._wait_s(error, tries.rounds) for error in errors)
            left -= wait
            worn_out = tries.rounds - tries.probes >= self._policy.max_attempts  # probes serve all who wait
            if not tries.may_help(outcome, errors) or worn_out or left <= 0:
                raise tries.error(outcome)
            self._emit(Retrying(request.label or request.model, request.id, tries.sent, wait, outcome.reason))
            await tries.unless_ended(self._pause(wait, request))

    async def close(self) -> None:
        """Closes ``inner``."""
        await self._inner.close()

    async def _pause(self, wait: float, request: Request) -> None:
        if self._late(wait):
            raise self._too_late(request)
        await self._cancel_token.pause(wait, self._sleep, request.model)

    async def _attempt(self, leave: Leave, tries: Tries) -> tuple[Completion | ModelError, float]:
        """What one attempt gave, and the seconds from sending to the end."""
        used = NOTHING
        try:
            async with _unless_doubtful(tries.group, leave):
                completion = await self._timed(leave.request, leave.left)
            used = used_of(completion, leave.reserved)
        except ModelError as error:
            took = self._clock() - leave.slot.started
            tries.failed(leave.member, leave.breaker, error, probe=leave.probe)
            leave.slot.failed(error)
            return error, took
        except BaseException:
            leave.breaker.inconclusive()
            raise
        else:
            took = self._clock() - leave.slot.started
            leave.slot.answered(completion, took)
        finally:
            self._settle(leave, used)
            leave.slot.free()
        tries.answered(leave.member, leave.breaker, completion)
        return completion, took

    async def _leave(self, request: Request, left: float, tries: Tries) -> Leave:
        """A slot at a server that is up, and what the request may cost set aside."""
        try:
            async with asyncio.timeout(self._run_left()):
                if tries.group is not None:
                    leave = await self._leave_for_one_of(tries.group, request, left, tries)
                else:
                    leave = await self._leave_for_its_server(request, left)
                try:
                    return await self._reserved(leave)
                except BaseException:
                    leave.breaker.inconclusive()
                    leave.slot.free()
                    raise
        except TimeoutError:
            raise self._too_late(request) from None

    async def _reserved(self, leave: Leave) -> Leave:
        if not self._budget.unlimited:
            leave = replace(leave, reserved=await self._budget.reserve(leave.request))
        try:
            self._check(leave.request)
        except ModelError:
            self._settle(leave, NOTHING)
            raise
        return leave

    def _settle(self, leave: Leave, used: Spending) -> None:
        if not self._budget.unlimited:
            self._budget.settle(leave.reserved, used)

    async def _leave_for_its_server(self, request: Request, left: float) -> Leave:
        breaker = self._breaker(self._where(request), request.model)
        try:
            if not await breaker.admit(lambda: self._check(request)):
                raise Unavailable(
                    stored(
                        "{model} was not asked: its server ({server}) has answered none of its requests for a "
                        "while. See whether both are up, or run the same command again later.",
                        model=request.model,
                        server=self._where(request).key,
                    ),
                    model=request.model,
                )
            slot = await self._limiter.slot(request)
        except BaseException:
            breaker.inconclusive()
            raise
        return Leave(request, slot, breaker, breaker.open, left)

    async def _leave_for_one_of(self, group: ServerGroup, request: Request, left: float, tries: Tries) -> Leave:
        """A slot at the server of the group that has one first, or at one whose probe is due."""
        while True:
            self._check(request)
            probed = group.take_probe(tries.passed)
            try:
                members = [probed] if probed is not None else await group.up(tries.passed)
                servers = tuple(member.base for member in members)
                narrowed = request if servers == request.servers else request.replace(servers=servers)
                slot = await group.unless_changed(self._limiter.slot(narrowed)) if members else None
            except BaseException:
                if probed is not None:
                    probed.breaker.inconclusive()
                raise
            if slot is None and probed is not None:
                probed.breaker.inconclusive()
            if slot is None:
                continue
            member = next(each for each in members if each.base == slot.sent_to)
            if probed is None and not member.is_up:  # since it was looked at
                slot.free()
                continue
            seconds = left / 2 if probed is not None and group.has_others(member) else left
            sent = request.replace(sent_to=member.base)
            return Leave(sent, slot, member.breaker, probed is not None, seconds, member)

    async def _timed(self, request: Request, left: float) -> Completion:
        """The answer of ``inner`` within the deadlines."""
        run_left = self._run_left()
        drained = left if run_left is None else run_left + self._policy.drain_s
        allowed = min(left, drained)
        try:
            async with self._cancel_token.within(allowed, request.model):
                return await self._inner.complete(request)
        except TimeoutError:
            if drained < left:
                raise self._cut(request) from None
            late = stored("{model} did not answer within {seconds} s; allow it more time.")
            message = late.format(model=request.model, seconds=f"{self._policy.call_deadline_s:g}")
            raise TimedOut(message, model=request.model) from None

    def _wait_s(self, error: ModelError, attempt: int) -> float:
        """Seconds until the next attempt: what the server asked for and a little more, else by backoff."""
        policy = self._policy
        if error.retry_after is not None:
            return error.retry_after + self._rng.uniform(0, policy.first_backoff_s)
        return self._rng.uniform(0, min(policy.max_backoff_s, policy.first_backoff_s * 2 ** (attempt - 1)))

    def _check(self, request: Request) -> None:
        self._cancel_token.raise_if_cancelled(request.model)
        if self._late(0.0):
            raise self._too_late(request)

    def _late(self, wait: float) -> bool:
        run_left = self._run_left()
        return run_left is not None and run_left <= wait

    def _run_left(self) -> float | None:
        return None if self._run_ends is None else self._run_ends - self._clock()

    def _too_late(self, request: Request) -> DeadlinePassed:
        message = stored(
            "{model} was not asked before the run's deadline of {seconds} s; the same command goes on from here.",
            model=request.model,
            seconds=f"{self._policy.run_deadline_s:g}",
        )
        return DeadlinePassed(message, model=request.model)

    def _cut(self, request: Request) -> CutByDeadline:
        message = stored(
            "{model} was asked and had not answered {seconds} s after the run's deadline of {limit} s; the same "
            "command asks it again.",
            model=request.model,
            seconds=f"{self._policy.drain_s:g}",
            limit=f"{self._policy.run_deadline_s:g}",
        )
        return CutByDeadline(message, model=request.model)

    def _breaker(self, server: Server, model: str) -> Breaker:
        """Of this model at its server: a gateway that fails one model may answer for the next."""
        key = server.key, model
        breaker = self._breakers.get(key)
        if breaker is None:
            policy = self._policy
            breaker = self._breakers[key] = Breaker(
                self._clock,
                max_wait_s=policy.max_wait_s,
                max_first_wait_s=policy.max_first_wait_s,
                first_probe_backoff_s=policy.first_probe_backoff_s,
            )
        return breaker

    def _group(self, request: Request) -> ServerGroup | None:
        """The servers of a request that any of several may answer."""
        if not request.servers:
            return None
        group = self._groups.get(request.answerer)
        if group is None:
            at = {base: self._where(request.replace(sent_to=base)) for base in request.servers}
            members = [Member(base, server, self._breaker(server, request.model)) for base, server in at.items()]
            group = ServerGroup(request, members, clock=self._clock, emit=self._emit)
            self._groups[request.answerer] = group
        return group

    def _wake(self) -> None:
        for breaker in self._breakers.values():
            breaker.wake()
        for group in self._groups.values():
            group.wake()


@contextlib.asynccontextmanager
async def _unless_doubtful(group: ServerGroup | None, leave: Leave) -> AsyncIterator[None]:
    """An attempt that ends when half its time is over, if its server hangs by the looks of it: others have the rest.

    Raises:
        TimedOut: so it was.
    """
    member = leave.member
    if group is None or member is None or member.answers:
        yield
        return
    loop, half = asyncio.get_running_loop(), leave.left / 2
    try:
        async with asyncio.timeout(None) as scope:

            def look() -> None:
                if group.is_doubtful(member):
                    scope.reschedule(loop.time())

            timer = loop.call_later(half, look)
            try:
                yield
            finally:
                timer.cancel()
    except TimeoutError:
        late = stored("{model} did not answer within {seconds} s; allow it more time.")
        raise TimedOut(late.format(model=leave.request.model, seconds=f"{half:g}"), model=leave.request.model) from None
