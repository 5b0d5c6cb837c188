"""How far a command has got, counted from events: by stage and model, and in all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from promptpex.core.events import (
    Answered,
    Event,
    Failed,
    OutcomeKnown,
    Sent,
    StageEnded,
    StageStarted,
    StepDone,
)
from promptpex.core.records import NOT_ASKED, UNCLEAR
from promptpex.core.translation import digits, from_data, tr

RECENT = 50
"""Answers over which the rate is measured."""

WAITING_NOTICE_S = 3.0
"""Seconds without a first answer after which that is said."""


@dataclass(slots=True)
class StageProgress:
    """How far a stage has got with one model.

    Attributes:
        sent_at: when the first request was sent; None before.
        server, gives_up_s: where to, and for how long its answer is waited for.
        is_answered: whether anything came back, if only an error.
        going_on: how many prompts are at this stage; in a batch it is one of all of them.
    """

    total: int
    done: int = 0
    failed: int = 0
    unclear: int = 0
    unasked: int = 0
    cached: int = 0
    cost: float = 0.0
    priced: bool = True
    shown: float = 0.0
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    sent_at: float | None = None
    server: str = ""
    gives_up_s: float = 0.0
    is_answered: bool = False
    going_on: int = 1

    @property
    def ended(self) -> bool:
        """Whether no prompt is at this stage."""
        return self.going_on <= 0

    def text(self, now: float) -> str:
        """The tally in words."""
        parts = [f"{self.done - self.unasked}/{self.total}"]
        if self.failed:
            parts.append(tr("{count} failed", count=self.failed))
        if self.unclear:
            parts.append(tr("{count} unclear", count=self.unclear))
        if self.unasked:
            parts.append(tr("{count} not asked", count=self.unasked))
        if self.cached:
            # a step may have two answers, such as one that could not be read and the one after it
            parts.append(tr("{count} from the store", count=min(self.cached, self.total)))
        rate = self.rate(now)
        if rate is not None:
            parts.append(tr("{count}/s", count=digits(f"{rate:.1f}")))
        if self.cost:
            parts.append(money(self.cost, priced=self.priced))
        if rate and self.done < self.total:
            parts.append(tr("{time} left", time=span((self.total - self.done) / rate)))
        return ", ".join(parts)

    def rate(self, now: float) -> float | None:
        """Answers a second over the last ones that were asked for; None before there are two, and at the end."""
        if len(self.recent) < 2 or self.done >= self.total:
            return None
        took = max(now, self.recent[-1]) - self.recent[0]
        return (len(self.recent) - 1) / took if took > 0 else None

    def waited(self, now: float) -> float | None:
        """Seconds since the first request was sent, while nothing has come back; None before and after."""
        return None if self.sent_at is None or self.is_answered or self.ended else now - self.sent_at


class ProgressCounts:
    """Keeps the tally of every stage and model from the events, and of all of them.

    Args:
        clock: seconds, monotonic.

    Attributes:
        outcomes: how many outputs pass, fail and are unscored, as far as it is known.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began: float | None = None
        self.stages: dict[tuple[str, str], StageProgress] = {}
        self._over: list[StageProgress] = []
        self.outcomes = {"pass": 0, "fail": 0, "unscored": 0}

    def count(self, event: Event) -> StageProgress | None:
        """Counts the event in; the tally that it changed, if any."""
        if isinstance(event, OutcomeKnown):
            self.outcomes[event.outcome] += 1
            if event.was is not None:
                self.outcomes[event.was] -= 1
        if not isinstance(event, StageStarted | StepDone | Sent | Answered | Failed | StageEnded):
            return None
        if isinstance(event, StageStarted):
            self._start(event)
        tally = self.stages.get((event.stage, event.model))
        if tally is not None:
            self._add(event, tally)
        return tally

    def total(self, now: float) -> str:
        """All stages and models so far, in words: steps, time, cost, and what is known of the outputs."""
        stage_counts = [*self._over, *self.stages.values()]
        parts = [f"{sum(one.done - one.unasked for one in stage_counts)}/{sum(one.total for one in stage_counts)}"]
        parts.append(span(now - (now if self._began is None else self._began)))
        cost = sum(one.cost for one in stage_counts)
        if cost:
            parts.append(money(cost, priced=all(one.priced for one in stage_counts)))
        outcome_texts = [f"{count} {from_data(outcome)}" for outcome, count in self.outcomes.items() if count]
        if not outcome_texts and any(stage == "output" for stage, _ in self.stages):
            outcome_texts = [tr("no verdicts yet")]
        return ", ".join([*parts, *outcome_texts])

    def waiting(self, now: float, *, notice_after_s: float = WAITING_NOTICE_S) -> str:
        """For whose first answer one has waited longest, in words; nothing where all have answered."""
        waits = [(waited, one) for one in self.stages.values() if (waited := one.waited(now)) is not None]
        waits = [each for each in waits if each[0] >= notice_after_s]
        if not waits:
            return ""
        seconds, longest = max(waits, key=lambda each: each[0])
        server = longest.server
        if len(waits) > 1:
            server = tr("{server} and {count} more", server=server, count=len(waits) - 1)
        return tr(
            "waiting {time} for the first answer (gives up at {limit}): {server}",
            time=span(seconds),
            limit=span(longest.gives_up_s),
            server=server,
        )

    def _start(self, event: StageStarted) -> None:
        key = (event.stage, event.model)
        before = self.stages.get(key)
        if before is not None and not before.ended:
            before.total += event.total
            before.going_on += 1
            return
        if before is not None:
            self._over.append(before)
        self.stages[key] = StageProgress(event.total)
        self._began = self._clock() if self._began is None else self._began

    def _add(self, event: Event, tally: StageProgress) -> None:
        if isinstance(event, StepDone):
            tally.done += 1
            unasked = event.error is not None and event.error in NOT_ASKED
            tally.unasked += unasked
            tally.unclear += event.error == UNCLEAR
            tally.failed += event.error is not None and event.error != UNCLEAR and not unasked
        if isinstance(event, Sent) and tally.sent_at is None:
            tally.sent_at, tally.server, tally.gives_up_s = self._clock(), event.server, event.gives_up_s
        if isinstance(event, Answered | Failed):
            tally.is_answered = True
        if isinstance(event, StageEnded):
            tally.going_on -= 1
        if isinstance(event, Answered):
            tally.cached += event.cached
            if not event.cached:
                tally.recent.append(self._clock())
                tally.cost += event.cost_usd or 0.0
                tally.priced = tally.priced and event.cost_usd is not None


def span(seconds: float) -> str:
    """Seconds as people say them: ``8 s``, ``4 min``, ``2 h 10 min``."""
    if seconds < 99.5:
        return tr("{count} s", count=f"{seconds:.0f}")
    minutes = round(seconds / 60)
    if minutes < 100:
        return tr("{count} min", count=minutes)
    return tr("{hours} h {minutes} min", hours=minutes // 60, minutes=minutes % 60)


def money(usd: float, *, priced: bool) -> str:
    """US dollars; that a part has no known price is said."""
    amount = digits(f"${usd:.4f}")
    return amount if priced else tr("{cost} and unknown", cost=amount)
