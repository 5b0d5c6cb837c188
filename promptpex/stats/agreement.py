"""How far two raters, a judge and code or a judge and a person, agree: raw, beyond chance, and on what."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpex.stats.arguments import require_equal_length, require_share
from promptpex.stats.bootstrap import resampled_bounds
from promptpex.stats.intervals import Interval, score_bounds, wilson
from promptpex.stats.special import two_sided_z

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Label = Hashable
Pair = tuple[Label | None, Label | None]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two raters did on the same items.

    Attributes:
        n: items that both rated.
        agreed: items on which they agree.
        raw: share of agreement, with Wilson's interval.
        kappa: Cohen's kappa with its interval; ``estimate`` is ``None`` where kappa is not defined (no items,
            or both raters gave one and the same label throughout).
        labels: the labels, sorted by their text.
        table: items by label of the first (rows) and of the second (columns), in the order of ``labels``.
        base_first: share of each label with the first rater.
        base_second: share of each label with the second rater.
        chance: the agreement that the base rates alone would give.
        prevalence: |share both said a - share both said b| for two labels (Byrt, Bishop and Carlin 1993,
            J. Clin. Epidemiol. 46:423): near 1, kappa is low whatever the raters do. ``None`` with more labels.
        bias: |difference of the two base rates| of either of two labels; ``None`` with more labels.
        adjusted: kappa with prevalence and bias set to 0, (m * raw - 1) / (m - 1) for m labels (PABAK).
    """

    n: int
    agreed: int
    raw: Interval
    kappa: Interval
    labels: tuple[Label, ...]
    table: tuple[tuple[int, ...], ...]
    base_first: tuple[float, ...]
    base_second: tuple[float, ...]
    chance: float | None
    prevalence: float | None
    bias: float | None
    adjusted: float | None


def agreement(pairs: Iterable[Pair], confidence: float = 0.95, *, labels: Sequence[Label] = ()) -> Agreement:
    """Raw agreement, Cohen's kappa and the base rates of two raters.

    Args:
        pairs: the label of the first and of the second rater per item; an item with a ``None`` is left out.
        confidence: of both intervals.
        labels: labels that were possible though perhaps never given.
    """
    require_share("confidence", confidence)
    rated = [(a, b) for a, b in pairs if a is not None and b is not None]
    names = tuple(sorted({*labels, *(x for pair in rated for x in pair)}, key=lambda x: (str(x), repr(x))))
    table = _table(rated, names)
    n, m = len(rated), len(names)
    agreed = sum(table[i][i] for i in range(m))
    rows = tuple(sum(row) / n for row in table) if n else ()
    columns = tuple(sum(row[j] for row in table) / n for j in range(m)) if n else ()
    two = n > 0 and m == 2
    raw = wilson(agreed, n, confidence)
    return Agreement(
        n=n,
        agreed=agreed,
        raw=raw,
        kappa=cohens_kappa(table, confidence),
        labels=names,
        table=table,
        base_first=rows,
        base_second=columns,
        chance=sum(a * b for a, b in zip(rows, columns, strict=True)) if n else None,
        prevalence=abs(table[0][0] - table[1][1]) / n if two else None,
        bias=abs(rows[0] - columns[0]) if two else None,
        adjusted=(m * raw.estimate - 1) / (m - 1) if raw.estimate is not None and m > 1 else None,
    )


def _table(rated: Sequence[tuple[Label, Label]], names: Sequence[Label]) -> tuple[tuple[int, ...], ...]:
    place = {name: i for i, name in enumerate(names)}
    cells = [[0] * len(names) for _ in names]
    for a, b in rated:
        cells[place[a]][place[b]] += 1
    return tuple(tuple(row) for row in cells)


def cohens_kappa(table: Sequence[Sequence[int]], confidence: float = 0.95) -> Interval:
    """Cohen's kappa of a square table with the large-sample interval (Fleiss, Cohen and Everitt 1969).

    Psychol. Bull. 72:323, the standard error for a kappa that is not zero. Where that error is zero
    (perfect agreement, or a rater with one answer), the raw agreement's Wilson ends, at the chance agreement
    observed, take its place, so that a few items do not look like certainty. The ends stay within [-1, 1].
    """
    require_share("confidence", confidence)
    n = sum(sum(row) for row in table)
    observed, chance, rows, columns = _kappa_parts(table, n)
    if n == 0 or chance >= 1.0:
        return Interval(None, -1.0, 1.0, confidence, n, "undefined")
    kappa = (observed - chance) / (1.0 - chance)
    z = two_sided_z(confidence)
    error = math.sqrt(_kappa_variance(table, n, observed, chance, rows, columns))
    if error <= 1e-6:
        low, high = score_bounds(observed, n, z)
        ends = ((low - chance) / (1.0 - chance), (high - chance) / (1.0 - chance))
        return Interval(kappa, max(-1.0, ends[0]), min(1.0, ends[1]), confidence, n, "wilson-kappa")
    return Interval(
        kappa, max(-1.0, kappa - z * error), min(1.0, kappa + z * error), confidence, n, "fleiss-cohen-everitt"
    )


def _kappa_parts(table: Sequence[Sequence[int]], n: int) -> tuple[float, float, list[float], list[float]]:
    if n == 0:
        return 0.0, 1.0, [], []
    m = len(table)
    rows = [sum(row) / n for row in table]
    columns = [sum(row[j] for row in table) / n for j in range(m)]
    totals = [(sum(row), sum(line[i] for line in table)) for i, row in enumerate(table)]
    chance = sum(a * b for a, b in totals) / n**2
    return sum(table[i][i] for i in range(m)) / n, chance, rows, columns


def _kappa_variance(
    table: Sequence[Sequence[int]], n: int, po: float, pe: float, rows: Sequence[float], columns: Sequence[float]
) -> float:
    m = range(len(table))
    p = [[cell / n for cell in row] for row in table]
    same = sum(p[i][i] * ((1 - pe) - (rows[i] + columns[i]) * (1 - po)) ** 2 for i in m)
    other = sum(p[i][j] * (columns[i] + rows[j]) ** 2 for i in m for j in m if i != j)
    rest = (po * pe - 2 * pe + po) ** 2
    return max(0.0, (same + (1 - po) ** 2 * other - rest) / ((1 - pe) ** 4 * n))


def kappa_bootstrap(
    pairs: Sequence[Pair],
    clusters: Sequence[Hashable],
    *,
    seed: int,
    confidence: float = 0.95,
    draws: int = 5_000,
) -> Interval:
    """Cohen's kappa with a percentile interval from drawing whole clusters of items.

    For items that hang together: outputs of one rule, repeats of one case. Samples in which kappa is not
    defined are left out. Perfect agreement or a single cluster leave nothing to vary: then the interval is
    the large-sample one with the clusters counted as the items, wide as it has to be.
    """
    require_share("confidence", confidence)
    require_equal_length("pairs", len(pairs), "clusters", len(clusters))
    kept = [(a, b, c) for (a, b), c in zip(pairs, clusters, strict=True) if a is not None and b is not None]
    names = tuple(dict.fromkeys(x for a, b, _ in kept for x in (a, b)))
    m, place = len(names), {name: i for i, name in enumerate(names)}
    cells: dict[Hashable, list[float]] = {}
    for a, b, cluster in kept:
        cells.setdefault(cluster, [0.0] * (m * m))[place[a] * m + place[b]] += 1.0
    whole = cohens_kappa(_table([(a, b) for a, b, _ in kept], names), confidence)
    if whole.estimate is None:
        return whole
    low, high = resampled_bounds(
        list(cells.values()), lambda sums: _kappas(sums, m), seed=seed, confidence=confidence, draws=draws
    )
    if math.isnan(low) or low == high:
        return _kappa_of_clusters(whole, len(cells))
    return Interval(whole.estimate, low, high, confidence, len(kept), "cluster-bootstrap")


def _kappas(sums: Floats, m: int) -> Floats:
    import numpy as np

    shares = (sums / sums.sum(axis=1, keepdims=True)).reshape(-1, m, m)
    observed = np.trace(shares, axis1=1, axis2=2)
    chance = (shares.sum(axis=2) * shares.sum(axis=1)).sum(axis=1)
    defined = chance < 1.0 - 1e-12
    values: Floats = np.where(defined, (observed - chance) / np.where(defined, 1.0 - chance, 1.0), np.nan)
    return values


def _kappa_of_clusters(whole: Interval, clusters: int) -> Interval:
    """Stretch an interval of n items to the size it would have with one item per cluster."""
    assert whole.estimate is not None
    stretch = math.sqrt(whole.n / clusters)
    low = max(-1.0, whole.estimate - stretch * (whole.estimate - whole.low))
    high = min(1.0, whole.estimate + stretch * (whole.high - whole.estimate))
    return Interval(whole.estimate, low, high, whole.confidence, whole.n, "clusters-as-items")
