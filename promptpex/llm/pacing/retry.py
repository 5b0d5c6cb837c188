"""Sending: in turn, within deadlines, again where that can help. The one retry layer there is.

Waits grow exponentially with full jitter (Brooker, "Exponential Backoff And Jitter", 2015): uniform between zero and
the step, so that those who failed together do not come back together.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from promptpex.core.errors import (
    RUN_ENDED,
    BudgetExceeded,
    CutByDeadline,
    DeadlinePassed,
    ModelError,
    Stopped,
    TimedOut,
    Unavailable,
    once_sent,
)
from promptpex.core.events import Listener, Retrying, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.core.translation import stored
from promptpex.llm.client import Client
from promptpex.llm.pacing import CALL_DEADLINE_S, DRAIN_S, MAX_ATTEMPTS
from promptpex.llm.pacing.breaker import FIRST_PROBE_BACKOFF_S, MAX_FIRST_WAIT_S, MAX_WAIT_S, Breaker
from promptpex.llm.pacing.budget import NOTHING, Budget, Spending, used_of
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.server_queue import Limiter, Slot
from promptpex.llm.resolve_model import Server, server_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave to send one request: what is sent, by which slot, whether it probes a server that was down, and for how
    many seconds it is waited for at most; ``reserved`` is what it may take of the budget."""

    request: Request
    slot: Slot
    breaker: Breaker
    probe: bool
    left: float
    reserved: Spending = NOTHING


@dataclass(slots=True)
class Tries:
    """What one request has tried: the attempts in all, those of them that probed a server which was down, and the last
    one's error."""

    sent: int = 0
    probes: int = 0
    last: ModelError | None = None

    def failed(self, error: ModelError, *, probe: bool) -> None:
        """An attempt failed."""
        self.sent += 1
        self.probes += probe
        self.last = error

    def error(self, last: ModelError) -> ModelError:
        """The error of the request, saying how often it was tried."""
        if self.sent == 1:
            return last
        message = stored("{part} Tried {count} times.", part=last.message, count=self.sent)
        return type(last)(message, model=last.model, retry_after=last.retry_after, reply=last.reply)

    async def unless_ended(self, step: Awaitable[T]) -> T:
        """What comes of a step between two attempts.

        Raises:
            DeadlinePassed, Stopped, BudgetExceeded: the run ended meanwhile; if an attempt had been sent, their
                subclasses, which say what came of it.
        """
        try:
            return await step
        except RUN_ENDED as ended:
            if self.last is None:
                raise
            part = self.error(self.last).message
            raise once_sent(ended, stored("{part} The run ended before it was asked again.", part=part)) from None


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
        self._run_ends = None if policy.run_deadline_s is None else clock() + policy.run_deadline_s
        cancel_token.on_cancel(self._wake)

    async def complete(self, request: Request) -> Completion:
        """The answer, by the first attempt that gives one.

        Raises:
            DeadlinePassed, Stopped, BudgetExceeded: the run ended; their subclasses where an attempt had been sent.
            ModelError: the last attempt's, when no further one can help.
        """
        left, tries = self._policy.call_deadline_s, Tries()
        while True:
            leave = await tries.unless_ended(self._leave(request, left))
            try:
                return await self._attempt(leave)
            except ModelError as error:
                tries.failed(error, probe=leave.probe)
                wait = self._wait_s(error, tries.sent)
                left -= self._clock() - leave.slot.started + wait
                worn_out = tries.sent - tries.probes >= self._policy.max_attempts  # probes serve all who wait
                if not error.retryable or worn_out or left <= 0:
                    raise tries.error(error) from error.__cause__
                self._emit(Retrying(request.label or request.model, request.id, tries.sent, wait, error.reason))
            await tries.unless_ended(self._pause(wait, request))

    async def close(self) -> None:
        """Closes ``inner``."""
        await self._inner.close()

    async def _pause(self, wait: float, request: Request) -> None:
        if self._late(wait):
            raise self._too_late(request)
        await self._cancel_token.pause(wait, self._sleep, request.model)

    async def _attempt(self, leave: Leave) -> Completion:
        """What one attempt gave.

        Raises:
            ModelError: no answer.
        """
        used = NOTHING
        try:
            completion = await self._timed(leave.request, leave.left)
            used = used_of(completion, leave.reserved)
        except ModelError as error:
            _tell(leave.breaker, error)
            leave.slot.failed(error)
            raise
        except BaseException:
            leave.breaker.inconclusive()
            raise
        else:
            leave.slot.answered(completion)
        finally:
            self._settle(leave, used)
            leave.slot.free()
        leave.breaker.succeeded()
        return completion

    async def _leave(self, request: Request, left: float) -> Leave:
        """A slot at a server that is up, and what the request may cost set aside."""
        try:
            async with asyncio.timeout(self._run_left()):
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

    def _wake(self) -> None:
        for breaker in self._breakers.values():
            breaker.wake()


def _tell(breaker: Breaker, error: ModelError) -> None:
    """What a failure says about the server: that it is down, nothing, or that it is there and refuses."""
    if isinstance(error, Unavailable) and error.retryable:
        breaker.failed()
    elif isinstance(error, TimedOut | Stopped | BudgetExceeded):
        breaker.inconclusive()
    else:
        breaker.succeeded()
