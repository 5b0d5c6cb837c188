"""How far two raters agree on items that hang together, such as the outputs of all models to one case."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from promptpex.errors import InputError
from promptpex.stats.agreement import Agreement, Label, Pair, cohens_kappa, described, sorted_labels
from promptpex.stats.arguments import require_equal_length, require_share
from promptpex.stats.bootstrap import resampled_bounds
from promptpex.stats.intervals import Interval, wilson
from promptpex.stats.korn_graubard import korn_graubard
from promptpex.stats.special import two_sided_t

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

BOOTSTRAP_UP_TO = 2_000
"""Clusters up to which kappa's interval is a bootstrap; with more the delta method is as good and takes no draws."""


def clustered_agreement(
    tables: npt.ArrayLike,
    labels: Sequence[Label],
    confidence: float = 0.95,
    *,
    seed: int = 0,
    draws: int = 1_000,
) -> Agreement:
    """What two raters did on items in clusters; both intervals know of the clusters.

    Raw agreement has `korn_graubard`'s interval. Kappa has that of drawing whole clusters again, beyond
    ``BOOTSTRAP_UP_TO`` clusters that of `kappa_delta`. Where every cluster holds one item the items are independent,
    and the intervals are those of `agreement`.

    Args:
        tables: per cluster, its items by label of the first (rows) and of the second rater (columns), in the order
            of ``labels``: clusters x labels x labels.
        labels: the labels.
        confidence: of both intervals.
        seed: of the draws; the same seed gives the same interval.
        draws: samples of the bootstrap.
    """
    import numpy as np

    require_share("confidence", confidence)
    cells = np.asarray(tables)
    if cells.ndim != 3 or cells.shape[1:] != (len(labels), len(labels)):
        raise InputError(
            f"Tables of {len(labels)} labels are clusters x {len(labels)} x {len(labels)}: got {cells.shape}."
        )
    sizes = cells.sum(axis=(1, 2))
    cells, sizes = cells[sizes > 0], sizes[sizes > 0]
    table = tuple(tuple(int(count) for count in row) for row in cells.sum(axis=0))
    agreed = np.trace(cells, axis1=1, axis2=2)
    kappa = cohens_kappa(table, confidence)
    if (sizes <= 1).all():
        raw = wilson(int(agreed.sum()), len(sizes), confidence)
    else:
        raw = korn_graubard(agreed.tolist(), sizes.tolist(), confidence)
        kappa = _kappa_of(cells.astype(np.float64), kappa, seed, draws)
    return described(table, tuple(labels), raw, kappa)


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
    names = sorted_labels(x for a, b, _ in kept for x in (a, b))
    m, place = len(names), {name: i for i, name in enumerate(names)}
    cells: dict[Hashable, list[float]] = {}
    for a, b, cluster in kept:
        cells.setdefault(cluster, [0.0] * (m * m))[place[a] * m + place[b]] += 1.0
    sums = [sum(column) for column in zip(*cells.values(), strict=True)]
    whole = cohens_kappa([[int(count) for count in sums[i * m : i * m + m]] for i in range(m)], confidence)
    return whole if whole.estimate is None else _bootstrapped(list(cells.values()), m, whole, seed, draws)


def kappa_delta(tables: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Cohen's kappa with the delta method's interval from the variance between clusters.

    Kappa is linearised in the cells (Fleiss, Cohen and Everitt 1969, Psychol. Bull. 72:323, have the derivatives),
    the linear parts are added up per cluster, and the interval is made on the scale of the inverse hyperbolic tangent
    with Student's t at one degree of freedom less than there are clusters. For many clusters: with few, or with a
    label that is rare, `kappa_bootstrap` covers better. With perfect agreement as there.

    Args:
        tables: per cluster, its items by label of the first and of the second rater: clusters x labels x labels;
            clusters without any are left out.
        confidence: two-sided coverage.
    """
    import numpy as np

    require_share("confidence", confidence)
    cells = np.asarray(tables, dtype=np.float64)
    cells = cells[cells.sum(axis=(1, 2)) > 0]
    whole = cohens_kappa([[int(count) for count in row] for row in cells.sum(axis=0)], confidence)
    return whole if whole.estimate is None else _linearised(cells, whole)


def _kappa_of(cells: Floats, whole: Interval, seed: int, draws: int) -> Interval:
    """``whole``, made of independent items, with an interval that knows of clusters."""
    if whole.estimate is None:
        return whole
    if len(cells) > BOOTSTRAP_UP_TO:
        return kappa_delta(cells, whole.confidence)
    return _bootstrapped(cells.reshape(len(cells), -1), cells.shape[1], whole, seed, draws)


def _bootstrapped(
    cells: Sequence[Sequence[float]] | Floats, m: int, whole: Interval, seed: int, draws: int
) -> Interval:
    low, high = resampled_bounds(
        cells, lambda sums: _kappas(sums, m), seed=seed, confidence=whole.confidence, draws=draws
    )
    if math.isnan(low) or low == high:
        return _of_clusters(whole, len(cells))
    return Interval(whole.estimate, low, high, whole.confidence, whole.n, "cluster-bootstrap")


def _kappas(sums: Floats, m: int) -> Floats:
    import numpy as np

    shares = (sums / sums.sum(axis=1, keepdims=True)).reshape(-1, m, m)
    observed = np.trace(shares, axis1=1, axis2=2)
    chance = (shares.sum(axis=2) * shares.sum(axis=1)).sum(axis=1)
    defined = chance < 1.0 - 1e-12
    values: Floats = np.where(defined, (observed - chance) / np.where(defined, 1.0 - chance, 1.0), np.nan)
    return values


def _linearised(cells: Floats, whole: Interval) -> Interval:
    import numpy as np

    k, m = cells.shape[:2]
    kappa = whole.estimate
    assert kappa is not None
    shares = cells.sum(axis=0) / whole.n
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, chance = float(np.trace(shares)), float(rows @ columns)
    slopes = (np.eye(m) - observed) / (1.0 - chance)
    slopes -= (1.0 - observed) / (1.0 - chance) ** 2 * (columns[:, None] + rows[None, :] - 2.0 * chance)
    parts = cells.reshape(k, -1) @ slopes.ravel()
    error = math.sqrt(k / (k - 1) * float(parts @ parts)) / whole.n if k > 1 else 0.0
    if error <= 1e-9 or abs(kappa) >= 1.0 - 1e-12:
        return _of_clusters(whole, k)
    reach = two_sided_t(whole.confidence, k - 1) * error / (1.0 - kappa * kappa)
    low, high = math.tanh(math.atanh(kappa) - reach), math.tanh(math.atanh(kappa) + reach)
    return Interval(kappa, low, high, whole.confidence, whole.n, "cluster-delta")


def _of_clusters(whole: Interval, clusters: int) -> Interval:
    """Stretch an interval of n items to the size it would have with one item per cluster."""
    assert whole.estimate is not None
    stretch = math.sqrt(whole.n / clusters)
    low = max(-1.0, whole.estimate - stretch * (whole.estimate - whole.low))
    high = min(1.0, whole.estimate + stretch * (whole.high - whole.estimate))
    return Interval(whole.estimate, low, high, whole.confidence, whole.n, "clusters-as-items")
