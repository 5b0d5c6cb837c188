"""Several servers of one model: which of them may be asked now, and where a request goes when one of them fails it.

A request that a server fails or refuses goes to another at once; only when all that are up have failed it does it wait,
as one with a single server does, and begin again. A server whose breaker is open is passed over but for a probe now
and then; one that knows neither key nor model is asked nothing more in this session. The queues choose among those
that are up (``server_queue``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from promptpex.codecs.text.wording import cut
from promptpex.core.errors import (
    RUN_ENDED,
    BudgetExceeded,
    DeadlinePassed,
    ModelError,
    Stopped,
    TimedOut,
    Unavailable,
    once_sent,
)
from promptpex.core.events import Listener, Notice
from promptpex.core.records import Completion, Request
from promptpex.core.translation import stored
from promptpex.llm.pacing.breaker import Breaker
from promptpex.llm.pacing.changes import Changes
from promptpex.llm.pacing.first_request import FATAL
from promptpex.llm.pacing.server_queue import Slot
from promptpex.llm.resolve_model import Server

T = TypeVar("T")

LONGEST_ID = 80
"""Characters of a model's id, as a server gives it, that are shown."""


@dataclass(slots=True, eq=False)
class Member:
    """One of several servers of a model.

    Attributes:
        base: its base URL.
        server: the same for queues.
        breaker: of this model there.
        answers: whether it has answered.
        refuses: why it is asked nothing more.
        reports: the id that its answers carry.
    """

    base: str
    server: Server
    breaker: Breaker
    answers: bool = False
    refuses: ModelError | None = None
    reports: str | None = None

    @property
    def is_up(self) -> bool:
        """Whether it is not known to be down or of no use."""
        return self.refuses is None and not self.breaker.open


class ServerGroup:
    """The servers of one model, as requests find them.

    Args:
        request: any of those to the model.
        members: its servers.
        clock: seconds, monotonic.
        emit: is told once of each server that it is down, back, or of no use.
    """

    def __init__(
        self,
        request: Request,
        members: Sequence[Member],
        *,
        clock: Callable[[], float],
        emit: Listener,
    ) -> None:
        self._label = request.label or request.model
        self._answerer = request.answerer
        self._members = members
        self._clock = clock
        self._emit = emit
        self._told: set[tuple[str, str]] = set()
        self._changes = Changes()

    @property
    def are_up(self) -> list[Member]:
        """The servers that are not known to be down or of no use."""
        return [member for member in self._members if member.is_up]

    def has_others(self, member: Member) -> bool:
        """Whether another server is up."""
        return any(other is not member for other in self.are_up)

    def is_doubtful(self, member: Member) -> bool:
        """Whether a server has never answered and another one that is up has: it may hang."""
        return not member.answers and any(other.answers for other in self.are_up)

    def take_probe(self, besides: Collection[Member]) -> Member | None:
        """A server that is down and whose probe is due, which then is the caller's to send."""
        left = (member for member in self._members if member.refuses is None and member not in besides)
        return next((member for member in left if member.breaker.take_probe()), None)

    async def up(self, besides: Collection[Member]) -> list[Member]:
        """The servers that may be asked, without ``besides`` as long as there are others. Where all are down it waits
        until that changes or a probe is due, and then gives none.

        Raises:
            Unavailable: all have been down for longer than is waited for.
            NotAuthorised, UnknownModel, RetiredModel: all are of no use.
        """
        up = self.are_up
        if not up:
            self._require_hope()
            await self._change()
        return [member for member in up if member not in besides] or up

    def answered(self, member: Member, completion: Completion) -> None:
        """A server answered."""
        was_down = member.breaker.open
        member.breaker.succeeded()
        member.answers = True
        if was_down:
            self._tell(member, stored("{model}: {server} answers again.", model=self._label, server=member.base))
            self.wake()
        if completion.model_reported and member.reports is None:
            member.reports = completion.model_reported
            self._compare(member)

    def failed(self, member: Member, error: ModelError) -> None:
        """A server failed a request."""
        was_down = member.breaker.open
        if isinstance(error, TimedOut) and not isinstance(error, DeadlinePassed):
            member.breaker.failed()
        else:
            tell(member.breaker, error)
        if isinstance(error, FATAL) and member.refuses is None:
            member.refuses = error
            self._warn_of_no_use(member, error)
            self.wake()
        elif member.breaker.open:
            if not was_down:
                self._warn_of_outage(member)
                self.wake()
            delay = max(0.0, member.breaker.next_look - self._clock())
            asyncio.get_running_loop().call_later(delay, self.wake)

    def wake(self) -> None:
        """Everyone who waits for one of the servers looks again at which are up."""
        self._changes.announce()

    async def unless_changed(self, slot: Coroutine[Any, Any, Slot]) -> Slot | None:
        """The slot that is waited for; None as soon as other servers are up than before."""
        waiting = asyncio.ensure_future(slot)
        either: set[asyncio.Future[Any]] = {waiting, self._changes.next()}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            waiting.add_done_callback(_give_back)
            waiting.cancel()
            raise
        if not waiting.done():
            waiting.cancel()
            await asyncio.wait({waiting})
        return None if waiting.cancelled() else waiting.result()

    def refusal(self, errors: Mapping[Member, ModelError], latest: ModelError) -> ModelError:
        """The error of a request that the servers failed, each for its own reason, or are known not to answer."""
        passing = [error for error in errors.values() if error.retryable]
        error_shown = latest if latest.retryable or not passing else passing[-1]
        if len(self._members) == 1:
            return error_shown
        message = stored(
            "{model} has no answer from its servers {servers}: {part}",
            model=self._label,
            servers=", ".join(self._shown(errors)),
            part=error_shown.message,
        )
        return type(error_shown)(
            message, model=error_shown.model, retry_after=error_shown.retry_after, reply=error_shown.reply
        )

    def _shown(self, errors: Mapping[Member, ModelError]) -> Iterator[str]:
        """The servers that gave no answer, with the reasons."""
        for member in self._members:
            why = errors.get(member) or member.refuses
            if why is not None or member.breaker.open:
                yield f"{member.base} ({why.reason if why is not None else Unavailable.reason})"

    def _require_hope(self) -> None:
        refused = {member: member.refuses for member in self._members if member.refuses is not None}
        if len(refused) == len(self._members):
            raise self.refusal(refused, next(iter(refused.values())))
        down = [member for member in self._members if member.refuses is None]
        if all(member.breaker.dead for member in down):
            message = stored(
                "{model} was not asked: none of its servers ({servers}) has answered for a while. See whether they "
                "are up, or run the same command again later.",
                model=self._label,
                servers=", ".join(member.base for member in self._members),
            )
            raise Unavailable(message, model=self._answerer[0])

    async def _change(self) -> None:
        """Until something changes, a probe is due, or a server counts as dead."""
        due = min(member.breaker.next_look for member in self._members if member.refuses is None)
        await self._changes.wait(max(0.01, due - self._clock()) if due < float("inf") else None)

    def _warn_of_outage(self, member: Member) -> None:
        if len(self._members) > 1:
            message = stored(
                "{model}: {server} does not answer; the other servers are asked until it does.",
                model=self._label,
                server=member.base,
            )
            self._tell(member, message, "warning")

    def _warn_of_no_use(self, member: Member, error: ModelError) -> None:
        if self.are_up:
            message = stored(
                "{model}: {server} is asked nothing more, its other servers are: {part}",
                model=self._label,
                server=member.base,
                part=error.message,
            )
            self._tell(member, message, "warning")

    def _compare(self, member: Member) -> None:
        """Says so where the servers do not serve one and the same model, by the ids that their answers carry."""
        other = next((each for each in self._members if each.reports not in (None, member.reports)), None)
        if other is not None:
            message = stored(
                "{model}: its servers answer as different models: {server} as {id}, {other} as {other_id}; their "
                "answers count as those of one model.",
                model=self._label,
                server=member.base,
                id=cut(member.reports or "", LONGEST_ID),
                other=other.base,
                other_id=cut(other.reports or "", LONGEST_ID),
            )
            self._tell(member, message, "warning")

    def _tell(self, member: Member, message: str, level: str = "info") -> None:
        """Each thing of each server once."""
        if (member.base, message) not in self._told:
            self._told.add((member.base, message))
            self._emit(Notice(message, level))


@dataclass(slots=True)
class Tries:
    """What one request has tried: one server again and again, or in each round all of ``group`` that are up.

    Attributes:
        sent: attempts in all.
        rounds: those that came to an end; for a single server each attempt is one.
        probes: rounds that did nothing but probe servers which were down.
        passed: the servers that failed it in this round.
    """

    group: ServerGroup | None
    sent: int = 0
    rounds: int = 0
    probes: int = 0
    passed: set[Member] = field(default_factory=set)
    _last: ModelError | None = None
    _errors: list[ModelError] = field(default_factory=list)
    _latest: dict[Member, ModelError] = field(default_factory=dict)
    _probes_only: bool = True

    def answered(self, member: Member | None, breaker: Breaker, completion: Completion) -> None:
        """A server answered."""
        if self.group is None or member is None:
            breaker.succeeded()
        else:
            self.group.answered(member, completion)

    def failed(self, member: Member | None, breaker: Breaker, error: ModelError, *, probe: bool) -> None:
        """A server failed it; ``probe``: it was down, and this looked whether it still is."""
        self.sent += 1
        self._last = error
        self._errors.append(error)
        self._probes_only = self._probes_only and probe
        if self.group is None or member is None:
            tell(breaker, error)
            return
        self.passed.add(member)
        self._latest.pop(member, None)
        self._latest[member] = error
        self.group.failed(member, error)

    def may_go_elsewhere(self, error: ModelError) -> bool:
        """Whether another server may answer now what one has failed."""
        if self.group is None or not _fails_over(error):
            return False
        return any(member not in self.passed for member in self.group.are_up)

    def end_round(self) -> list[ModelError]:
        """What this round gave; the next may ask all servers again."""
        self.rounds += 1
        self.probes += self._probes_only
        errors, self._errors, self._probes_only = self._errors, [], True
        self.passed.clear()
        return errors

    def may_help(self, latest: ModelError, errors: Sequence[ModelError]) -> bool:
        """Whether a further round may help."""
        if self.group is None or not _fails_over(latest):
            return latest.retryable
        return any(error.retryable for error in errors)

    def error(self, latest: ModelError) -> ModelError:
        """The error of the request, saying what each server said, and how often it was tried."""
        error = latest
        if self.group is not None and _fails_over(latest):
            error = self.group.refusal(self._latest, latest)
        if self.sent == 1:
            return error
        message = stored("{part} Tried {count} times.", part=error.message, count=self.sent)
        return type(error)(message, model=error.model, retry_after=error.retry_after, reply=error.reply)

    async def unless_ended(self, step: Awaitable[T]) -> T:
        """What comes of a step between two attempts.

        Raises:
            DeadlinePassed, Stopped, BudgetExceeded: the run ended meanwhile; if an attempt had been sent, their
                subclasses, which say what came of it.
        """
        try:
            return await step
        except RUN_ENDED as ended:
            if self._last is None:
                raise
            part = self.error(self._last).message
            raise once_sent(ended, stored("{part} The run ended before it was asked again.", part=part)) from None


def _give_back(waiting: asyncio.Future[Slot]) -> None:
    """Frees a slot that came to one who has gone."""
    if not waiting.cancelled() and waiting.exception() is None:
        waiting.result().free()


def tell(breaker: Breaker, error: ModelError) -> None:
    """What a failure says about the server: that it is down, nothing, or that it is there and refuses."""
    if isinstance(error, Unavailable) and error.retryable:
        breaker.failed()
    elif isinstance(error, TimedOut | Stopped | BudgetExceeded):
        breaker.inconclusive()
    else:
        breaker.succeeded()


def _fails_over(error: ModelError) -> bool:
    """Whether the error says something about the server, and not about the request or the run."""
    return error.retryable or isinstance(error, FATAL)
