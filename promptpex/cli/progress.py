"""Progress on stderr: live bars in a terminal, plain lines elsewhere, JSON lines in a log."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from promptpex.cli.output import above_a_display, say
from promptpex.codecs.files.ordinary_files import created
from promptpex.codecs.text.control_characters import escaped, visible
from promptpex.core.errors import ConfigError
from promptpex.core.events import (
    Answered,
    Event,
    Failed,
    Listener,
    Notice,
    OutcomeKnown,
    Retrying,
    Sent,
    StageEnded,
    StageStarted,
    StepDone,
)
from promptpex.core.records import NOT_ASKED, UNCLEAR
from promptpex.core.translation import digits, from_data, tr
from promptpex.report.colours import BAD, GOOD

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, Task, TaskID
    from rich.table import Column
    from rich.text import Text


WIDE = 100
"""Columns of a terminal from which on bars are long."""

EVERY_S = 5.0
"""Seconds between two plain lines of one stage."""

TOTAL_EVERY_S = 30.0
"""Seconds between two plain lines of the total."""

FIRST_WAIT_S = 20.0
"""Seconds without an answer after which a plain line says so; the next one comes after twice as many."""

LINES_BELOW = 4
"""Lines of a terminal that stay free for what stands below the bars."""

TICK_S = 1.0
"""Seconds between two looks at the clock while nothing happens."""


def _label(stage: str) -> str:
    """What people read for a stage; the stages, and all their packages, are loaded when the first one begins."""
    from promptpex.workflow.stages import label

    return label(stage)


def notices(verbose: bool, *, quiet: bool = False) -> Listener:
    """Says notices, and retries and failures when ``verbose``, one line each; repeats are said once.

    When ``quiet``, only what costs money unasked: notices whose level is ``always``.
    """
    printed: set[str] = set()

    def listen(event: Event) -> None:
        if isinstance(event, Notice) and quiet and event.level != "always":
            return
        if isinstance(event, Notice):
            message = event.text()
            line = tr("warning: {message}", message=message) if event.level == "warning" else message
        elif quiet:
            return
        elif verbose and isinstance(event, Retrying):
            line = tr(
                "retry {number} of {model} in {seconds} s ({reason})",
                number=event.attempt,
                model=event.model,
                seconds=digits(f"{event.wait_s:.1f}"),
                reason=from_data(event.reason),
            )
        elif verbose and isinstance(event, Failed):
            line = f"{_label(event.stage)}: {event.model}: {from_data(event.message)}"
        else:
            return
        if line not in printed:
            printed.add(line)
            say(line, err=True)

    return listen


class PlainLines:
    """A line on stderr when a stage begins, every few seconds, and when it ends; a line of the total now and then, and
    one that says for whom one is waiting.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts = ProgressCounts(clock)
        self._total_at = clock()
        self._wait_s = FIRST_WAIT_S
        self._turn = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Counts an event in, and says what is due."""
        with self._turn:
            tally = self._counts.count(event)
            if tally is None or not isinstance(event, StepDone | StageEnded):
                return
            now = self._clock()
            waited = now - tally.shown >= EVERY_S and tally.done < tally.total
            if tally.ended or waited:
                tally.shown = now
                say(f"{_label(event.stage)}  {event.model}  {tally.text(now)}", err=True)

    def tick(self) -> None:
        """Says what is due while nothing happens."""
        with self._turn:
            now = self._clock()
            if waiting := self._counts.waiting(now, notice_after_s=self._wait_s):
                self._wait_s *= 2
                say(waiting, err=True)
            if self._counts.stages and now - self._total_at >= TOTAL_EVERY_S:
                self._total_at = now
                self._say_total(now)

    def end(self) -> None:
        with self._turn:
            if self._counts.stages:
                self._say_total(self._clock())

    def _say_total(self, now: float) -> None:
        say(f"{tr('total')}  {self._counts.total(now)}", err=True)


@contextmanager
def plain_lines() -> Iterator[Listener]:
    """Plain lines on stderr, also while nothing happens."""
    lines, over = PlainLines(), threading.Event()

    def tick() -> None:
        while not over.wait(TICK_S):
            lines.tick()

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    try:
        yield lines
    finally:
        over.set()
        ticking.join()
        lines.end()


@contextmanager
def bars(clock: Callable[[], float] = time.monotonic) -> Iterator[Listener]:
    """Live progress bars on stderr, one per stage and model, and a line of all; where there is no room, a model's name
    is cut."""
    counts = ProgressCounts(clock)
    tasks: dict[tuple[str, str], TaskID] = {}
    with _display(counts, clock) as progress, above_a_display(_printer(progress)):

        def listen(event: Event) -> None:
            tally = counts.count(event)
            if tally is None or not isinstance(event, StageStarted | StepDone | StageEnded):
                return
            key = (event.stage, event.model)
            if isinstance(event, StageStarted) and tally.going_on == 1:
                label, name = _label(event.stage), visible(event.model)
                tasks[key] = progress.add_task(name, total=event.total, stage=label, key=key)
            progress.update(tasks[key], completed=tally.done, total=tally.total)

        yield listen


def _printer(progress: Progress) -> Callable[[str], None]:
    from rich.text import Text

    return lambda text: progress.console.print(Text(text))


def _display(counts: ProgressCounts, clock: Callable[[], float]) -> Progress:
    """The bars with the figures of ``counts`` at every refresh, and below them the total and who is waited for."""
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    console = Console(stderr=True)

    class Display(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            fitting_bars = _fitting_bars(self.tasks, console.height - LINES_BELOW)
            yield self.make_tasks_table(fitting_bars)
            yield from _below(counts, clock(), len(self.tasks) - len(fitting_bars))

    return Display(
        TextColumn("{task.fields[stage]}"),
        _column(lambda task: task.description, Column(no_wrap=False, min_width=6)),
        BarColumn(bar_width=8 if console.width < WIDE else 24, table_column=Column(no_wrap=True)),
        _column(lambda task: counts.stages[task.fields["key"]].text(clock()), Column(no_wrap=True)),
        console=console,
        refresh_per_second=4,
    )


def _fitting_bars(tasks: Sequence[Task], most: int) -> list[Task]:
    """As many bars as there are lines for, in their order: rather those that are not at their end."""
    by_need = sorted(range(len(tasks)), key=lambda at: tasks[at].finished)
    return [tasks[at] for at in sorted(by_need[: max(1, most)])]


def _below(counts: ProgressCounts, now: float, hidden: int) -> Iterator[Text]:
    """The lines below the bars: what is hidden, the total, and who is waited for."""
    from rich.text import Text

    if not counts.stages:
        return
    more = tr("... and {count} more", count=hidden) if hidden else ""
    for line in (more, f"{tr('total')}  {counts.total(now)}", visible(counts.waiting(now))):
        if line:
            text = Text(line, no_wrap=True, overflow="ellipsis")
            text.highlight_regex(rf"\b\d+ {re.escape(from_data('pass'))}\b", GOOD)
            text.highlight_regex(rf"\b\d+ {re.escape(from_data('fail'))}\b", BAD)
            yield text


def _column(text: Callable[[Task], str], column: Column) -> ProgressColumn:
    """A column of foreign text on one line, cut in the width that the other columns leave."""
    from rich.progress import ProgressColumn
    from rich.text import Text

    class OneLine(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(text(task), no_wrap=True, overflow="ellipsis")

    return OneLine(table_column=column)


@contextmanager
def json_log(path: Path | None) -> Iterator[Listener | None]:
    """A listener that appends every event to a file, one JSON object a line; None without a path.

    A new file is for its owner alone: it names models, servers and what they said. A link is not followed.
    """
    if path is None:
        yield None
        return
    try:
        file = os.fdopen(created(path, append=True, mode=0o600), "a", encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"--log: cannot be written ({error.strerror}); name another file", path=path) from error
    with file:
        yield _writer(file)


def _writer(file: TextIO) -> Listener:
    def listen(event: Event) -> None:
        file.write(escaped(json.dumps({"at": round(time.time(), 3), **event.to_dict()}, ensure_ascii=False)) + "\n")
        file.flush()

    return listen


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
