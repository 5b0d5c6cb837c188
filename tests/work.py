"""Work that is counted, not timed: it is the same on every machine, however busy."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType

TRIES = 5
"""Measurements of what seems to take too much; work that grows with the square takes too much in each."""


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

    For what spends its time in C, where no calls can be counted. Load, and whatever is loaded first, can only make CPU
    look more, so the least of several measurements is compared; what seems too much is measured again. Take ``many``
    as eight times ``few``: linear work then shows a ratio of 8, the square one of 64, and the limit of 24 lies midway.
    """
    least_few = least_many = float("inf")
    for _ in range(TRIES):
        least_few = min(least_few, *(_seconds(work, few) for _ in range(3)))
        least_many = min(least_many, _seconds(work, many))
        if least_many < 3 * many / few * least_few:
            return True
    return False


def _seconds(work: Callable[[int], object], amount: int) -> float:
    """CPU of this thread, without the collection of garbage, which depends on the tests before this one."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        begun = time.thread_time()
        work(amount)
        return time.thread_time() - begun
    finally:
        if was_enabled:
            gc.enable()
