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
    """Seconds for many pieces of work together, one after the other.

    Args:
        seconds: what there is at the start.
        each: what every piece of work adds.
        clock: seconds on a clock that does not jump.
    """

    __slots__ = ("_began", "_clock", "_depth", "_spent", "each", "seconds")

    def __init__(self, seconds: float, each: float = EACH_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.each, self._clock = each, clock
        self._spent = self._began = 0.0
        self._depth = 0

    @property
    def used_up(self) -> bool:
        """Whether nothing is left, what the piece under way has taken included."""
        running = self._clock() - self._began if self._depth else 0.0
        return self._spent + running >= self.seconds

    def begin(self, each: float | None = None) -> None:
        """Begin a piece of work. One inside of another adds to the allowance; its seconds are the outer one's.

        Args:
            each: what this piece adds; None = as much as every other.
        """
        self.seconds += self.each if each is None else each
        if not self._depth:
            self._began = self._clock()
        self._depth += 1

    def end(self) -> None:
        """End the piece of work that was begun last."""
        self._depth -= 1
        if not self._depth:
            self._spent += self._clock() - self._began

    @contextmanager
    def piece(self) -> Iterator[None]:
        """A piece of work from its beginning to its end."""
        self.begin()
        try:
            yield
        finally:
            self.end()
