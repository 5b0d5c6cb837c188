"""Two models, or two versions of a prompt, on the same cases: Tango's score of their difference, and its interval."""

from __future__ import annotations

import math

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_share
from promptpex.stats.intervals import Interval
from promptpex.stats.special import crossing, two_sided_t, two_sided_z


def paired_score(first_only: float, second_only: float, n: float, difference: float) -> float:
    """The score statistic that the true difference is ``difference`` (Tango 1998, Stat. Med. 17:891, eq. 3).

    Standard normal under the hypothesis; positive when the observed difference is larger. Infinite when the
    hypothesis leaves the observation no room (``difference`` = 1 or -1 and the data say otherwise).

    Args:
        first_only: pairs on which only the first passes; a fraction where a case speaks for a part of a pair.
        second_only: pairs on which only the second passes.
        n: all pairs, more than 0.
        difference: the hypothetical share of passes of the first minus that of the second.
    """
    distance = first_only - second_only - n * difference
    if distance == 0:
        return 0.0
    _, q = restricted_shares(first_only, second_only, n, difference)
    variance = n * (2.0 * q + difference * (1.0 - difference))
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance)


def restricted_shares(b: float, c: float, n: float, difference: float) -> tuple[float, float]:
    """The likeliest shares of first-only and second-only when they must differ by ``difference``.

    The larger root of the quadratic of Tango 1998 (Stat. Med. 17:891, section 2).
    """
    linear = -b - c + (2.0 * n - b + c) * difference
    constant = -c * difference * (1.0 - difference)
    root = math.sqrt(max(0.0, linear * linear - 8.0 * n * constant))
    # Of the two forms of the larger root, the one that does not subtract nearly equal numbers.
    q = (root - linear) / (4.0 * n) if linear <= 0 else -2.0 * constant / (root + linear)
    q = min(max(q, 0.0, -difference), (1.0 - difference) / 2.0)
    return q + difference, q


def tango_interval(
    first_only: float, second_only: float, n: float, confidence: float = 0.95, *, df: float | None = None
) -> Interval:
    """The difference of shares, first minus second, by inverting Tango's score test (Tango 1998).

    Agrees with `non_inferiority_p` where that goes by the score. Never of width zero. (-1, 1) without pairs.

    Args:
        first_only: pairs on which only the first passes; a fraction where a case speaks for a part of a pair.
        second_only: pairs on which only the second passes.
        n: all pairs; the interval's own ``n`` is the whole ones.
        confidence: two-sided coverage.
        df: degrees of freedom of Student's quantile, which is wider where pairs are few; None: the normal one.
    """
    require_share("confidence", confidence)
    require_pairs(first_only, second_only, n)
    if n == 0:
        return Interval(None, -1.0, 1.0, confidence, 0, "tango")
    quantile = two_sided_z(confidence) if df is None else two_sided_t(confidence, df)
    d = (first_only - second_only) / n

    def above(difference: float) -> float:
        return paired_score(first_only, second_only, n, difference)

    low = -1.0 if d <= -1.0 else crossing(lambda x: above(x) - quantile, -1.0, d)
    high = 1.0 if d >= 1.0 else crossing(lambda x: above(x) + quantile, d, 1.0)
    return Interval(d, low, high, confidence, math.floor(n + 1e-9), "tango")


def require_pairs(first_only: float, second_only: float, n: float) -> None:
    """Raise InputError unless both counts are 0 or more and together at most ``n``."""
    if min(first_only, second_only) < 0.0 or not first_only + second_only <= n + 1e-9 < math.inf:
        raise InputError(
            f"{first_only} and {second_only} pairs that differ among {n} are impossible: give counts of 0 or more that "
            "add up to at most n."
        )
