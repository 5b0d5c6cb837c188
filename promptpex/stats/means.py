"""An interval for the mean of values between 0 and 1, such as how often each case flips."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_share
from promptpex.stats.intervals import Interval, score_bounds
from promptpex.stats.special import two_sided_t, two_sided_z


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """The mean of independent values in [0, 1] with its interval.

    The variance of the values gives the sample size that 0/1 observations of the same precision would have; Student's t
    with n-1 degrees of freedom corrects that for few values; and the interval is Wilson's at that size (Korn and
    Graubard 1998, Survey Methodology 24:193, with the score interval that Franco et al. 2019, J. Surv. Stat. Methodol.
    7:334 found best). So it stays within [0, 1] and never has width zero: where all values are equal they count as one
    observation each. (0, 1) of no values.

    Raises:
        InputError: a value lies outside [0, 1].
    """
    require_share("confidence", confidence)
    if any(not 0.0 <= value <= 1.0 for value in values):
        raise InputError("A value lies outside 0 to 1: give shares.")
    n = len(values)
    if n == 0:
        return Interval(None, 0.0, 1.0, confidence, 0, "mean")
    mean = min(1.0, sum(values) / n)
    low, high = score_bounds(mean, _effective_size(values, mean, confidence), two_sided_z(confidence))
    return Interval(mean, low, high, confidence, n, "mean")


def _effective_size(values: Sequence[float], mean: float, confidence: float) -> float:
    """How many independent 0/1 observations the values are worth."""
    n, squares = len(values), sum((value - mean) ** 2 for value in values)
    # Squares of differences that a float does not hold are 0 though the values differ.
    if min(values) == max(values) or squares == 0.0:
        return float(n)
    variance = squares / (n - 1) / n
    few = two_sided_z(confidence) / two_sided_t(confidence, n - 1)
    return max(mean * (1.0 - mean) / variance * few**2, 1e-9)
