"""Sending: each model once before many times, in turn, within deadlines, again where that can help.

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
    NotAuthorised,
    RetiredModel,
    Stopped,
    TimedOut,
    Unavailable,
    UnknownModel,
    once_sent,
)
from promptpex.core.events import Listener, Notice, Retrying, Sent, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.core.translation import stored
from promptpex.llm.client import Client, Loading, Meter
from promptpex.llm.pacing import CALL_DEADLINE_S, DRAIN_S, MAX_ATTEMPTS
from promptpex.llm.pacing.breaker import Breaker
from promptpex.llm.pacing.budget import NOTHING, Budget, Spending, used_of
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.server_queue import Limiter, Slot
from promptpex.llm.providers.prices import with_own_price
from promptpex.llm.resolve_model import server_of
from promptpex.llm.streaming import told_of

T = TypeVar("T")

FIRST_BACKOFF_S, MAX_BACKOFF_S = 0.5, 30.0
"""The first and the longest step of the waits: a convention, and half of the minute over which rates are counted."""

FIRST_ALONE_S = 1.0
"""Seconds for which the others wait once the first is sent: a wrong key is refused well within them, and a model that
takes long to answer is held up no longer."""

FATAL = (NotAuthorised, UnknownModel, RetiredModel)
"""What holds for every further question to a model. A spent budget or a stop does not say anything about the model."""

Ask = Callable[[Request], Awaitable[Completion]]
ModelAtServer = tuple[str, str | None, str | None, str | None]
"""A model, its server or backend where one is named, and the variable of its key."""


class FirstRequests:
    """Sends the first request to each model and server alone; the others wait for what comes of it.

    If it ends in one of ``FATAL``, the others end so too, and are not sent. They may go once its first attempt ends in
    anything else, or takes long: a server that refuses the first attempt for a while is then asked by all. The time
    for which they wait begins when it is sent; what the provider has to load first is not counted.
    """

    def __init__(
        self, emit: Listener = ignore_events, *, loading: Loading | None = None, alone_s: float = FIRST_ALONE_S
    ) -> None:
        self._emit = emit
        self._loading = loading
        self._alone_s = alone_s
        self._known: set[ModelAtServer] = set()
        self._dead: dict[ModelAtServer, ModelError] = {}
        self._tried: dict[ModelAtServer, asyncio.Future[None]] = {}

    async def request(self, request: Request, ask: Ask) -> Completion:
        """What ``ask`` gives after all its attempts, once it may go.

        Raises:
            NotAuthorised, UnknownModel, RetiredModel: also where an earlier request said so.
        """
        who = _who_is_asked(request)
        while who not in self._known or who in self._dead:
            if who in self._dead:
                error = self._dead[who]
                raise type(error)(error.message, model=request.model)
            waiting = self._tried.get(who)
            if waiting is None:
                return await self._first(who, request, ask)
            await asyncio.shield(waiting)
        return await ask(request)

    async def attempt(self, request: Request, ask: Ask) -> Completion:
        """What one attempt gives; the first to a model and server lets the others go, unless it is one of ``FATAL``."""
        who = _who_is_asked(request)
        if who in self._known:
            return await ask(request)
        try:
            completion = await self._watched(who, request, ask)
        except FATAL:
            raise
        except ModelError:
            self._open(who)
            raise
        self._open(who)
        return completion

    async def _first(self, who: ModelAtServer, request: Request, ask: Ask) -> Completion:
        """Asks alone. When this task is cancelled, the next that waits is the first."""
        self._tried[who] = asyncio.get_running_loop().create_future()
        try:
            return await ask(request)
        except FATAL as error:
            self._dead[who] = error
            message = stored(
                "{label} cannot be asked, so it is asked nothing more: {part}",
                label=request.label or request.model,
                part=error.message,
            )
            self._emit(Notice(message, "warning"))
            raise
        except ModelError:
            self._open(who)
            raise
        finally:
            self._wake(who)

    async def _watched(self, who: ModelAtServer, request: Request, ask: Ask) -> Completion:
        if self._loading is not None:
            await self._loading.load(request)
        timer = asyncio.get_running_loop().call_later(self._alone_s, self._open, who)
        try:
            return await ask(request)
        finally:
            timer.cancel()

    def _open(self, who: ModelAtServer) -> None:
        self._known.add(who)
        self._wake(who)

    def _wake(self, who: ModelAtServer) -> None:
        waiting = self._tried.pop(who, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


def _who_is_asked(request: Request) -> ModelAtServer:
    return *request.answerer, request.key_env


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
        self.sent += 1
        self.probes += probe
        self.last = error

    def error(self, last: ModelError) -> ModelError:
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


class RetryingClient:
    """Sends requests to ``inner``, each when the limiter lets it, and again after errors that may pass.

    Args:
        inner: who answers; one attempt each.
        limiter: whose turn it is.
        budget: what may be spent; by default as much as one likes.
        max_attempts: tries of one request in all, those not counted that probe a server which is down.
        call_deadline_s: seconds for one request, its attempts and the waits between them; queueing not included.
        run_deadline_s: seconds from the making of the client, after which nothing is sent any more.
        meter: counts what is sent.
        emit: receives ``Sent`` and ``Retrying``.
    """

    def __init__(
        self,
        inner: Client,
        *,
        limiter: Limiter,
        cancel_token: CancelToken,
        rng: random.Random,
        clock: Callable[[], float],
        budget: Budget | None = None,
        max_attempts: int = MAX_ATTEMPTS,
        call_deadline_s: float = CALL_DEADLINE_S,
        run_deadline_s: float | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        meter: Meter | None = None,
        emit: Listener = ignore_events,
    ) -> None:
        self._inner = inner
        self._limiter = limiter
        self._cancel_token = cancel_token
        self._rng = rng
        self._clock = clock
        self._budget = budget or Budget()
        self._max_attempts = max_attempts
        self._call_deadline_s = call_deadline_s
        self._run_deadline_s = run_deadline_s
        self._sleep = sleep
        self._meter = meter or Meter()
        self._emit = emit
        self._firsts = FirstRequests(emit, loading=inner if isinstance(inner, Loading) else None)
        self._breakers: dict[tuple[str, str], Breaker] = {}
        self._run_ends = None if run_deadline_s is None else clock() + run_deadline_s
        cancel_token.on_cancel(self._wake)

    async def complete(self, request: Request) -> Completion:
        """The answer, by the first attempt that gives one.

        Raises:
            DeadlinePassed, Stopped, BudgetExceeded: the run ended; their subclasses where an attempt had been sent.
            ModelError: the last attempt's, when no further one can help.
        """
        return await self._firsts.request(request, self._tried)

    async def _tried(self, request: Request) -> Completion:
        left, tries = self._call_deadline_s, Tries()
        while True:
            leave = await tries.unless_ended(self._leave(request, left))
            try:
                return await self._attempt(leave)
            except ModelError as error:
                tries.failed(error, probe=leave.probe)
                wait = self._wait_s(error, tries.sent)
                left -= self._clock() - leave.slot.started + wait
                worn_out = tries.sent - tries.probes >= self._max_attempts  # probes serve all who wait
                if not error.retryable or worn_out or left <= 0:
                    raise tries.error(error) from error.__cause__
                self._emit(Retrying(request.label or request.model, request.id, tries.sent, wait, error.reason))
            await tries.unless_ended(self._pause(wait, request))

    async def close(self) -> None:
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
        breaker = self._breaker(request)
        try:
            if not await breaker.admit(lambda: self._check(request)):
                raise Unavailable(
                    stored(
                        "{model} was not asked: its server ({server}) has answered none of its requests for a "
                        "while. See whether both are up, or run the same command again later.",
                        model=request.model,
                        server=server_of(request).key,
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
        drained = left if run_left is None else run_left + DRAIN_S
        allowed = min(left, drained)
        try:
            async with self._cancel_token.within(allowed, request.model):
                return await self._firsts.attempt(request, self._sent)
        except TimeoutError:
            if drained < left:
                raise self._cut(request) from None
            late = stored("{model} did not answer within {seconds} s; allow it more time.")
            message = late.format(model=request.model, seconds=f"{self._call_deadline_s:g}")
            raise TimedOut(message, model=request.model) from None

    async def _sent(self, request: Request) -> Completion:
        """The answer of ``inner``; counted in the moment in which the provider says that it sends, or answers."""
        times = 0

        def tell() -> None:
            nonlocal times
            times += 1
            self._meter.sent(request)
            label = request.label or request.model
            self._emit(Sent(label, request.stage, request.id, server_of(request).key, self._gives_up_s))

        with told_of((lambda: None) if request.is_replay else tell):
            completion = await self._inner.complete(request)
        if not (times or request.is_replay):
            tell()
        return with_own_price(completion, request)

    @property
    def _gives_up_s(self) -> float:
        if self._run_deadline_s is None:
            return self._call_deadline_s
        return min(self._call_deadline_s, self._run_deadline_s + DRAIN_S)

    def _wait_s(self, error: ModelError, attempt: int) -> float:
        """Seconds until the next attempt: what the server asked for and a little more, else by backoff."""
        if error.retry_after is not None:
            return error.retry_after + self._rng.uniform(0, FIRST_BACKOFF_S)
        return self._rng.uniform(0, min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2 ** (attempt - 1)))

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
            "A request to {model} was not sent before the run's deadline of {seconds} s; the same command goes on.",
            model=request.model,
            seconds=f"{self._run_deadline_s:g}",
        )
        return DeadlinePassed(message, model=request.model)

    def _cut(self, request: Request) -> CutByDeadline:
        message = stored(
            "{model} was asked and had not answered {seconds} s after the run's deadline of {limit} s; the same "
            "command asks it again.",
            model=request.model,
            seconds=f"{DRAIN_S:g}",
            limit=f"{self._run_deadline_s:g}",
        )
        return CutByDeadline(message, model=request.model)

    def _breaker(self, request: Request) -> Breaker:
        """Of this model at its server: a gateway that fails one model may answer for the next."""
        key = server_of(request).key, request.model
        breaker = self._breakers.get(key)
        if breaker is None:
            breaker = self._breakers[key] = Breaker(self._clock)
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
