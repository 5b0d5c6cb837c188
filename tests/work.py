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


def growth(work: Callable[[int], object], few: int, many: int) -> float:
    """How many times the CPU that ``work(few)`` takes ``work(many)`` takes: about ``many / few`` if it is linear.

    For what spends its time in C, where no calls can be counted. Of each the least of several is taken, so that neither
    the speed of the machine nor its load matters.
    """
    return min(_seconds(work, many) for _ in range(2)) / min(_seconds(work, few) for _ in range(5))


def _seconds(work: Callable[[int], object], amount: int) -> float:
    begun = time.thread_time()
    work(amount)
    return time.thread_time() - begun
