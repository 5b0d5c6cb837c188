"""A share of 0/1 observations that are correlated within clusters: the exact interval at their effective size."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.stats.argument_checks import filled_clusters, require_share
from promptpex.stats.intervals import Interval, exact_bounds
from promptpex.stats.special import two_sided_t


def korn_graubard(
    totals: Sequence[int], sizes: Sequence[int], confidence: float = 0.95, *, worth: float = 1.0
) -> Interval:
    """The share of ones with an interval that knows of clusters, for shares near 0 or 1 as well.

    Clopper and Pearson's interval at the effective size (Korn and Graubard 1998, Survey Methodology 24:193): the
    linearised variance between clusters says how many independent observations the data are worth, and Student's t
    with k-1 degrees of freedom pays for knowing that from k clusters only.

    Two departures, since with few zeros, or few ones, that variance is seen too small:

    - The correlation within clusters, which is the variance in other words, is pulled to 1, with the weight of one
      cluster against those that hold a zero (or a one, whichever are fewer). Where all values are equal the clusters
      count once each.
    - The interval reaches at least as far as it would if all values were equal, so that one exception more never
      makes the data look better.

    Args:
        totals: the ones of each cluster.
        sizes: its observations; clusters without any are left out.
        confidence: two-sided coverage.
        worth: by which the effective size is multiplied, such as ``worth_of_folds``.
    """
    require_share("confidence", confidence)
    filled = filled_clusters(totals, sizes)
    n, k = sum(size for _, size in filled), len(filled)
    if n == 0:
        return Interval(None, 0.0, 1.0, confidence, 0, "korn-graubard")
    share = sum(total for total, _ in filled) / n
    low, high = exact_bounds(share, worth * _effective_size(filled, n, share, confidence), confidence)
    alike = ((1.0 - confidence) / 2.0) ** (1.0 / (worth * k))
    return Interval(share, min(low, alike), max(high, 1.0 - alike), confidence, n, "korn-graubard")


def _effective_size(filled: Sequence[tuple[int, int]], n: int, share: float, confidence: float) -> float:
    """How many independent observations clusters of (ones, observations) are worth."""
    k = len(filled)
    if k == 1 or share in (0.0, 1.0):
        return float(k)
    spread = k / (k - 1) * sum((total - share * size) ** 2 for total, size in filled)
    # The size of the cluster that a random observation is in (Kish 1965, section 8.2), less itself.
    fellows = sum(size * size for _, size in filled) / n - 1.0
    if fellows == 0.0:
        return float(n)
    correlation = min(1.0, max(0.0, (spread / (n * share * (1.0 - share)) - 1.0) / fellows))
    speaking = min(sum(total > 0 for total, _ in filled), sum(total < size for total, size in filled))
    pulled = (1.0 + speaking * correlation) / (1.0 + speaking)
    small_sample_factor = two_sided_t(confidence, n - 1) / two_sided_t(confidence, k - 1)
    return n / (1.0 + fellows * pulled) * small_sample_factor**2
