"""How often a pattern, a script or a template may go over its limits before it is not tried any more."""

from __future__ import annotations

from collections import Counter
from typing import Any

OVERRUNS, TRIES_PER_OVERRUN = 3, 50
"""A pattern, a script or a template may go over its limits so often, and once more for so many tries, before it is given up."""


class Patience:
    """Which patterns, scripts or templates went over their limits too often to be tried again, so that no run hangs.

    Some bad outputs among many do not lose the verdicts on the others. Safe to share between threads.
    """

    def __init__(self) -> None:
        self._tries: Counter[Any] = Counter()
        self._overruns: Counter[Any] = Counter()

    def lost(self, name: Any) -> bool:
        """Whether it is not to be tried any more."""
        return self._overruns[name] >= OVERRUNS + self._tries[name] // TRIES_PER_OVERRUN

    def tell(self, name: Any, overran: bool) -> None:
        """Count a try."""
        self._tries[name] += 1
        self._overruns[name] += overran
