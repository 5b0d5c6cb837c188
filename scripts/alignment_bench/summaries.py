"""Means over worlds and seeds, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from promptpex.stats.special import two_sided_t


@dataclass(frozen=True, slots=True)
class Summary:
    """A mean over kinds of worlds, all alike in weight, whose seeds are a sample.

    Attributes:
        low, high: the 95% interval of the mean (Student's t over the seeds within each kind).
        spread: the standard deviation over the seeds of a kind, averaged over the kinds.
    """

    mean: float
    low: float
    high: float
    spread: float

    def text(self) -> str:
        """As in a table: the mean with its interval."""
        return f"{_two(self.mean)} ({_two(self.low)} to {_two(self.high)})"

    def signed(self) -> str:
        """As a difference."""
        return f"{_two(self.mean, '+')} ({_two(self.low, '+')} to {_two(self.high, '+')})"


def _two(value: float, sign: str = "") -> str:
    """Two decimals; what rounds to nothing is not below it."""
    return f"{round(value, 2) + 0.0:{sign}.2f}"


def summary(kinds: Sequence[Sequence[float]]) -> Summary:
    """Of values by kind and seed; each kind has two seeds or more."""
    centre = mean(mean(values) for values in kinds)
    variance = sum(stdev(values) ** 2 / len(values) for values in kinds) / len(kinds) ** 2
    reach = two_sided_t(0.95, sum(len(values) - 1 for values in kinds)) * math.sqrt(variance)
    return Summary(centre, centre - reach, centre + reach, mean(map(stdev, kinds)))


def differences(kinds: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> list[list[float]]:
    """Value by value, in pairs of the same kind and seed."""
    return [[a - b for a, b in zip(one, other, strict=True)] for one, other in zip(kinds, others, strict=True)]
