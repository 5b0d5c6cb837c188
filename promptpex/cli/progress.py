"""Progress on stderr: live bars in a terminal, plain lines elsewhere, JSON lines in a log."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from promptpex.cli.output import say
from promptpex.codecs.controls import escaped, visible
from promptpex.codecs.ordinary_files import created
from promptpex.core.errors import ConfigError
from promptpex.core.events import (
    Answered,
    Event,
    Failed,
    Listener,
    Notice,
    Retrying,
    StageEnded,
    StageStarted,
    StepDone,
)
from promptpex.core.records import NOT_ASKED, UNCLEAR

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task, TaskID

RECENT = 50
"""Answers over which the rate is measured."""

WIDE = 100
"""Columns of a terminal from which on bars are long."""

EVERY_S = 5.0
"""Seconds between two plain lines of one stage."""


@dataclass(slots=True)
class StageProgress:
    """How far a stage has got with one model."""

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

    def text(self, now: float) -> str:
        """The tally in words."""
        parts = [f"{self.done - self.unasked}/{self.total}"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.unclear:
            parts.append(f"{self.unclear} unclear")
        if self.unasked:
            parts.append(f"{self.unasked} not asked")
        if self.cached:
            parts.append(f"{self.cached} from the store")
        rate = self.rate(now)
        if rate is not None:
            parts.append(f"{rate:.1f}/s")
        if self.cost:
            parts.append(f"${self.cost:.4f}" + ("" if self.priced else " and unknown"))
        if rate and self.done < self.total:
            parts.append(f"{span((self.total - self.done) / rate)} left")
        return ", ".join(parts)

    def rate(self, now: float) -> float | None:
        """Answers a second over the last ones that were asked for; None before there are two, and at the end."""
        if len(self.recent) < 2 or self.done >= self.total:
            return None
        took = max(now, self.recent[-1]) - self.recent[0]
        return (len(self.recent) - 1) / took if took > 0 else None


def span(seconds: float) -> str:
    """Seconds as people say them: ``8 s``, ``4 min``, ``2 h 10 min``."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class ProgressCounts:
    """Keeps the tally of every stage and model from the events.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: dict[tuple[str, str], StageProgress] = {}

    def count(self, event: Event) -> StageProgress | None:
        """Counts the event in; the tally that it changed, if any."""
        if isinstance(event, StageStarted):
            self._kept[event.stage, event.model] = StageProgress(event.total)
        if not isinstance(event, StageStarted | StepDone | Answered | StageEnded):
            return None
        tally = self._kept.get((event.stage, event.model))
        if tally is None:
            return None
        if isinstance(event, StepDone):
            tally.done += 1
            unasked = event.error is not None and event.error in NOT_ASKED
            tally.unasked += unasked
            tally.unclear += event.error == UNCLEAR
            tally.failed += event.error is not None and event.error != UNCLEAR and not unasked
        if isinstance(event, Answered):
            tally.cached += event.cached
            if not event.cached:
                tally.recent.append(self._clock())
                tally.cost += event.cost_usd or 0.0
                tally.priced = tally.priced and event.cost_usd is not None
        return tally


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
            line = f"{'warning: ' if event.level == 'warning' else ''}{event.message}"
        elif quiet:
            return
        elif verbose and isinstance(event, Retrying):
            line = f"retry {event.attempt} of {event.model} in {event.wait_s:.1f} s ({event.reason})"
        elif verbose and isinstance(event, Failed):
            line = f"{_label(event.stage)}: {event.model}: {event.message}"
        else:
            return
        if line not in printed:
            printed.add(line)
            say(line, err=True)

    return listen


def plain_lines(clock: Callable[[], float] = time.monotonic) -> Listener:
    """A line on stderr when a stage begins, every few seconds, and when it ends."""
    counts = ProgressCounts(clock)

    def listen(event: Event) -> None:
        tally = counts.count(event)
        if tally is None or not isinstance(event, StepDone | StageEnded):
            return
        now = clock()
        waited = now - tally.shown >= EVERY_S and tally.done < tally.total
        if isinstance(event, StageEnded) or waited:
            tally.shown = now
            say(f"{_label(event.stage)}  {event.model}  {tally.text(now)}", err=True)

    return listen


@contextmanager
def bars(clock: Callable[[], float] = time.monotonic) -> Iterator[Listener]:
    """Live progress bars on stderr, one per stage and model; where there is no room, a model's name is cut."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.fields[stage]}"),
        _label_column(),
        BarColumn(bar_width=8 if console.width < WIDE else 24, table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[progress]}", table_column=Column(no_wrap=True)),
    )
    tasks: dict[tuple[str, str], TaskID] = {}
    counts = ProgressCounts(clock)
    with Progress(*columns, console=console, refresh_per_second=4) as progress:

        def listen(event: Event) -> None:
            tally = counts.count(event)
            if tally is None or not isinstance(event, StageStarted | StepDone | Answered | StageEnded):
                return
            key = (event.stage, event.model)
            if isinstance(event, StageStarted):
                tasks[key] = progress.add_task(
                    visible(event.model), total=event.total, stage=_label(event.stage), progress=""
                )
            progress.update(tasks[key], completed=tally.done, progress=tally.text(clock()))

        yield listen


def _label_column() -> ProgressColumn:
    """The model's name on one line, in the width that the other columns leave."""
    from rich.progress import ProgressColumn
    from rich.table import Column
    from rich.text import Text

    class Label(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(task.description, no_wrap=True, overflow="ellipsis")

    return Label(table_column=Column(no_wrap=False, min_width=6))


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
