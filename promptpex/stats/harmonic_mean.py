"""The harmonic mean of two shares, with an interval from those of the two."""

from __future__ import annotations

import math

from promptpex.stats.intervals import Interval


def harmonic_mean(first: Interval, second: Interval) -> Interval:
    """2ab / (a + b) of two shares of independent groups, from the interval of each, however that was made.

    Its reciprocal is the mean of the two reciprocals, so that the ends are those of a linear combination (MOVER: Zou
    and Donner 2008, Stat. Med. 27:1693, section 2). From exact intervals of 95% it made ones that held in 95.5% of the
    simulated samples or more, with 5 to 21 observations of one group and 10 to 40 of the other
    (``scripts/simulate_choice.py``).

    The estimate is None where that of a share is, or where both are 0. Both have the same confidence, which the mean
    keeps; ``n`` is that of both together.
    """
    n, a, b = first.n + second.n, first.estimate, second.estimate
    if a is None or b is None or a + b == 0.0:
        return Interval(None, 0.0, 1.0, first.confidence, n, "undefined")
    if a == 0.0 or b == 0.0:
        return Interval(0.0, 0.0, _mean(first.high, second.high), first.confidence, n, "mover")
    middle = (1.0 / a + 1.0 / b) / 2.0
    most = middle + math.hypot(_reciprocal(first.low) - 1.0 / a, _reciprocal(second.low) - 1.0 / b) / 2.0
    least = middle - math.hypot(1.0 / a - 1.0 / first.high, 1.0 / b - 1.0 / second.high) / 2.0
    return Interval(1.0 / middle, 1.0 / most, min(1.0, 1.0 / least), first.confidence, n, "mover")


def _mean(a: float, b: float) -> float:
    return 2.0 * a * b / (a + b) if a + b else 0.0


def _reciprocal(share: float) -> float:
    return 1.0 / share if share > 0.0 else math.inf
