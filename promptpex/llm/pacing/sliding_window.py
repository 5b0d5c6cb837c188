"""How much was spent within the last minute: the limits ``rpm`` and ``tpm``."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(slots=True)
class Charge:
    """An amount that was spent at a time; kept or corrected by the window that gave it."""

    at: float
    amount: int


class SlidingWindow:
    """Keeps what was spent within the last ``length_s`` seconds at or under ``limit`` (None = no limit).

    It is kept exactly as long as no amount turns out to be larger than what was set aside for it.
    """

    def __init__(self, limit: int | None, length_s: float) -> None:
        self._limit = limit
        self._length_s = length_s
        self._spent: deque[Charge] = deque()
        self._sum = 0

    def add(self, now: float, amount: int) -> Charge:
        """Spends ``amount``."""
        spent = Charge(now, amount)
        if self._limit is not None:
            self._spent.append(spent)
            self._sum += amount
        return spent

    def correct(self, spent: Charge, amount: int, now: float) -> None:
        """Puts the true amount in the place of what was set aside. Once that has left the window, only what was spent
        beyond it is added, as of now."""
        if self._limit is None:
            return
        self._forget(now)
        more, spent.amount = amount - spent.amount, amount
        if self._spent and spent.at >= self._spent[0].at:
            self._sum += more
        elif more > 0:
            self.add(now, more)

    def wait_s(self, now: float, amount: int) -> float:
        """Seconds until ``amount`` may be spent; one that is larger than the limit may when the window is empty."""
        if self._limit is None:
            return 0.0
        self._forget(now)
        if not self._spent or self._sum + amount <= self._limit:
            return 0.0
        left = self._sum
        for spent in self._spent:
            left -= spent.amount
            if left + amount <= self._limit:
                return spent.at + self._length_s - now
        return self._spent[-1].at + self._length_s - now

    def _forget(self, now: float) -> None:
        while self._spent and self._spent[0].at <= now - self._length_s:
            self._sum -= self._spent.popleft().amount
