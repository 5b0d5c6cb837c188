"""Krippendorff's alpha: agreement of any number of raters, some of whom skipped some items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpex.stats.arguments import require_share
from promptpex.stats.bootstrap import resampled_bounds
from promptpex.stats.intervals import Interval, wilson

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha for nominal labels.

    Attributes:
        alpha: 1 perfect, 0 as by chance; ``None`` when not defined: nothing rated twice, or one label only.
        interval: over items, where asked for and defined.
        units: items with at least two ratings; the others say nothing about agreement.
        ratings: ratings of those items.
        base_rates: share of each label among those ratings.
    """

    alpha: float | None
    interval: Interval | None
    units: int
    ratings: int
    base_rates: dict[Hashable, float]


def krippendorff_alpha(
    units: Sequence[Sequence[Hashable | None]],
    *,
    seed: int | None = None,
    confidence: float = 0.95,
    draws: int = 5_000,
) -> Alpha:
    """Alpha of nominal labels through the coincidence matrix (Krippendorff 2011, Computing alpha-reliability).

    Args:
        units: per item, the labels it got; ``None`` for a rater who gave none. Who gave which is not used.
        seed: of a bootstrap over items for the interval; without a seed there is none.
        confidence: of that interval.
        draws: samples of that bootstrap.
    """
    require_share("confidence", confidence)
    rated = [[label for label in unit if label is not None] for unit in units]
    counts = [Counter(unit) for unit in rated if len(unit) >= 2]
    labels = list(dict.fromkeys(label for count in counts for label in count))
    totals = {label: sum(count[label] for count in counts) for label in labels}
    n = sum(totals.values())
    base = {label: total / n for label, total in totals.items()}
    if len(labels) < 2:
        return Alpha(None, None, len(counts), n, base)
    rows = [[_disagreement(count), *(float(count[label]) for label in labels)] for count in counts]
    alpha = _alpha([sum(column) for column in zip(*rows, strict=True)])
    interval = None
    if seed is not None:
        low, high = resampled_bounds(rows, _alphas, seed=seed, confidence=confidence, draws=draws)
        interval = Interval(alpha, low, high, confidence, len(counts), "bootstrap")
        if not low < high:
            interval = _unvaried(alpha, len(counts), list(totals.values()), confidence)
    return Alpha(alpha, interval, len(counts), n, base)


def _unvaried(alpha: float, units: int, totals: Sequence[int], confidence: float) -> Interval:
    """All items agree: what Wilson's interval of that share of items leaves open."""
    n = sum(totals)
    expected = 1.0 - sum(total * (total - 1) for total in totals) / (n * (n - 1))
    low = 1.0 - (1.0 - wilson(units, units, confidence).low) / expected
    return Interval(alpha, max(-1.0, low), 1.0, confidence, units, "wilson-alpha")


def _disagreement(count: Counter[Hashable]) -> float:
    """The unit's part of the coincidences off the diagonal."""
    size = count.total()
    return (size * size - sum(c * c for c in count.values())) / (size - 1)


def _alpha(sums: Sequence[float]) -> float:
    observed, totals = sums[0], sums[1:]
    n = sum(totals)
    return 1.0 - (n - 1.0) * observed / (n * n - sum(total * total for total in totals))


def _alphas(sums: Floats) -> Floats:
    import numpy as np

    totals = sums[:, 1:]
    n = totals.sum(axis=1)
    expected = n * n - (totals * totals).sum(axis=1)
    defined = expected > 0
    values: Floats = np.where(defined, 1.0 - (n - 1.0) * sums[:, 0] / np.where(defined, expected, 1.0), np.nan)
    return values
