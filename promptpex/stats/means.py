"""An interval for the mean of values between 0 and 1, such as how often each case flips, or a score of each case."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

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
    _require_ranges(values, values)
    if not values:
        return Interval(None, 0.0, 1.0, confidence, 0, "mean")
    weights = [1.0] * len(values)
    low, high = _ends(values, values, weights, confidence)
    return Interval(_mean(values, weights), low, high, confidence, len(values), "mean")


def open_mean_interval(
    lows: Sequence[float], highs: Sequence[float], confidence: float = 0.95, *, weights: Sequence[int] | None = None
) -> Interval:
    """The mean of independent values in [0, 1] that are known as ranges, with an interval to rest claims on.

    Each end is that of ``mean_interval`` with one value more, 0 for the lower and 1 for the upper end, as the exact
    interval of a share has it (the ends of Clopper and Pearson 1934 are quantiles of beta distributions with means
    k/(n+1) and (k+1)/(n+1)): a few bad values among many good ones are often not among those that were drawn, and their
    variance is then no guide. The interval holds that of every way in which the values can come out: it goes from the
    mean of all lower to the mean of all upper ends, at the least sample size that values within the ranges are worth.
    The estimate is the mean where nothing is open, else None. (0, 1) of no values.

    Args:
        lows, highs: the ends of each value's range.
        weights: how many times each value counts, 1 or more; 1 each by default. Equal values are worth what Kish's
            effective size says (Kish 1965, Survey Sampling).

    Raises:
        InputError: an end lies outside [0, 1], a range is turned round, or a weight is not 1 or more.
    """
    require_share("confidence", confidence)
    _require_ranges(lows, highs)
    n, weight_of_each = len(lows), [1] * len(lows) if weights is None else weights
    if len(weight_of_each) != n or any(weight < 1 for weight in weight_of_each):
        raise InputError("A weight lies below 1: leave out what does not count.")
    if n == 0:
        return Interval(None, 0.0, 1.0, confidence, 0, "mean")
    one_more = [*weight_of_each, sum(weight_of_each) / n]
    low, _ = _ends([*lows, 0.0], [*highs, 0.0], one_more, confidence)
    _, high = _ends([*lows, 1.0], [*highs, 1.0], one_more, confidence)
    least, most = _mean(lows, weight_of_each), _mean(highs, weight_of_each)
    return Interval(least if least == most else None, low, high, confidence, n, "mean")


def _require_ranges(lows: Sequence[float], highs: Sequence[float]) -> None:
    if any(not 0.0 <= low <= high <= 1.0 for low, high in zip(lows, highs, strict=True)):
        raise InputError("A value lies outside 0 to 1: give shares.")


def _ends(
    lows: Sequence[float], highs: Sequence[float], weights: Sequence[float], confidence: float
) -> tuple[float, float]:
    means = _mean(lows, weights), _mean(highs, weights)
    size, z = _effective_size(lows, highs, weights, means, confidence), two_sided_z(confidence)
    return score_bounds(means[0], size, z)[0], score_bounds(means[1], size, z)[1]


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = fsum(weight * value for weight, value in zip(weights, values, strict=True))
    return min(1.0, total / sum(weights))


def _effective_size(
    lows: Sequence[float],
    highs: Sequence[float],
    weights: Sequence[float],
    means: tuple[float, float],
    confidence: float,
) -> float:
    """How many independent 0/1 observations any values within the ranges are worth at least."""
    n, total = len(lows), sum(weights)
    equal = total**2 / sum(weight**2 for weight in weights)
    # No value lies farther from the mean than this, wherever both come to lie.
    max_distances = [max(high - means[0], means[1] - low) for low, high in zip(lows, highs, strict=True)]
    squares = sum((weight * distance) ** 2 for weight, distance in zip(weights, max_distances, strict=True))
    variance = squares / total**2 * n / max(1, n - 1)
    # Squares of differences that a float does not hold are 0 though the values differ.
    if variance == 0.0 or n == 1:
        return equal
    small_sample_factor = (two_sided_z(confidence) / two_sided_t(confidence, n - 1)) ** 2
    least = min(mean * (1.0 - mean) for mean in means)
    # Values between 0 and 1 are never worth less than 0s and 1s of the same mean.
    size = max(least / variance, total * (n - 1) / (max(weights) * n)) * small_sample_factor
    return min(size, equal) if max(lows) <= min(highs) else size
