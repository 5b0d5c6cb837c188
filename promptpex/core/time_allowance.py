"""How long the work that other people's files ask for may take in one command.

A limit on each piece of work bounds that piece; a thousand pieces just under it would still hang a command. So the
seconds of all of them are added up, and held against an allowance that grows a little with every piece.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EACH_SECONDS = 0.1
"""What every piece of work adds to an allowance."""


class Allowance:
    """Seconds for many pieces of work together, one after the other."""

    __slots__ = ("_began", "_clock", "_depth", "_spent", "each", "seconds")

    def __init__(self, seconds: float, each: float = EACH_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.each, self._clock = each, clock
        self._spent = self._began = 0.0
        self._depth = 0

    @property
    def used_up(self) -> bool:
        running = self._clock() - self._began if self._depth else 0.0
        return self._spent + running >= self.seconds

    def begin(self, each: float | None = None) -> None:
        """Begin a piece of work. One inside of another adds to the allowance; its seconds are the outer one's."""
        self.seconds += self.each if each is None else each
        if not self._depth:
            self._began = self._clock()
        self._depth += 1

    def end(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._spent += self._clock() - self._began

    @contextmanager
    def piece(self) -> Iterator[None]:
        self.begin()
        try:
            yield
        finally:
            self.end()
