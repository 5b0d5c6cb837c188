"""Two shares of different cases: the interval of their difference, and Fisher's exact test."""

from __future__ import annotations

import math

from promptpex.stats.arguments import require_counts, require_share
from promptpex.stats.intervals import Interval, wilson


def difference_of_shares(first: int, n: int, second: int, m: int, confidence: float = 0.95) -> Interval:
    """Share of the first minus share of the second, for independent groups (Newcombe 1998, Stat. Med. 17:873,
    method 10).

    Wilson intervals of both, their distances squared and added. Never of width zero; (-1, 1) where a group is empty.
    """
    require_counts(first, n)
    require_counts(second, m)
    require_share("confidence", confidence)
    if n == 0 or m == 0:
        return Interval(None, -1.0, 1.0, confidence, n + m, "newcombe")
    a, b = wilson(first, n, confidence), wilson(second, m, confidence)
    p, q = first / n, second / m
    low = (p - q) - math.hypot(p - a.low, b.high - q)
    high = (p - q) + math.hypot(a.high - p, q - b.low)
    return Interval(p - q, max(-1.0, low), min(1.0, high), confidence, n + m, "newcombe")


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
