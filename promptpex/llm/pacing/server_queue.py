"""Whose turn it is: slots per server, by what it bears, by the user's caps, and model by model where that matters.

How many requests one server bears: one more in flight after each full round of answers; half as many after a refusal
for rate (Chiu and Jain 1989; the rule of TCP's congestion avoidance). A server that begins low, since it computes on
one machine, is given more only while that raises its throughput.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from promptpex.core.errors import BadRequest, ModelError, RateLimited
from promptpex.core.records import Completion, Request
from promptpex.core.translation import stored
from promptpex.llm.pacing import DEFAULT_ANSWER_TOKENS
from promptpex.llm.pacing.cancellation import CancelToken, not_asked
from promptpex.llm.resolve_model import Server, server_of

WINDOW_S = 60.0


@dataclass(slots=True)
class Charge:
    """An amount that was spent at a time; kept or corrected by the window that gave it."""

    at: float
    amount: int


class SlidingWindow:
    """Keeps what was spent within the last minute at or under ``limit`` (None = no limit).

    It is kept exactly as long as no amount turns out to be larger than what was set aside for it.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._spent: deque[Charge] = deque()
        self._sum = 0

    def add(self, now: float, amount: int) -> Charge:
        spent = Charge(now, amount)
        if self._limit is not None:
            self._spent.append(spent)
            self._sum += amount
        return spent

    def correct(self, spent: Charge, amount: int, now: float) -> None:
        """Puts the true amount in the place of what was set aside. Once that has left the window, only what was spent
        beyond it is added, as of now."""
        if self._limit is None:
            return
        self._forget(now)
        more, spent.amount = amount - spent.amount, amount
        if self._spent and spent.at >= self._spent[0].at:
            self._sum += more
        elif more > 0:
            self.add(now, more)

    def wait_s(self, now: float, amount: int) -> float:
        """Seconds until ``amount`` may be spent; one that is larger than the limit may when the window is empty."""
        if self._limit is None:
            return 0.0
        self._forget(now)
        if not self._spent or self._sum + amount <= self._limit:
            return 0.0
        left = self._sum
        for spent in self._spent:
            left -= spent.amount
            if left + amount <= self._limit:
                return spent.at + WINDOW_S - now
        return self._spent[-1].at + WINDOW_S - now

    def _forget(self, now: float) -> None:
        while self._spent and self._spent[0].at <= now - WINDOW_S:
            self._sum -= self._spent.popleft().amount


MIN_GAIN = 1.1
"""Throughput must grow by this factor for one more in flight to be kept on a server that begins low;
less is within what one round differs from the next."""

HELD_ROUNDS = 10
"""Rounds for which such a server stays at what was best, before one more is tried: a trial costs one slow round."""

FIRST_PAUSE_S = 0.5
"""Pause after a refusal that names no time; doubled for each further round of refusals. A convention, as is that of
retries."""

MAX_PAUSE_S = 30.0
"""Half of the minute over which providers count rates."""


class ConcurrencyController:
    """The controller of one server.


    Attributes:
        allowed: requests that may be in flight now.
        not_before: no request is sent before this time of the clock.
    """

    def __init__(self, cap: int, start: int | None, clock: Callable[[], float]) -> None:
        self.allowed = min(cap, start or cap)
        self.not_before = float("-inf")
        self._cap = cap
        self._climbs = start is not None
        self._clock = clock
        self._pause_s = FIRST_PAUSE_S
        self._decreased = float("-inf")
        self._answers = 0
        self._round_began = clock()
        self._best: tuple[float, int] = (0.0, self.allowed)
        self._held = 0

    def answered(self) -> None:
        self._pause_s = FIRST_PAUSE_S
        self._answers += 1
        if self._answers >= self.allowed:
            self._end_round()

    def refused(self, started: float, retry_after: float | None) -> None:
        """A request sent at ``started`` was refused for rate; one decrease per round, whatever its size."""
        now = self._clock()
        wait = retry_after or 0.0
        if started >= self._decreased:
            wait = retry_after if retry_after is not None else self._pause_s
            self._pause_s = min(MAX_PAUSE_S, self._pause_s * 2)
            self._halve()
        self.not_before = max(self.not_before, now + wait)

    def _end_round(self) -> None:
        if self._climbs:
            self._climb()
        else:
            self.allowed = min(self._cap, self.allowed + 1)
        self._begin_round()

    def _climb(self) -> None:
        throughput = self._answers / max(1e-9, self._clock() - self._round_began)
        best, at = self._best
        self._held = max(0, self._held - 1)
        if self.allowed > at and throughput < best * MIN_GAIN:
            self.allowed, self._held = at, HELD_ROUNDS
        elif not self._held:
            self._best = (throughput, self.allowed)
            self.allowed = min(self._cap, self.allowed + 1)

    def _halve(self) -> None:
        self.allowed = max(1, self.allowed // 2)
        self._decreased = self._clock()
        self._best = (0.0, self.allowed)
        self._begin_round()

    def _begin_round(self) -> None:
        self._answers = 0
        self._round_began = self._clock()


SWITCH_DELAY_S = 0.05
"""Seconds for which a server of one model at a time waits for that model's next request before it changes over: little
beside loading another model, and longer than a stage takes to prepare its next request."""

BYTES_PER_TOKEN = 4
"""As in English; the answer's own count replaces the estimate."""


class Limiter:
    """Slots for requests, per server.

    Args:
        concurrency: most requests in flight to a server.
        rpm, tpm: most requests, and tokens in and out, per minute; None = no limit.
        clock: seconds, monotonic.
        cancel_token: once it is cancelled, whoever waits for a slot gets ``Stopped``.
        longest_pause_s: seconds beyond which a pause that a server asks for is not waited for.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        rpm: int | None = None,
        tpm: int | None = None,
        clock: Callable[[], float],
        cancel_token: CancelToken,
        longest_pause_s: float = math.inf,
    ) -> None:
        self._cap = max(1, concurrency)
        self._longest_pause_s = longest_pause_s
        self._rpm, self._tpm = rpm, tpm
        self._clock = clock
        self._cancel_token = cancel_token
        self._queues: dict[str, ServerQueue] = {}
        cancel_token.on_cancel(self._refuse_waiting)

    async def slot(self, request: Request) -> Slot:
        """A slot, when it is this request's turn; the caller frees it.

        Raises:
            Stopped: the run is being stopped.
            BadRequest: the request alone may take more tokens than ``tpm``.
            RateLimited: its server asks for a longer pause than is waited for.
        """
        self._cancel_token.raise_if_cancelled(request.model)
        if problem := beyond_tpm(request, self._tpm):
            message = stored("{model} was not asked: {reason}", model=request.model, reason=problem)
            raise BadRequest(message, model=request.model)
        queue = self.queue_of(request)
        return Slot(queue, *await queue.turn(request))

    def queue_of(self, request: Request) -> ServerQueue:
        """The queue of the request's server."""
        server = server_of(request)
        queue = self._queues.get(server.key)
        if queue is None:
            controller = ConcurrencyController(self._cap, server.start, self._clock)
            windows = SlidingWindow(self._rpm), SlidingWindow(self._tpm)
            queue = ServerQueue(server, controller, *windows, self._clock, longest_pause_s=self._longest_pause_s)
            self._queues[server.key] = queue
        return queue

    def _refuse_waiting(self) -> None:
        for queue in self._queues.values():
            queue.refuse_waiting(not_asked)


@dataclass(slots=True, eq=False)
class Slot:
    """Leave to send one request now, since ``started``."""

    queue: ServerQueue
    started: float
    tokens: Charge

    def answered(self, completion: Completion) -> None:
        self.queue.controller.answered()
        if completion.tokens_in is not None and completion.tokens_out is not None:
            self.queue.answered(self.tokens, completion.tokens_in + completion.tokens_out)

    def failed(self, error: ModelError) -> None:
        if isinstance(error, RateLimited) and error.retryable:
            self.queue.refused(self.started, error.retry_after)

    def free(self) -> None:
        self.queue.freed()


@dataclass(slots=True, eq=False)
class _Waiting:
    """Who waits for a turn; an ``output`` under test lets all others go first."""

    model: str
    output: bool
    tokens: int
    turn: asyncio.Future[Charge]


class ServerQueue:
    """Who waits for one server, how many are in flight, and who is next.

    Models take turns, and what is asked about outputs goes before further outputs, so that whatever ends a run, what
    was answered is judged. Where the server serves one model at a time, the model that has it keeps it until it has
    nothing in flight and nothing waiting.
    """

    def __init__(
        self,
        server: Server,
        controller: ConcurrencyController,
        requests: SlidingWindow,
        tokens: SlidingWindow,
        clock: Callable[[], float],
        *,
        longest_pause_s: float = math.inf,
    ) -> None:
        self.server = server
        self.controller = controller
        self.requests = requests
        self.tokens = tokens
        self.in_flight = 0
        self._longest_pause_s = longest_pause_s
        self._clock = clock
        self._waiting: dict[tuple[str, bool], deque[_Waiting]] = {}
        self._active_model: str | None = None
        self._idle_since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def turn(self, request: Request) -> tuple[float, Charge]:
        """When it is the request's turn: the time, and what it may take of the tokens.

        Raises:
            RateLimited: the server asks for a longer pause than is waited for.
        """
        if self.is_closed:
            raise self.closed(request.model)
        turn: asyncio.Future[Charge] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(request.model, request.template is None, tokens_expected(request), turn)
        queue = self._waiting.setdefault((waiting.model, waiting.output), deque())
        _forget_served(queue)
        queue.append(waiting)
        self.dispatch()
        try:
            spent = await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.freed()
            raise
        return self._clock(), spent

    def freed(self) -> None:
        self.in_flight -= 1
        if not self.in_flight:
            self._idle_since = self._clock()
        self.dispatch()

    def answered(self, spent: Charge, tokens: int) -> None:
        """An answer says what it took; that may be less than was set aside, so that others can go on."""
        self.tokens.correct(spent, tokens, self._clock())

    def refuse_waiting(self, why: Callable[[str], ModelError]) -> None:
        for queue in self._waiting.values():
            while queue:
                waiting = queue.popleft()
                if not waiting.turn.done():
                    waiting.turn.set_exception(why(waiting.model))

    def refused(self, started: float, retry_after: float | None) -> None:
        """A request sent at ``started`` was refused for rate; those who wait are too, where the pause is too long."""
        self.controller.refused(started, retry_after)
        if self.is_closed:
            self.refuse_waiting(self.closed)

    @property
    def is_closed(self) -> bool:
        return self.pause_left_s() > self._longest_pause_s

    def closed(self, model: str) -> RateLimited:
        """The error of a request to such a server."""
        message = stored(
            "{model} was not asked: the provider asks to wait {seconds} s, longer than a call may take; run the same "
            "command again then, or raise --timeout.",
            model=model,
            seconds=f"{self.pause_left_s():.0f}",
        )
        return RateLimited(message, model=model)

    def pause_left_s(self) -> float:
        return self.controller.not_before - self._clock()

    def dispatch(self) -> None:
        """Gives slots to those whose turn it is."""
        while self.in_flight < self.controller.allowed:
            queue = self._next()
            if queue is None:
                return
            wait = self._wait_s(queue[0].tokens)
            if wait > 0:
                self._dispatch_later(wait + 0.001)
                return
            self._grant(queue.popleft())

    def _grant(self, waiting: _Waiting) -> None:
        now = self._clock()
        self.requests.add(now, 1)
        spent = self.tokens.add(now, waiting.tokens)
        self.in_flight += 1
        self._active_model = waiting.model
        waiting.turn.set_result(spent)

    def _next(self) -> deque[_Waiting] | None:
        """The queue whose turn it is."""
        if not self.server.one_model_at_a_time:
            return self._in_turn()
        for output in (False, True):
            own = self._waiting.get((self._active_model or "", output))
            if own and _forget_served(own):
                return own
        others = self._in_turn()
        if others is None or self.in_flight:
            return None
        rest = self._idle_since + SWITCH_DELAY_S - self._clock()
        if self._active_model is not None and rest > 0:
            self._dispatch_later(rest + 0.001)
            return None
        return others

    def _in_turn(self) -> deque[_Waiting] | None:
        """The models' queues take turns: the one that is served goes to the back. Outputs come last."""
        for key in sorted(self._waiting, key=lambda key: key[1]):
            queue = self._waiting.pop(key)
            if _forget_served(queue):
                self._waiting[key] = queue
                return queue
        return None

    def _wait_s(self, tokens: int) -> float:
        now = self._clock()
        return max(self.controller.not_before - now, self.requests.wait_s(now, 1), self.tokens.wait_s(now, tokens))

    def _dispatch_later(self, wait_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(wait_s, self.dispatch)


def _forget_served(queue: deque[_Waiting]) -> deque[_Waiting]:
    """The queue without those at its front who have gone."""
    while queue and queue[0].turn.done():
        queue.popleft()
    return queue


def tokens_expected(request: Request) -> int:
    """The tokens that are set aside for a request, in and out: all that it may answer, as providers count it too. The
    answer's own count replaces it."""
    return _tokens_in(request) + _tokens_out(request)


def beyond_tpm(request: Request, tpm: int | None) -> str | None:
    """What is wrong, in words, if the request alone may take more tokens than a minute has; None if it fits."""
    if tpm is None or tokens_expected(request) <= tpm:
        return None
    size, answer = _tokens_in(request), f"{_tokens_out(request):,}"
    if not size:
        return stored(
            "an answer alone may take {number} tokens, and --tpm allows {limit} a minute; raise --tpm, or allow a "
            "shorter answer: {model}?max_tokens=N",
            number=answer,
            limit=f"{tpm:,}",
            model=request.model,
        )
    return stored(
        "a request may take {count} tokens ({number} to send, up to {most} to answer), and --tpm allows {limit} a "
        "minute; raise --tpm, or allow a shorter answer: {model}?max_tokens=N",
        count=f"{tokens_expected(request):,}",
        number=f"{size:,}",
        most=answer,
        limit=f"{tpm:,}",
        model=request.model,
    )


def _tokens_in(request: Request) -> int:
    return sum(len(message.content.encode("utf-8", "replace")) for message in request.messages) // BYTES_PER_TOKEN


def _tokens_out(request: Request) -> int:
    return request.params.max_tokens or DEFAULT_ANSWER_TOKENS
