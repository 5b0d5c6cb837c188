"""Two shares of different cases: the interval of their difference, and Fisher's exact test."""

from __future__ import annotations

import math

from promptpex.stats.arguments import require_counts
from promptpex.stats.intervals import Interval


def difference_of_intervals(first: Interval, second: Interval) -> Interval:
    """The first share minus the second, of independent groups, from the interval of each, however that was made (MOVER:
    Zou and Donner 2008, Stat. Med. 27:1693, section 2).

    (-1, 1) without an estimate where one of them has none. Both have the same confidence, which the difference keeps.
    """
    n, p, q = first.n + second.n, first.estimate, second.estimate
    if p is None or q is None:
        return Interval(None, -1.0, 1.0, first.confidence, n, "mover")
    low = (p - q) - math.hypot(p - first.low, second.high - q)
    high = (p - q) + math.hypot(first.high - p, q - second.low)
    return Interval(p - q, max(-1.0, low), min(1.0, high), first.confidence, n, "mover")


def fisher_exact(first: int, n: int, second: int, m: int) -> float:
    """The two-sided p-value that both groups share one rate: the mass of all tables no likelier than this one
    (Fisher 1935). 1 where a group is empty."""
    require_counts(first, n)
    require_counts(second, m)
    hits = first + second
    low, high = max(0, hits - m), min(n, hits)
    weights = [_log_choose(n, k) + _log_choose(m, hits - k) for k in range(low, high + 1)]
    top = max(weights)
    masses = [math.exp(weight - top) for weight in weights]
    observed = masses[first - low]
    return min(1.0, sum(mass for mass in masses if mass <= observed * (1 + 1e-9)) / sum(masses))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
