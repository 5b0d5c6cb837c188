"""How often patterns, scripts and templates may go over their limits before they are not tried any more."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable

OVERRUNS, TRIES_PER_OVERRUN = 3, 50
"""One may go over its limits so often, and once more for so many tries, before it is given up."""
OVERRUNS_IN_ALL, WINDOW_SECONDS = 20, 120.0
"""After so many overruns in the whole process within so many seconds, only what has once come to a verdict is tried."""


class ProcessStrikes:
    """The overruns of a whole process, whatever it was that overran.

    Args:
        clock: seconds on a clock that does not jump.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=OVERRUNS_IN_ALL)

    def exhausted(self) -> bool:
        """Whether there were too many of late."""
        return len(self._times) == OVERRUNS_IN_ALL and self._clock() - self._times[0] < WINDOW_SECONDS

    def add(self) -> None:
        """Count one."""
        self._times.append(self._clock())

    def reset(self) -> None:
        """Start from zero."""
        self._times.clear()


PROCESS_STRIKES = ProcessStrikes()


class StrikeCounter:
    """Which patterns, scripts or templates went over their limits too often to be tried again, so that no run hangs.

    Some bad outputs among many do not lose the verdicts on the others; a thousand different scripts that hang do not
    take a thousand times the limit. Safe to share between threads.
    """

    def __init__(self, shared: ProcessStrikes | None = None) -> None:
        self._tries: Counter[object] = Counter()
        self._overruns: Counter[object] = Counter()
        self._shared = shared or PROCESS_STRIKES

    def struck_out(self, name: object) -> bool:
        """Whether it is not to be tried any more."""
        overruns, tries = self._overruns[name], self._tries[name]
        if overruns == tries and self._shared.exhausted():
            return True
        return overruns >= OVERRUNS + tries // TRIES_PER_OVERRUN

    def record(self, name: object, overran: bool) -> None:
        """Count a try."""
        self._tries[name] += 1
        if overran:
            self._overruns[name] += 1
            self._shared.add()
