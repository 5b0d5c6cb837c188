"""Intervals for one proportion, and the form in which this package returns every interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from promptpex.stats.argument_checks import require_counts, require_share
from promptpex.stats.special import beta_quantile


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the range that the data leave open.

    Attributes:
        estimate: the point estimate; ``None`` when there is nothing to estimate from.
        low: lower end.
        high: upper end.
        confidence: the coverage it was made for, such as 0.95.
        n: the number of observations behind it.
        method: how it was made, in one or two words, for tables and footnotes.
    """

    estimate: float | None
    low: float
    high: float
    confidence: float
    n: int
    method: str

    @property
    def width(self) -> float:
        """``high - low``."""
        return self.high - self.low


def score_bounds(share: float, n: float, z: float) -> tuple[float, float]:
    """The two ends of Wilson's score interval for a share, any effective sample size ``n`` > 0 and a quantile ``z``.

    Wilson 1927; Newcombe 1998, Stat. Med. 17:857, method 3: good coverage on average from n = 5 on, never of width
    zero, never outside [0, 1].
    """
    z2 = z * z
    centre = share + z2 / (2.0 * n)
    spread = z * math.sqrt(max(0.0, share * (1.0 - share) / n + z2 / (4.0 * n * n)))
    scale = 1.0 + z2 / n
    low = 0.0 if share <= 0.0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if share >= 1.0 else min(1.0, (centre + spread) / scale)
    return min(low, share), max(high, share)


@lru_cache(maxsize=4096)
def exact_bounds(share: float, size: float, confidence: float = 0.95) -> tuple[float, float]:
    """The two ends of the exact interval for a share of ``size`` > 0 independent cases (Clopper and Pearson 1934,
    Biometrika 26:404): coverage is never below ``confidence``, at any size and any true share.

    Neither has to be whole: the ends are beta quantiles (Korn and Graubard 1998, Survey Methodology 24:193).
    """
    require_share("confidence", confidence)
    tail, hits = (1.0 - confidence) / 2.0, share * size
    low = 0.0 if share <= 0.0 else beta_quantile(tail, hits, size - hits + 1.0)
    high = 1.0 if share >= 1.0 else beta_quantile(1.0 - tail, hits + 1.0, size - hits)
    return min(low, share), max(high, share)


MOST_CASES = 100_000
"""Cases beyond which no number is named."""


def cases_to_tell(cases: int, share: float, end: float, limit: float, confidence: float = 0.95) -> int | None:
    """How many cases bring the ``end`` of a share's interval to the ``limit``, if the share and what repeats are worth
    stay as they are; None where no number does, or one that nobody would run.

    Args:
        cases: how many there are now.
        share, limit: two different shares; ``end`` is beyond the limit, seen from the share.
        confidence: of the interval.
    """
    if share == limit:
        return None
    now, wanted = (_size_to_reach(share, one, confidence) for one in (end, limit))
    count = math.ceil(cases * wanted / now)
    return count if wanted < MOST_CASES and count < MOST_CASES else None


def _size_to_reach(share: float, end: float, confidence: float) -> int:
    """The fewest independent cases of which the exact interval around a share does not go beyond an end."""
    low, high = 1, MOST_CASES
    while low < high:
        middle = (low + high) // 2
        ends = exact_bounds(share, middle, confidence)
        low, high = (low, middle) if (ends[1] <= end if end > share else ends[0] >= end) else (middle + 1, high)
    return low


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """The exact interval for a proportion, `exact_bounds` of counts. With n = 0 it is (0, 1)."""
    require_counts(successes, n)
    require_share("confidence", confidence)
    if n == 0:
        return Interval(None, 0.0, 1.0, confidence, 0, "exact")
    share = successes / n
    low, high = exact_bounds(share, n, confidence)
    return Interval(share, low, high, confidence, n, "exact")


def difference_of_intervals(first: Interval, second: Interval, *, correlation: float = 0.0) -> Interval:
    """The first share minus the second, from the interval of each, however that was made (MOVER: Zou and Donner 2008,
    Stat. Med. 27:1693, section 2; for estimates that are correlated Zou 2007, Psychol. Methods 12:399, equation 15).

    (-1, 1) without an estimate where one of them has none. Both have the same confidence, which the difference keeps.

    Args:
        correlation: of the two estimates; 0 for independent groups.
    """
    n, p, q = first.n + second.n, first.estimate, second.estimate
    if p is None or q is None:
        return Interval(None, -1.0, 1.0, first.confidence, n, "mover")
    low = (p - q) - _joint_reach(p - first.low, second.high - q, correlation)
    high = (p - q) + _joint_reach(first.high - p, q - second.low, correlation)
    return Interval(p - q, max(-1.0, low), min(1.0, high), first.confidence, n, "mover")


def _joint_reach(first: float, second: float, correlation: float) -> float:
    return math.sqrt(max(0.0, first**2 + second**2 - 2.0 * correlation * first * second))
