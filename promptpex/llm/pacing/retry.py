"""Sending: in turn, within deadlines, again where that can help. The one retry layer there is.

Waits grow exponentially with full jitter (Brooker, "Exponential Backoff And Jitter", 2015): uniform between zero and
the step, so that those who failed together do not come back together.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from promptpex.core.errors import (
    BudgetExceeded,
    DeadlinePassed,
    ModelError,
    Stopped,
    TimedOut,
    Unavailable,
)
from promptpex.core.events import Listener, Retrying, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.core.texts import stored
from promptpex.llm.client import Client
from promptpex.llm.pacing import CALL_DEADLINE_S, MAX_ATTEMPTS
from promptpex.llm.pacing.breaker import FIRST_PROBE_BACKOFF_S, MAX_FIRST_WAIT_S, MAX_WAIT_S, Breaker
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.server_queue import HeldSlot, Slots
from promptpex.llm.resolve_model import Server, server_of


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to try again.

    Attributes:
        max_attempts: tries of one request in all, those not counted that probe a server which is down.
        first_backoff_s, max_backoff_s: the first and the longest step of the waits; by default half a second, a
            convention, and half of the minute over which providers count rates.
        call_deadline_s: seconds for one request, its attempts and the waits between them; queueing not included.
        run_deadline_s: seconds from the making of the client, after which nothing is sent or waited for any more.
        max_wait_s, max_first_wait_s, first_probe_backoff_s: as in ``breaker``.
    """

    max_attempts: int = MAX_ATTEMPTS
    first_backoff_s: float = 0.5
    max_backoff_s: float = 30.0
    call_deadline_s: float = CALL_DEADLINE_S
    run_deadline_s: float | None = None
    max_wait_s: float = MAX_WAIT_S
    max_first_wait_s: float = MAX_FIRST_WAIT_S
    first_probe_backoff_s: float = FIRST_PROBE_BACKOFF_S


class RetryingClient:
    """Sends requests to ``inner``, each when the limiter lets it, and again after errors that may pass.

    Args:
        inner: who answers; one attempt each.
        policy: when to try again.
        limiter: whose turn it is.
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
        limiter: Slots,
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
            ModelError: the last attempt's, when no further one can help or is allowed.
        """
        left = self._policy.call_deadline_s
        sent = probes = 0
        while True:
            outcome, took, probe = await self._attempt(request, left)
            if isinstance(outcome, Completion):
                return outcome
            sent, probes = sent + 1, probes + probe
            wait = self._wait_s(outcome, sent)
            left -= took + wait
            worn_out = sent - probes >= self._policy.max_attempts  # probes serve all who wait for the server
            if not outcome.retryable or worn_out or left <= 0 or self._late(wait):
                raise _tried(outcome, sent)
            self._emit(Retrying(request.label or request.model, request.id, sent, wait, outcome.reason))
            await self._cancel_token.pause(wait, self._sleep, request.model)

    async def close(self) -> None:
        """Closes ``inner``."""
        await self._inner.close()

    async def _attempt(self, request: Request, left: float) -> tuple[Completion | ModelError, float, bool]:
        """What one attempt gave, the seconds from sending to the end, and whether it probed a server that was down."""
        breaker = self._breaker(request)
        slot = await self._slot(request, breaker)
        probe = breaker.open
        try:
            self._check(request)
            completion = await self._timed(request, left)
        except ModelError as error:
            took = self._clock() - slot.started
            slot.failed(error)
            _tell(breaker, error)
            return error, took, probe
        except BaseException:
            breaker.inconclusive()
            raise
        finally:
            slot.free()
        took = self._clock() - slot.started
        slot.answered(completion, took)
        breaker.succeeded()
        return completion, took, probe

    async def _slot(self, request: Request, breaker: Breaker) -> HeldSlot:
        """A slot at a server that is up."""
        try:
            async with asyncio.timeout(self._run_left()):
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
                return await self._limiter.slot(request)
        except TimeoutError:
            breaker.inconclusive()
            raise self._too_late(request) from None
        except BaseException:
            breaker.inconclusive()
            raise

    async def _timed(self, request: Request, left: float) -> Completion:
        """The answer of ``inner`` within the deadlines."""
        run_left = self._run_left()
        allowed = left if run_left is None else min(left, run_left)
        try:
            async with self._cancel_token.within(allowed, request.model):
                return await self._inner.complete(request)
        except TimeoutError:
            if run_left is not None and run_left <= left:
                raise self._too_late(request) from None
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
            "{model} did not answer before the run's deadline of {seconds} s; the same command goes on from here.",
            model=request.model,
            seconds=f"{self._policy.run_deadline_s:g}",
        )
        return DeadlinePassed(message, model=request.model)

    def _breaker(self, request: Request) -> Breaker:
        """Of this model at its server: a gateway that fails one model may answer for the next."""
        key = self._where(request).key, request.model
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


def _tried(error: ModelError, attempts: int) -> ModelError:
    """The error, saying how often it was tried."""
    if attempts == 1:
        return error
    message = stored("{part} Tried {count} times.", part=error.message, count=attempts)
    return type(error)(message, model=error.model, retry_after=error.retry_after, reply=error.reply)
