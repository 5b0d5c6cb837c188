"""How well two raters agree on correlated items, such as the outputs of all models to one case."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from promptpex.core.errors import InputError
from promptpex.stats.agreement import FEW, Agreement, Table, cohens_kappa, described
from promptpex.stats.argument_checks import require_share
from promptpex.stats.bootstrap import resampled_bounds
from promptpex.stats.intervals import Interval, clopper_pearson
from promptpex.stats.korn_graubard import korn_graubard
from promptpex.stats.special import two_sided_t

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

BOOTSTRAP_UP_TO = 2_000
"""Clusters up to which kappa's interval is a bootstrap; with more the delta method is as good and takes no draws."""


def clustered_agreement(
    tables: npt.ArrayLike, confidence: float = 0.95, *, seed: int = 0, draws: int = 1_000
) -> Agreement:
    """What two raters did on items in clusters; both intervals know of the clusters.

    Raw agreement has `korn_graubard`'s interval, kappa that of `kappa_bootstrap`, beyond ``BOOTSTRAP_UP_TO`` clusters
    that of `kappa_delta`. Where every cluster holds one item the items are independent, and the intervals are those of
    `clopper_pearson` and `cohens_kappa`.

    Args:
        tables: per cluster, its items by label of the first (rows) and of the second rater (columns): clusters x labels
            x labels; clusters without any are left out.
        confidence: of both intervals.
        seed: of the draws; the same seed gives the same interval.
        draws: samples of the bootstrap.

    Raises:
        InputError: the tables are of another shape.
    """
    import numpy as np

    require_share("confidence", confidence)
    cells = _filled(tables)
    table, sizes, agreed = _summed(cells), cells.sum(axis=(1, 2)), np.trace(cells, axis1=1, axis2=2)
    if (sizes <= 1).all():
        raw = clopper_pearson(int(agreed.sum()), len(sizes), confidence)
        return described(table, raw, cohens_kappa(table, confidence))
    raw = korn_graubard(agreed.tolist(), sizes.tolist(), confidence)
    if len(cells) > BOOTSTRAP_UP_TO:
        return described(table, raw, kappa_delta(cells, confidence))
    return described(table, raw, kappa_bootstrap(cells, confidence, seed=seed, draws=draws))


def kappa_bootstrap(tables: npt.ArrayLike, confidence: float = 0.95, *, seed: int, draws: int) -> Interval:
    """Cohen's kappa with a percentile interval from drawing whole clusters of items.

        Samples in which kappa is not defined are left out. Perfect agreement or a single cluster leave nothing to vary:
        then the interval is that of single items with the clusters counted as the items, wide as it has to be. Up to
        ``FEW`` clusters, of which samples vary too little, it also holds `kappa_delta`'s.
    : as for `clustered_agreement`.
    """
    cells = _filled(tables)
    whole, (k, m) = cohens_kappa(_summed(cells), confidence), cells.shape[:2]
    if whole.estimate is None:
        return whole
    low, high = resampled_bounds(
        cells.reshape(k, -1), lambda sums: _kappas(sums, m), seed=seed, confidence=confidence, draws=draws
    )
    if math.isnan(low) or low == high:
        return _of_clusters(whole, k)
    if k <= FEW:
        wide = kappa_delta(cells, confidence)
        low, high = min(low, wide.low), max(high, wide.high)
    return Interval(whole.estimate, low, high, confidence, whole.n, "cluster-bootstrap")


def kappa_delta(tables: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Cohen's kappa with the delta method's interval from the variance between clusters.

    Kappa is linearised in the cells (Fleiss, Cohen and Everitt 1969, Psychol. Bull. 72:323, have the derivatives),
    the linear parts are added up per cluster, and the interval is made on the scale of the inverse hyperbolic tangent
    with Student's t at one degree of freedom less than there are clusters. For many clusters: with few, or with a
    label that is rare, `kappa_bootstrap` covers better. With perfect agreement as there.

    Args:
        tables, confidence: as for `clustered_agreement`.
    """
    cells = _filled(tables)
    whole, k = cohens_kappa(_summed(cells), confidence), len(cells)
    kappa = whole.estimate
    if kappa is None:
        return whole
    parts = cells.reshape(k, -1) @ _slopes(cells.sum(axis=0) / whole.n).ravel()
    error = math.sqrt(k / (k - 1) * float(parts @ parts)) / whole.n if k > 1 else 0.0
    if error <= 1e-9 or abs(kappa) >= 1.0 - 1e-12:
        return _of_clusters(whole, k)
    reach = two_sided_t(confidence, k - 1) * error / (1.0 - kappa * kappa)
    low, high = math.tanh(math.atanh(kappa) - reach), math.tanh(math.atanh(kappa) + reach)
    return Interval(kappa, low, high, confidence, whole.n, "cluster-delta")


def _filled(tables: npt.ArrayLike) -> Ints:
    """The tables of the clusters that hold an item."""
    import numpy as np

    cells = np.asarray(tables, dtype=np.int64)
    if cells.ndim != 3 or cells.shape[1] != cells.shape[2]:
        raise InputError(f"Tables of agreement are clusters x labels x labels: got {cells.shape}.")
    filled: Ints = cells[cells.sum(axis=(1, 2)) > 0]
    return filled


def _summed(cells: Ints) -> Table:
    return tuple(tuple(row) for row in cells.sum(axis=0).tolist())


def _kappas(sums: Floats, m: int) -> Floats:
    import numpy as np

    shares = (sums / sums.sum(axis=1, keepdims=True)).reshape(-1, m, m)
    observed = np.trace(shares, axis1=1, axis2=2)
    chance = (shares.sum(axis=2) * shares.sum(axis=1)).sum(axis=1)
    defined = chance < 1.0 - 1e-12
    values: Floats = np.where(defined, (observed - chance) / np.where(defined, 1.0 - chance, 1.0), np.nan)
    return values


def _slopes(shares: Floats) -> Floats:
    """The derivatives of kappa by the share of each cell, less what they come to on average."""
    import numpy as np

    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, chance = float(np.trace(shares)), float(rows @ columns)
    slopes: Floats = (np.eye(len(shares)) - observed) / (1.0 - chance)
    slopes -= (1.0 - observed) / (1.0 - chance) ** 2 * (columns[:, None] + rows[None, :] - 2.0 * chance)
    return slopes


def _of_clusters(whole: Interval, clusters: int) -> Interval:
    """Stretch an interval of n items to the size it would have with one item per cluster; of one cluster, [-1, 1]."""
    assert whole.estimate is not None
    if clusters < 2:
        return Interval(whole.estimate, -1.0, 1.0, whole.confidence, whole.n, "clusters-as-items")
    stretch = math.sqrt(whole.n / clusters)
    low = max(-1.0, whole.estimate - stretch * (whole.estimate - whole.low))
    high = min(1.0, whole.estimate + stretch * (whole.high - whole.estimate))
    return Interval(whole.estimate, low, high, whole.confidence, whole.n, "clusters-as-items")
