"""The clustered bootstrap: whole clusters are drawn again, so what hangs together stays together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from promptpex.stats.argument_checks import filled_clusters, require_share
from promptpex.stats.intervals import Interval

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

SHARE_DRAWS = 2_000
_CELLS_AT_ONCE = 4_000_000
"""Numbers drawn at a time: 32 MB."""


def resampled_bounds(
    rows: npt.ArrayLike,
    statistic: Callable[[Floats], Floats],
    *,
    seed: int,
    confidence: float,
    draws: int,
) -> tuple[float, float]:
    """The percentile interval of a statistic of column sums, over samples of ``rows`` drawn with replacement.

    How often each distinct row is drawn is multinomial; clusters are mostly alike, so that is little work. The order
    of the rows plays no part.

    Args:
        rows: one row of additive figures per cluster (clusters x figures).
        statistic: from an array (samples x figures) to one value per sample; a NaN counts as undefined.
        seed: of the draws.
        confidence: two-sided coverage.
        draws: number of samples.

    Returns:
        The two ends; (nan, nan) when the statistic is defined in no sample.
    """
    import numpy as np

    distinct, often = np.unique(np.asarray(rows, dtype=np.float64), axis=0, return_counts=True)
    clusters = int(often.sum())
    generator = np.random.default_rng(seed)
    block = max(1, min(draws, _CELLS_AT_ONCE // len(distinct)))
    parts = []
    for start in range(0, draws, block):
        drawn = generator.multinomial(clusters, often / clusters, size=min(block, draws - start))
        parts.append(statistic(drawn @ distinct))
    values = np.concatenate(parts)
    values = values[~np.isnan(values)]
    if values.size == 0:
        return float("nan"), float("nan")
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return float(low), float(high)


def share_bootstrap(
    totals: Sequence[int], sizes: Sequence[int], confidence: float = 0.95, *, seed: int = 0, draws: int = SHARE_DRAWS
) -> Interval:
    """The share of ones with the percentile interval of a clustered bootstrap, as much of the literature reports it.

    Too short with few clusters and near 0 and 1, where it shrinks to nothing: `korn_graubard` is the one to rely on,
    and docs/synthesis.md has how often either holds the truth.

    Args:
        totals: the ones of each cluster.
        sizes: its observations; clusters without any are left out.
        confidence: two-sided coverage.
        seed: of the draws; the same seed gives the same interval.
        draws: samples.
    """
    require_share("confidence", confidence)
    filled = filled_clusters(totals, sizes)
    n = sum(size for _, size in filled)
    if not n:
        return Interval(None, 0.0, 1.0, confidence, 0, "cluster-bootstrap")
    low, high = resampled_bounds(
        filled, lambda sums: sums[:, 0] / sums[:, 1], seed=seed, confidence=confidence, draws=draws
    )
    share = sum(total for total, _ in filled) / n
    return Interval(share, low, high, confidence, n, "cluster-bootstrap")
