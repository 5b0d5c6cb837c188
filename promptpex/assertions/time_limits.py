"""How long checks may take: one on one output, one on all outputs, and all checks of a command together.

Whoever evaluates checks opens the time of the command (``check_time``); what is opened inside of that is the same time.
A check's own limit is kept where the work is done: in V8, in the template environment, and by ``in_time`` wherever
Python goes through something that may be long.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import TypeVar

from promptpex.assertions.model import Unscorable
from promptpex.core.time_allowance import EACH_SECONDS, Allowance
from promptpex.core.translation import stored

CHECK_SECONDS = 5.0
"""The longest that Python may go through something for one check on one output."""
CHECKS_SECONDS = 30.0
"""What one check may take on all outputs, before what each of them adds."""
COMMAND_SECONDS = 120.0
"""What all checks of a command may take, before what each verdict adds."""
OUTPUT_SECONDS = 10.0
"""What the verdicts on one output add at most, however many checks it has."""
READING_SECONDS = 0.001
"""What reading a check adds: thousands of them, each just under a verdict's tenth of a second, take hours."""
NOT_TRIED = "it was not tried"
"""How the reason of a check begins that had no time left."""
_ITS_TIME = stored("it was not tried: it has taken more than {seconds} s")
_TIME_OF_ALL = stored("it was not tried: the checks together have taken more than {seconds} s")

Item = TypeVar("Item")

_command: ContextVar[Allowance | None] = ContextVar("_command", default=None)
_deadline: ContextVar[float | None] = ContextVar("_deadline", default=None)


@contextmanager
def check_time(time_of_all: Allowance | None = None) -> Iterator[Allowance]:
    """The time of all checks of a command: what is open already, else the one given, else a new one."""
    opened = _command.get() or time_of_all or Allowance(COMMAND_SECONDS)
    before = _command.set(opened)
    try:
        yield opened
    finally:
        _command.reset(before)


def time_of(checks: int) -> Allowance:
    return Allowance(COMMAND_SECONDS, each=each_verdict(checks))


def each_verdict(checks: int) -> float:
    """Seconds that a verdict adds to the time of all, where an output has so many checks."""
    return min(EACH_SECONDS, OUTPUT_SECONDS / max(1, checks))


def used_up() -> bool:
    opened = _command.get()
    return opened is not None and opened.used_up


class TimedCheck:
    """One check on one output, its seconds counted for itself and for all.

    Args:
        own: the time of this check on all outputs; None where it is not counted apart.
        seconds: what Python may go through for it; None = ``CHECK_SECONDS``.
        each: what it adds to the time of all; None = as much as every verdict.

    Raises:
        Unscorable: ``timeout``, on entering: it, or all checks together, have had their time.
    """

    __slots__ = ("_before", "_each", "_own", "_seconds", "_together")

    def __init__(self, own: Allowance | None = None, seconds: float | None = None, each: float | None = None) -> None:
        self._own = own or Allowance(CHECKS_SECONDS)
        self._together = _command.get() or Allowance(COMMAND_SECONDS)
        self._seconds = CHECK_SECONDS if seconds is None else seconds
        self._each = each

    def __enter__(self) -> None:
        for allowance, words in ((self._own, _ITS_TIME), (self._together, _TIME_OF_ALL)):
            if allowance.used_up:
                raise Unscorable("timeout", words.format(seconds=f"{allowance.seconds:.0f}"))
        self._before: Token[float | None] = _deadline.set(time.monotonic() + self._seconds)
        self._own.begin(self._each)
        self._together.begin(self._each)

    def __exit__(self, *failure: object) -> None:
        self._together.end()
        self._own.end()
        _deadline.reset(self._before)


def tick() -> None:
    """Called at each step of something long.

    Raises:
        Unscorable: ``timeout``: the time of the check under way is over.
    """
    deadline = _deadline.get()
    if deadline is not None and time.monotonic() > deadline:
        raise Unscorable(
            "timeout", stored("it took longer than {seconds} s on this output", seconds=f"{CHECK_SECONDS:g}")
        )


def in_time(items: Iterable[Item]) -> Iterator[Item]:
    """The items, one after the other, while there is time.

    Raises:
        Unscorable: see ``tick``.
    """
    for item in items:
        tick()
        yield item
