"""How many requests one server bears at a time: additive increase, multiplicative decrease.

One more in flight after each full round of answers; half as many after a refusal for rate (Chiu and Jain 1989; the rule
of TCP's congestion avoidance). A server that begins low, since it computes on one machine, is given more only while
that raises its throughput.
"""

from __future__ import annotations

from collections.abc import Callable

MIN_GAIN = 1.1
"""Throughput must grow by this factor for one more in flight to be kept on a server that begins low;
less is within what one round differs from the next."""

HELD_ROUNDS = 10
"""Rounds for which such a server stays at what was best, before one more is tried: a trial costs one slow round."""

FIRST_PAUSE_S = 0.5
"""Pause after a refusal that names no time; doubled for each further round of refusals. A convention, as is that of
retries."""

MAX_PAUSE_S = 30.0
"""Half of the minute over which providers count rates."""


class ConcurrencyController:
    """The controller of one server.

    Args:
        cap: most requests in flight.
        start: how many to begin with; None = the cap.
        clock: seconds, monotonic.

    Attributes:
        allowed: requests that may be in flight now.
        not_before: no request is sent before this time of the clock.
    """

    def __init__(self, cap: int, start: int | None, clock: Callable[[], float]) -> None:
        self.allowed = min(cap, start or cap)
        self.not_before = float("-inf")
        self._cap = cap
        self._climbs = start is not None
        self._clock = clock
        self._pause_s = FIRST_PAUSE_S
        self._decreased = float("-inf")
        self._answers = 0
        self._round_began = clock()
        self._best: tuple[float, int] = (0.0, self.allowed)
        self._held = 0

    def answered(self) -> None:
        """A request was answered."""
        self._pause_s = FIRST_PAUSE_S
        self._answers += 1
        if self._answers >= self.allowed:
            self._end_round()

    def refused(self, started: float, retry_after: float | None) -> None:
        """A request sent at ``started`` was refused for rate; one decrease per round, whatever its size."""
        now = self._clock()
        wait = retry_after or 0.0
        if started >= self._decreased:
            wait = retry_after if retry_after is not None else self._pause_s
            self._pause_s = min(MAX_PAUSE_S, self._pause_s * 2)
            self._halve()
        self.not_before = max(self.not_before, now + wait)

    def _end_round(self) -> None:
        if self._climbs:
            self._climb()
        else:
            self.allowed = min(self._cap, self.allowed + 1)
        self._begin_round()

    def _climb(self) -> None:
        throughput = self._answers / max(1e-9, self._clock() - self._round_began)
        best, at = self._best
        self._held = max(0, self._held - 1)
        if self.allowed > at and throughput < best * MIN_GAIN:
            self.allowed, self._held = at, HELD_ROUNDS
        elif not self._held:
            self._best = (throughput, self.allowed)
            self.allowed = min(self._cap, self.allowed + 1)

    def _halve(self) -> None:
        self.allowed = max(1, self.allowed // 2)
        self._decreased = self._clock()
        self._best = (0.0, self.allowed)
        self._begin_round()

    def _begin_round(self) -> None:
        self._answers = 0
        self._round_began = self._clock()
