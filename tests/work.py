"""Work that is counted, not timed: it is the same on every machine, however busy."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType


def calls(work: Callable[..., object], *arguments: object) -> int:
    """How many functions, Python's and C's, this thread calls while ``work`` runs with these arguments."""
    count = 0

    def on_event(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        work(*arguments)
    finally:
        sys.setprofile(None)
    return count


def in_proportion(work: Callable[[int], object], few: int, many: int) -> bool:
    """Whether ``work(many)`` takes at most three times what ``work(few)`` and a linear growth let one expect, in CPU.

    For what spends its time in C, where no calls can be counted. Of ``few`` the least of two is taken, since the first
    loads what it needs; what seems too much is tried again, so that load does not matter.
    """
    return any(_seconds(work, many) < 3 * many / few * _least(work, few) for _ in range(3))


def _least(work: Callable[[int], object], amount: int) -> float:
    return min(_seconds(work, amount) for _ in range(2))


def _seconds(work: Callable[[int], object], amount: int) -> float:
    begun = time.thread_time()
    work(amount)
    return time.thread_time() - begun
