"""A circuit breaker per server and model: one that is down costs one wait, not attempts times requests.

Closed, requests pass. After several failures in a row it opens: everyone waits, and one request at a time is let
through as a probe. A probe that succeeds closes it. When no probe has succeeded within the longest wait,
the server counts as dead: requests fail at once, but for a probe now and then.
"""

from __future__ import annotations

from collections.abc import Callable

from promptpex.llm.pacing.cancellation import Changes

FAILURES_TO_OPEN = 5
"""Failures in a row, with no answer between them, that open the breaker: as many as one request has attempts."""

FIRST_PROBE_BACKOFF_S = 0.5
"""Seconds from opening to the first probe; doubled after each failed one. A convention, as is that of retries."""

MAX_PROBE_BACKOFF_S = 10.0
"""So that a server which is back is found within a third of ``MAX_WAIT_S``."""

MAX_WAIT_S = 30.0
"""Seconds for which requests wait for a server that has answered before: time to restart it."""

MAX_FIRST_WAIT_S = 6.0
"""The same for a server that never answered: most likely its address is wrong."""


class Breaker:
    """The state of one model at its server."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._answered = False
        self._down_since: float | None = None
        self._backoff_s = FIRST_PROBE_BACKOFF_S
        self._next_probe = 0.0
        self._probing = False
        self._changes = Changes()

    @property
    def open(self) -> bool:
        return self._down_since is not None

    @property
    def dead(self) -> bool:
        return self._down_since is not None and self._clock() >= self.dies_at

    def wake(self) -> None:
        self._changes.announce()

    async def admit(self, check: Callable[[], None]) -> bool:
        """Waits until a request may be sent; False when the server is dead. ``check`` may raise, at every look."""
        while self.open:
            check()
            if self._take_probe():
                return True
            if self.dead:
                return False
            await self._wait()
        return True

    def _take_probe(self) -> bool:
        """Whether a probe is due, which then is the caller's to send."""
        due = self.open and not self._probing and self._clock() >= self._next_probe
        self._probing = self._probing or due
        return due

    def succeeded(self) -> None:
        """The server answered."""
        self._answered = True
        self._failures = 0
        self._probing = False
        if self.open:
            self._down_since = None
            self._backoff_s = FIRST_PROBE_BACKOFF_S
            self.wake()

    def failed(self) -> None:
        """The server could not be reached, or broke off."""
        self._failures += 1
        was_probe, self._probing = self._probing, False
        if not self.open and self._failures >= FAILURES_TO_OPEN:
            self._down_since = self._clock()
            self._next_probe = self._clock() + self._backoff_s
        elif self.open and was_probe:
            self._backoff_s = min(MAX_PROBE_BACKOFF_S, self._backoff_s * 2)
            self._next_probe = self._clock() + self._backoff_s
            self.wake()

    def inconclusive(self) -> None:
        if self._probing:
            self._probing = False
            self.wake()

    async def _wait(self) -> None:
        next_look = self.dies_at if self._probing else min(self._next_probe, self.dies_at)
        await self._changes.wait(max(0.01, next_look - self._clock()))

    @property
    def dies_at(self) -> float:
        wait = MAX_WAIT_S if self._answered else MAX_FIRST_WAIT_S
        return (self._down_since or 0.0) + wait
