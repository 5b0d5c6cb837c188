"""Sliding windows: so much within any minute, exactly."""

from __future__ import annotations

from collections import deque


class Window:
    """Keeps what was spent within the last ``length_s`` seconds at or under ``limit`` (None = no limit)."""

    def __init__(self, limit: int | None, length_s: float) -> None:
        self._limit = limit
        self._length_s = length_s
        self._spent: deque[tuple[float, int]] = deque()
        self._sum = 0

    def add(self, now: float, amount: int) -> None:
        """Spends ``amount``."""
        if self._limit is not None:
            self._spent.append((now, amount))
            self._sum += amount

    def correct(self, now: float, difference: int) -> None:
        """Adds to what was spent, once the true amount is known; it leaves the window with what comes next."""
        if self._limit is not None and difference:
            self._spent.append((self._spent[-1][0] if self._spent else now, difference))
            self._sum += difference

    def wait_s(self, now: float, amount: int) -> float:
        """Seconds until ``amount`` may be spent; one that is larger than the limit may when the window is empty."""
        if self._limit is None:
            return 0.0
        self._forget(now)
        if not self._spent or self._sum + amount <= self._limit:
            return 0.0
        left = self._sum
        for at, spent in self._spent:
            left -= spent
            if left + amount <= self._limit:
                return at + self._length_s - now
        return self._spent[-1][0] + self._length_s - now

    def _forget(self, now: float) -> None:
        while self._spent and self._spent[0][0] <= now - self._length_s:
            self._sum -= self._spent.popleft()[1]
