"""What results are held against: Wilson's interval, and whether an interval covers a value."""

from __future__ import annotations

from promptpex.stats import Interval
from promptpex.stats.argument_checks import require_counts, require_share
from promptpex.stats.intervals import score_bounds
from promptpex.stats.special import two_sided_z


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion of ``n`` independent trials."""
    require_counts(successes, n)
    require_share("confidence", confidence)
    if n == 0:
        return Interval(None, 0.0, 1.0, confidence, 0, "wilson")
    low, high = score_bounds(successes / n, n, two_sided_z(confidence))
    return Interval(successes / n, low, high, confidence, n, "wilson")


def covers(interval: Interval, value: float) -> bool:
    """Whether a value is among those that the data leave open."""
    return interval.low <= value <= interval.high
