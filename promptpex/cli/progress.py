"""Progress on stderr: live bars in a terminal, plain lines elsewhere, JSON lines in a log."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from promptpex.cli.output import above_a_display, say
from promptpex.cli.progress_counts import ProgressCounts
from promptpex.codecs.files.ordinary_files import created
from promptpex.codecs.text.control_characters import escaped, visible
from promptpex.core.errors import ConfigError
from promptpex.core.events import Event, Failed, Listener, Notice, Retrying, StageEnded, StageStarted, StepDone
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
        """Says the total of a command that asked something."""
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
    """Prints a text above the bars, folded between words."""
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
