"""The workers of a run: started, given requests, listened to, and replaced where they are lost."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from promptpex.codecs.text.wording import plural
from promptpex.core.errors import EngineError, PromptpexError, Stopped, Unavailable
from promptpex.core.events import Notice, Sent
from promptpex.core.records import Completion, Request
from promptpex.core.translation import stored
from promptpex.engines.links import Carrier, Service, ServiceLink, WorkerLost, portable
from promptpex.llm.pacing.cancellation import not_asked, unanswered
from promptpex.llm.remote.lease_server import Coordinator
from promptpex.llm.remote.messages import (
    Begin,
    Cancel,
    Done,
    Forget,
    Happened,
    Left,
    ModelKnown,
    Ready,
    SentAnswer,
    SentQuestion,
    Want,
    Withdraw,
)
from promptpex.llm.run_limits import Shared

MIN_HELD = 32
"""Requests to one model that a worker holds at most, where few may be in flight: so many wait for a lease there that
no slot stays empty while the next request is on its way."""

MIN_SHARE = 8
"""Requests to one model that a worker holds at most, where there are few of them: the others get some, too."""

MAX_LOSSES = 3
"""Workers that may die in each seat one after the other, before any has answered, and while one request is sent: after
that it is not chance."""

ENOUGH = 8
"""Workers where nobody says how many: each sends several hundred requests a second, so that the process of the run is
the limit before."""

CLOSE_S = 5.0
"""Seconds that workers have to close their store and connections."""

Answerer = tuple[str, str | None, str | None]
"""As in ``Request``."""


@dataclass(slots=True, eq=False)
class _Question:
    """A request under way: who waits for it, where it is, and how many workers died over it."""

    number: int
    request: Request
    answer: asyncio.Future[Completion]
    seat: _Seat | None = None
    losses: int = 0

    @property
    def model(self) -> Answerer:
        return self.request.answerer


@dataclass(slots=True, eq=False)
class _Seat:
    """One of the workers, whichever process is in it now; ``link`` is None until it is ready."""

    link: ServiceLink | None = None
    held: dict[int, _Question] = field(default_factory=dict)
    by_model: Counter[Answerer] = field(default_factory=Counter)


class Workers:
    """Answers requests by workers, which are started with the first of them.

    Args:
        carrier: starts workers.
        service: what runs in them.
        count: how many; None = as many as there is room for, up to ``ENOUGH``.
        concurrency: requests that one server has in flight at most.
        gives_up_s: seconds after which a request without an answer ends.
        shared, coordinator: of the run.
        clock: seconds, monotonic; the run's time counts from now on.
    """

    def __init__(
        self,
        carrier: Carrier,
        service: Service,
        *,
        count: int | None,
        concurrency: int,
        gives_up_s: float,
        shared: Shared,
        coordinator: Coordinator,
        clock: Callable[[], float],
    ) -> None:
        self._carrier = carrier
        self._service = service
        self._count = count
        self._concurrency = concurrency
        self._gives_up_s = gives_up_s
        self._shared = shared
        self._coordinator = coordinator
        self._clock = clock
        self._began = clock()
        self._seats: list[_Seat] = []
        self._beginning: asyncio.Task[None] | None = None
        self._keepers: list[asyncio.Task[None]] = []
        self._waiting: defaultdict[Answerer, deque[_Question]] = defaultdict(deque)
        self._questions: dict[int, _Question] = {}
        self._by_model: Counter[Answerer] = Counter()
        self._numbers = itertools.count()
        self._generations = itertools.count()
        self._losses_in_a_row = 0
        self._failure: PromptpexError | None = None
        self._closing = False
        self._notices: set[str] = set()
        shared.cancel_token.on_cancel(self._cancel)

    async def answer(self, request: Request) -> Completion:
        """The answer of a worker.

        Raises:
            ModelError: the model could not answer, or was not asked.
            StoreError: the answer could not be stored.
            EngineError: the workers die.
            PromptpexError: what keeps the workers from opening the store or the providers.
        """
        await self._begun()
        if self._failure is not None:
            raise self._failure
        question = _Question(next(self._numbers), request, asyncio.get_running_loop().create_future())
        self._questions[question.number] = question
        self._by_model[question.model] += 1
        self._give(question)
        try:
            return await question.answer
        except asyncio.CancelledError:
            if question.seat is not None and question.seat.link is not None:
                question.seat.link.send(Forget(question.number))
            raise
        finally:
            self._forget(question)

    async def close(self) -> None:
        """Has the workers close what they have open, and ends them. May be called twice."""
        self._closing = True
        if self._beginning is not None:
            self._beginning.cancel()
        links = [seat.link for seat in self._seats if seat.link is not None]
        for link in links:
            link.end()
        ended = [keeper for keeper in self._keepers if not keeper.done()]
        for seat, keeper in zip(self._seats, self._keepers, strict=False):
            if seat.link is None:
                keeper.cancel()
        try:
            if ended:
                await asyncio.wait(ended, timeout=CLOSE_S)
        finally:
            for keeper in ended:
                keeper.cancel()
            await asyncio.gather(*(link.kill() for link in links), *ended, return_exceptions=True)

    async def _begun(self) -> None:
        """Starts the workers, unless that is done."""
        if self._seats or self._closing:
            return
        if self._beginning is None:
            self._beginning = asyncio.ensure_future(self._begin())
        await asyncio.shield(self._beginning)

    async def _begin(self) -> None:
        count = self._count or min(ENOUGH, await self._carrier.room())
        self._seats = [_Seat() for _ in range(count)]
        self._keepers = [asyncio.ensure_future(self._keep(seat)) for seat in self._seats]

    def _give(self, question: _Question) -> None:
        """Gives a request to the worker that has the fewest of its model, or lets it wait for one."""
        model = question.model
        count = len(self._seats)
        in_flight = self._concurrency * max(1, len(question.request.servers))
        most_held = max(MIN_HELD, math.ceil(2 * in_flight / count))
        most = min(most_held, max(MIN_SHARE, math.ceil(self._by_model[model] / count)))
        free_seats = [each for each in self._seats if each.link is not None and each.by_model[model] < most]
        if not free_seats:
            if self._shared.cancel_token.cancelled and not any(seat.link for seat in self._seats):
                question.answer.set_exception(_ended(question))
            else:
                self._waiting[model].append(question)
            return
        seat = min(free_seats, key=lambda each: each.by_model[model])
        seat.held[question.number] = question
        seat.by_model[model] += 1
        question.seat = seat
        if seat.link is not None:
            seat.link.send(SentQuestion(question.number, question.request), soon=True)

    def _forget(self, question: _Question) -> None:
        """Nobody waits for this request any more: the next has its place."""
        del self._questions[question.number]
        self._by_model[question.model] -= 1
        self._coordinator.answered(question.number, None)
        seat, question.seat = question.seat, None
        if seat is not None and seat.held.pop(question.number, None) is not None:
            seat.by_model[question.model] -= 1
            self._give_waiting(question.model)

    def _give_waiting(self, model: Answerer) -> None:
        waiting = self._waiting[model]
        while waiting:
            question = waiting.popleft()
            if question.answer.done():
                continue
            self._give(question)
            if question.seat is None and not question.answer.done():
                waiting.rotate(1)  # it went to the end again
                return

    async def _keep(self, seat: _Seat) -> None:
        """Has a worker in this seat until the end, and another where one is lost."""
        while self._failure is None and not self._closing:
            worker = next(self._generations)
            link: ServiceLink | None = None
            try:
                link = await self._carrier.start(self._service)
                link.send(Begin(worker, self._clock() - self._began))
                await self._listen(seat, worker, link)
                if not self._closing:
                    raise WorkerLost("it has ended")
            except WorkerLost as error:
                self._lose(seat, worker, str(error))
                if self._shared.cancel_token.cancelled:
                    break
            except Exception as error:  # what keeps a worker from working, or a bug
                self._fail(portable(error))
            finally:
                seat.link = None
                if link is not None:
                    with contextlib.suppress(Exception):
                        await link.kill()

    async def _listen(self, seat: _Seat, worker: int, link: ServiceLink) -> None:
        while messages := await link.receive():
            for message in messages:
                self._take(seat, worker, link, message)

    def _take(self, seat: _Seat, worker: int, link: ServiceLink, message: object) -> None:
        """Does what a worker says."""
        match message:
            case SentAnswer():
                self._answered(message)
            case Want():
                question = self._questions.get(message.number)
                if question is not None:
                    self._coordinator.want(worker, message, question.request, link.send)
            case Done():
                self._coordinator.done(worker, message)
            case Withdraw():
                self._coordinator.withdraw(worker, message.lease)
            case Left():
                self._left(message)
            case Happened():
                self._tell(message)
            case ModelKnown():
                self._shared.gate.open(message.who)
            case Ready():
                self._open(seat, link)

    def _open(self, seat: _Seat, link: ServiceLink) -> None:
        seat.link = link
        if self._shared.cancel_token.cancelled:
            link.send(Cancel())
        for model in list(self._waiting):
            self._give_waiting(model)

    def _answered(self, message: SentAnswer) -> None:
        question = self._questions.get(message.number)
        if question is None or question.answer.done():
            return
        self._losses_in_a_row = 0
        outcome = message.outcome
        self._coordinator.answered(message.number, outcome if isinstance(outcome, Completion) else None)
        if isinstance(outcome, Completion):
            question.answer.set_result(outcome)
        else:
            question.answer.set_exception(outcome)

    def _left(self, message: Left) -> None:
        """A request has left: what ``CountedClient`` says of one that is sent here."""
        question = self._questions.get(message.number)
        if question is not None:
            request = question.request
            self._shared.meter.sent(request)
            label = request.label or request.model
            self._shared.emit(Sent(label, request.stage, message.id, message.server, self._gives_up_s))

    def _tell(self, message: Happened) -> None:
        """Passes an event on; what several workers notice is said once."""
        event = message.event
        if isinstance(event, Notice):
            if event.message in self._notices:
                return
            self._notices.add(event.message)
        self._shared.emit(event)

    def _lose(self, seat: _Seat, worker: int, why: str) -> None:
        """A worker is gone: what it had goes to the others."""
        seat.link = None
        sent = self._coordinator.lost(worker)
        self._losses_in_a_row += 1
        lost_jobs, seat.held = list(seat.held.values()), {}
        seat.by_model.clear()
        if self._losses_in_a_row >= MAX_LOSSES * len(self._seats):
            self._fail(
                EngineError(
                    f"{plural(self._losses_in_a_row, 'worker')} died one after the other, the last one so: {why}. See "
                    "the cluster's logs, and run the same command again: what was answered is kept."
                )
            )
            return
        if not self._closing:
            self._shared.emit(_lost_notice(len(lost_jobs)))
        for question in lost_jobs:
            question.losses += question.number in sent
            self._give_again(question)
        if self._shared.cancel_token.cancelled:
            self._cancel()

    def _give_again(self, question: _Question) -> None:
        question.seat = None
        if question.answer.done():
            return
        if question.losses >= MAX_LOSSES:
            question.answer.set_exception(_not_survived(question))
        else:
            self._give(question)

    def _fail(self, error: PromptpexError) -> None:
        """The workers cannot go on: all who wait are told."""
        self._failure = self._failure or error
        for question in list(self._questions.values()):
            if not question.answer.done():
                question.answer.set_exception(self._failure)

    def _cancel(self) -> None:
        open_links: Sequence[ServiceLink] = [seat.link for seat in self._seats if seat.link is not None]
        for link in open_links:
            link.send(Cancel())
        if not open_links:
            for question in list(self._questions.values()):
                if not question.answer.done():
                    question.answer.set_exception(_ended(question))


def _ended(question: _Question) -> Stopped:
    """The error of a request that a stop leaves without an answer; a worker that died may have sent it."""
    return (unanswered if question.losses else not_asked)(question.request.model)


def _lost_notice(count: int) -> Notice:
    if not count:
        return Notice(stored("A worker was lost; another takes its place."), "warning")
    return Notice(
        stored("A worker was lost; what it was at ({count}) is asked of the others.", count=count),
        "warning",
    )


def _not_survived(question: _Question) -> Unavailable:
    model = question.request.model
    message = stored(
        "{model} was asked, and each of {count} workers died before its answer was known; see the cluster's logs.",
        model=model,
        count=question.losses,
    )
    return Unavailable(message, model=model)
