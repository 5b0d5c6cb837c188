"""Ctrl-C and SIGTERM: what they do to a command."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from promptpex.cli import output
from promptpex.cli.output import say
from promptpex.core.translation import tr


class Interrupts:
    """What signals do to a command: the first stops sending, the second is a KeyboardInterrupt, others nothing."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], None] = lambda: None
        self.pressed = False
        self._ending = False

    def attach(self, stop: Callable[[], None]) -> None:
        """From now on the first signal calls ``stop`` in the running loop; until now it ends the command."""
        self._loop, self._stop = asyncio.get_running_loop(), stop
        self._loop.set_exception_handler(_report)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The signal handler; Python calls it between two bytecodes, also while the loop is busy."""
        if self._ending:
            return
        if self.pressed or self._loop is None:
            self.pressed = self._ending = True
            raise KeyboardInterrupt
        self.pressed = True
        with contextlib.suppress(RuntimeError):  # the loop may have ended just now
            self._loop.call_soon_threadsafe(self._stop_and_say)

    def _stop_and_say(self) -> None:
        self._stop()
        say(tr("stopping: waiting a few seconds for what is in flight (Ctrl-C again stops at once)"), err=True)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Reports what nobody took, as asyncio does, but for the second signal: it may have ended a task in mid-step."""
    if not isinstance(context.get("exception"), KeyboardInterrupt):
        loop.default_exception_handler(context)


@contextlib.contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Handles Ctrl-C and SIGTERM in the main thread; in another, which gets no signals, it does nothing."""
    stops = Interrupts()
    try:
        before = {number: signal.signal(number, stops.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:
        yield stops
        return
    try:
        yield stops
    finally:
        over = stops.pressed and output.WHOLE_PROCESS
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if over else handler if handler is not None else signal.SIG_DFL)
