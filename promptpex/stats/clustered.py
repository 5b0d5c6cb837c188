"""An interval for a mean whose observations come in clusters: repeats of a case, cases of a rule."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from promptpex.errors import InputError
from promptpex.stats.arguments import require_equal_length, require_share
from promptpex.stats.intervals import Interval, score_bounds
from promptpex.stats.special import t_quantile, two_sided_z


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """What the clusters add up to: all that a mean and its variance between clusters need."""

    totals: tuple[float, ...]
    sizes: tuple[int, ...]


def cluster_sums(values: Sequence[float], clusters: Sequence[Hashable]) -> ClusterSums:
    """The sum and the size of each cluster, in order of first appearance."""
    require_equal_length("values", len(values), "clusters", len(clusters))
    totals: dict[Hashable, float] = {}
    sizes: dict[Hashable, int] = {}
    for value, cluster in zip(values, clusters, strict=True):
        totals[cluster] = totals.get(cluster, 0.0) + float(value)
        sizes[cluster] = sizes.get(cluster, 0) + 1
    return ClusterSums(tuple(totals.values()), tuple(sizes.values()))


def cluster_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    confidence: float = 0.95,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """The mean of values in ``bounds`` with an interval that knows of clusters.

    The variance is the linearised one between clusters with the k/(k-1) correction; it gives the sample
    size that independent observations of the same precision would have; Student's t with k-1 degrees of
    freedom corrects that for the few clusters; and the interval is Wilson's at that size (Korn and Graubard
    1998, Survey Methodology 24:193, with the score interval that Franco et al. 2019, J. Surv. Stat.
    Methodol. 7:334 found best). So it stays within ``bounds`` and never has width zero: when all values are
    equal, or there is one cluster only, the clusters count as one observation each.

    Args:
        values: 0/1 or any numbers within ``bounds``.
        clusters: the cluster of each value: the case for repeats, the rule for cases.
        confidence: two-sided coverage.
        bounds: the least and the greatest possible value; (-1, 1) for differences of 0/1.
    """
    require_share("confidence", confidence)
    floor, ceiling = bounds
    if any(not floor <= value <= ceiling for value in values):
        raise InputError(f"A value lies outside {floor} to {ceiling}: give the bounds that hold for all values.")
    sums = cluster_sums(values, clusters)
    n = len(values)
    if n == 0:
        return Interval(None, floor, ceiling, confidence, 0, "cluster-robust")
    span = ceiling - floor
    share = min(1.0, max(0.0, (sum(sums.totals) / n - floor) / span))
    alone = sum(((value - floor) / span - share) ** 2 for value in values)
    totals = [(total - floor * size) / span for total, size in zip(sums.totals, sums.sizes, strict=True)]
    size = _effective_size(totals, sums.sizes, share, 0.0 if min(values) == max(values) else alone, confidence)
    low, high = score_bounds(share, size, two_sided_z(confidence))
    return Interval(floor + span * share, floor + span * low, floor + span * high, confidence, n, "cluster-robust")


def _effective_size(
    totals: Sequence[float], sizes: Sequence[int], share: float, squares: float, confidence: float
) -> float:
    """How many independent 0/1 observations the clusters are worth.

    ``totals`` and ``squares``, the sum of squared distances from ``share``, are of values scaled to [0, 1]; no squares
    at all are values that are all equal.
    """
    n, k = sum(sizes), len(sizes)
    if k == 1 or squares == 0.0:
        return float(k)
    residual = sum((total - share * size) ** 2 for total, size in zip(totals, sizes, strict=True))
    between = k / (k - 1) * residual / n**2
    # Clusters that happen to be alike must not make the data look better than independent observations.
    variance = max(between, squares / (n - 1) / n)
    shrink = (two_sided_z(confidence) / t_quantile(0.5 + confidence / 2.0, k - 1)) ** 2
    return max(share * (1.0 - share) / variance * shrink, 1e-9)
