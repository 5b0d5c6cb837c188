"""The clustered bootstrap: whole clusters are drawn again, so what hangs together stays together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from promptpex.stats.arguments import require_equal_length, require_share
from promptpex.stats.clustered import cluster_interval, cluster_sums
from promptpex.stats.intervals import Interval

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_CELLS_AT_ONCE = 4_000_000


def cluster_bootstrap(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    seed: int,
    confidence: float = 0.95,
    draws: int = 10_000,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """The mean with a percentile interval from drawing whole clusters (Davison and Hinkley 1997, section 3.8).

    The same seed gives the same interval. Fewer than two clusters, or values that are all equal, leave the
    bootstrap nothing to vary; then the interval is `cluster_interval`'s and its ``method`` says so.
    """
    require_share("confidence", confidence)
    sums = cluster_sums(values, clusters)
    if len(sums.sizes) < 2 or min(values) == max(values):
        return cluster_interval(values, clusters, confidence, bounds=bounds)
    columns = list(zip(sums.totals, sums.sizes, strict=True))
    low, high = resampled_bounds(columns, _ratio, seed=seed, confidence=confidence, draws=draws)
    return Interval(sum(sums.totals) / len(values), low, high, confidence, len(values), "cluster-bootstrap")


def paired_bootstrap(
    first: Sequence[float],
    second: Sequence[float],
    *,
    seed: int,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    draws: int = 10_000,
) -> Interval:
    """The mean difference ``first - second`` of paired values in [0, 1], drawing pairs or clusters of pairs.

    Args:
        first: the values of the one model or version.
        second: the values of the other on the same cases, in the same order.
        seed: of the draws.
        clusters: the cluster of each pair; without it every pair is its own.
        confidence: two-sided coverage.
        draws: number of bootstrap samples.
    """
    require_equal_length("first values", len(first), "second values", len(second))
    differences = [float(a) - float(b) for a, b in zip(first, second, strict=True)]
    names: Sequence[Hashable] = range(len(differences)) if clusters is None else clusters
    return cluster_bootstrap(differences, names, seed=seed, confidence=confidence, draws=draws, bounds=(-1.0, 1.0))


def _ratio(sums: Floats) -> Floats:
    result: Floats = sums[:, 0] / sums[:, 1]
    return result


def resampled_bounds(
    rows: Sequence[Sequence[float]],
    statistic: Callable[[Floats], Floats],
    *,
    seed: int,
    confidence: float,
    draws: int,
) -> tuple[float, float]:
    """The percentile interval of a statistic of column sums, over samples of ``rows`` drawn with replacement.

    Args:
        rows: one row of additive figures per cluster.
        statistic: from an array (samples x figures) to one value per sample; a NaN counts as undefined.
        seed: of the draws.
        confidence: two-sided coverage.
        draws: number of samples.

    Returns:
        The two ends; (nan, nan) when the statistic is defined in no sample.
    """
    import numpy as np

    table = np.asarray(rows, dtype=np.float64)
    generator = np.random.default_rng(seed)
    block = max(1, min(draws, _CELLS_AT_ONCE // table.size))
    parts = []
    for start in range(0, draws, block):
        drawn = generator.integers(len(rows), size=(min(block, draws - start), len(rows)))
        parts.append(statistic(table[drawn].sum(axis=1)))
    values = np.concatenate(parts)
    values = values[~np.isnan(values)]
    if values.size == 0:
        return float("nan"), float("nan")
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return float(low), float(high)
