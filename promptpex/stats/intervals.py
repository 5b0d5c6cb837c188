"""Intervals for one proportion, and the shape in which every interval of this room comes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from promptpex.stats.arguments import require_counts, require_share
from promptpex.stats.special import beta_quantile, two_sided_z


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

    def contains(self, value: float) -> bool:
        """Whether ``value`` is among the values that the data leave open."""
        return self.low <= value <= self.high


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion (Wilson 1927; Newcombe 1998, Stat. Med. 17:857, method 3).

    The interval for tables: good coverage on average from n = 5 on, never of width zero, never outside
    [0, 1]. With n = 0 it is (0, 1).
    """
    require_counts(successes, n)
    require_share("confidence", confidence)
    if n == 0:
        return Interval(None, 0.0, 1.0, confidence, 0, "wilson")
    share = successes / n
    low, high = score_bounds(share, n, two_sided_z(confidence))
    return Interval(share, low, high, confidence, n, "wilson")


def score_bounds(share: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's two ends for a share, any effective sample size ``n`` > 0 and a quantile ``z``."""
    z2 = z * z
    centre = share + z2 / (2.0 * n)
    spread = z * math.sqrt(max(0.0, share * (1.0 - share) / n + z2 / (4.0 * n * n)))
    scale = 1.0 + z2 / n
    low = 0.0 if share <= 0.0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if share >= 1.0 else min(1.0, (centre + spread) / scale)
    return min(low, share), max(high, share)


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """The exact interval for a proportion (Clopper and Pearson 1934, Biometrika 26:404).

    Coverage is never below ``confidence`` at any n, so it is the one for gates; it is wider than Wilson's.
    With n = 0 it is (0, 1).
    """
    require_counts(successes, n)
    require_share("confidence", confidence)
    if n == 0:
        return Interval(None, 0.0, 1.0, confidence, 0, "clopper-pearson")
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if successes == 0 else beta_quantile(tail, successes, n - successes + 1)
    high = 1.0 if successes == n else beta_quantile(1.0 - tail, successes + 1, n - successes)
    return Interval(successes / n, low, high, confidence, n, "clopper-pearson")
