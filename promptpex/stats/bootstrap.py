"""The clustered bootstrap: whole clusters are drawn again, so what hangs together stays together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_CELLS_AT_ONCE = 4_000_000


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
