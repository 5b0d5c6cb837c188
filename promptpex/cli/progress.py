"""Progress on stderr: live bars in a terminal, plain lines elsewhere, JSON lines in a log."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from promptpex.cli.plain import visible
from promptpex.errors import ConfigError
from promptpex.events import Answered, Event, Failed, Listener, Notice, Retrying, StageEnded, StageStarted, StepDone

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

EVERY_S = 5.0
"""Seconds between two plain lines of one stage."""


@dataclass(slots=True)
class Tally:
    """How far a stage is with one model."""

    total: int
    done: int = 0
    failed: int = 0
    cached: int = 0
    cost: float = 0.0
    priced: bool = True
    shown: float = 0.0

    def text(self) -> str:
        """The tally in words."""
        parts = [f"{self.done}/{self.total}"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.cached:
            parts.append(f"{self.cached} from the store")
        if self.cost:
            parts.append(f"${self.cost:.4f}" + ("" if self.priced else " and unknown"))
        return ", ".join(parts)


class Tallies:
    """Keeps the tally of every stage and model from the events."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Tally] = {}

    def hear(self, event: Event) -> Tally | None:
        """Counts the event in; the tally that it changed, if any."""
        if isinstance(event, StageStarted):
            self._kept[event.stage, event.model] = Tally(event.total)
        if not isinstance(event, StageStarted | StepDone | Answered | StageEnded):
            return None
        tally = self._kept.get((event.stage, event.model))
        if tally is None:
            return None
        if isinstance(event, StepDone):
            tally.done += 1
            tally.failed += event.error is not None
        if isinstance(event, Answered):
            tally.cached += event.cached
            if not event.cached:
                tally.cost += event.cost_usd or 0.0
                tally.priced = tally.priced and event.cost_usd is not None
        return tally


def notices(verbose: bool) -> Listener:
    """Says notices, and retries and failures when ``verbose``, one line each; repeats are said once."""
    said: set[str] = set()

    def hear(event: Event) -> None:
        if isinstance(event, Notice):
            line = f"{'warning: ' if event.level == 'warning' else ''}{event.message}"
        elif verbose and isinstance(event, Retrying):
            line = f"retry {event.attempt} of {event.model} in {event.wait_s:.1f} s ({event.reason})"
        elif verbose and isinstance(event, Failed):
            line = f"{event.stage}: {event.model}: {event.message}"
        else:
            return
        if line not in said:
            said.add(line)
            click.echo(visible(line), err=True)

    return hear


def plain_lines(clock: Callable[[], float] = time.monotonic) -> Listener:
    """A line on stderr when a stage begins, every few seconds, and when it ends."""
    tallies = Tallies()

    def hear(event: Event) -> None:
        tally = tallies.hear(event)
        if tally is None or not isinstance(event, StepDone | StageEnded):
            return
        now = clock()
        waited = now - tally.shown >= EVERY_S and tally.done < tally.total
        if isinstance(event, StageEnded) or waited:
            tally.shown = now
            click.echo(visible(f"{event.stage}  {event.model}  {tally.text()}"), err=True)

    return hear


@contextmanager
def bars() -> Iterator[Listener]:
    """Live progress bars on stderr, one per stage and model."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[stage]:9}"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
    )
    tasks: dict[tuple[str, str], TaskID] = {}
    tallies = Tallies()
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def hear(event: Event) -> None:
            tally = tallies.hear(event)
            if tally is None or not isinstance(event, StageStarted | StepDone | Answered | StageEnded):
                return
            key = (event.stage, event.model)
            if isinstance(event, StageStarted):
                tasks[key] = _task(progress, event, escape(visible(event.model)))
            told = ", ".join(tally.text().split(", ")[1:])
            progress.update(tasks[key], completed=tally.done, told=told)

        yield hear


def _task(progress: Progress, event: StageStarted, label: str) -> TaskID:
    return progress.add_task(label, total=event.total, stage=event.stage, told="")


@contextmanager
def json_log(path: Path | None) -> Iterator[Listener | None]:
    """A listener that appends every event to a file, one JSON object a line; None without a path."""
    if path is None:
        yield None
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a", encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"--log: cannot be written ({error.strerror}); name another file", path=path) from error
    with file:
        yield _writer(file)


def _writer(file: TextIO) -> Listener:
    def hear(event: Event) -> None:
        file.write(json.dumps({"at": round(time.time(), 3), **event.plain()}, ensure_ascii=False) + "\n")
        file.flush()

    return hear
