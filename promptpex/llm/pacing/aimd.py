"""How many requests one server bears at a time: additive increase, multiplicative decrease.

One more in flight after each full round of answers; half as many after a refusal for rate, or when a round took a
multiple of what rounds took before (Chiu and Jain 1989; the rule of TCP's congestion avoidance). A server that begins
low, since it computes on one machine, is given more only while that raises its throughput.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable

LATENCY_RISE = 4.0
"""A round whose latency is so many times the usual one halves what is in flight; less is within what requests
differ by."""

MIN_ROUND_ANSWERS = 8
"""Answers that a round needs for its latency to count: the median of fewer is chance."""

LATEST_WEIGHT = 0.3
"""Weight of the latest round in the usual latency; a convention: about the last five rounds are remembered."""

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
        self._round: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._answers = 0
        self._round_began = clock()
        self._usual: dict[tuple[str, str], float] = {}
        self._best: tuple[float, int] = (0.0, self.allowed)
        self._held = 0

    def answered(self, latency_s: float, kind: tuple[str, str]) -> None:
        """A request was answered; ``kind`` tells apart requests whose latencies are not alike."""
        self._pause_s = FIRST_PAUSE_S
        self._round[kind].append(latency_s)
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
        elif self._risen():
            self._halve()
            self._usual.clear()
        else:
            self.allowed = min(self._cap, self.allowed + 1)
        self._begin_round()

    def _risen(self) -> bool:
        """Whether this round was much slower than the rounds before; they are remembered on the way."""
        ratios: list[float] = []
        for kind, latencies in self._round.items():
            middle = statistics.median(latencies)
            usual = self._usual.get(kind, middle)
            ratios += [latency / usual for latency in latencies if usual > 0]
            self._usual[kind] = usual + LATEST_WEIGHT * (middle - usual)
        return len(ratios) >= MIN_ROUND_ANSWERS and self.allowed > 1 and statistics.median(ratios) > LATENCY_RISE

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
        self._round.clear()
        self._answers = 0
        self._round_began = self._clock()
