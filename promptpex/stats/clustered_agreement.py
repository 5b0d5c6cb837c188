"""How well two raters agree on correlated items, such as the outputs of all models to one case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.core.errors import InputError
from promptpex.stats.agreement import Agreement, Table, cohens_kappa, described, kappa_bounds
from promptpex.stats.argument_checks import require_share
from promptpex.stats.intervals import Interval, clopper_pearson
from promptpex.stats.korn_graubard import korn_graubard

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


def clustered_agreement(tables: npt.ArrayLike, confidence: float = 0.95, *, worth: float = 1.0) -> Agreement:
    """What two raters did on items in clusters; both intervals know of the clusters.

    Raw agreement has `korn_graubard`'s interval, kappa that of `clustered_kappa`. Where every cluster holds one item
    the items are independent, and the intervals are those of `clopper_pearson` and `cohens_kappa`.

    Args:
        tables: per cluster, its items by label of the first (rows) and of the second rater (columns): clusters x labels
            x labels; clusters without any are left out.
        confidence: of both intervals.
        worth: as for `korn_graubard`.

    Raises:
        InputError: the tables are of another shape.
    """
    import numpy as np

    require_share("confidence", confidence)
    cells = _filled(tables)
    table, sizes, agreed = _summed(cells), cells.sum(axis=(1, 2)), np.trace(cells, axis1=1, axis2=2)
    if worth == 1.0 and (sizes <= 1).all():
        raw = clopper_pearson(int(agreed.sum()), len(sizes), confidence)
        return described(table, raw, cohens_kappa(table, confidence))
    raw = korn_graubard(agreed.tolist(), sizes.tolist(), confidence, worth=worth)
    return described(table, raw, clustered_kappa(cells, confidence, worth=worth))


def clustered_kappa(tables: npt.ArrayLike, confidence: float = 0.95, *, worth: float = 1.0) -> Interval:
    """Cohen's kappa with the interval of `kappa_bounds` at the effective number of items.

    Student's t has one degree of freedom less than there are clusters, so that a single one says nothing.

    Args:
        tables, confidence, worth: as for `clustered_agreement`.
    """
    cells = _filled(tables)
    whole, k = cohens_kappa(_summed(cells), confidence), len(cells)
    if whole.estimate is None:
        return whole
    effective = cells.sum(axis=0) * (worth * _effective_items(cells) / whole.n)
    low, high = kappa_bounds(effective.tolist(), confidence, k - 1)
    return Interval(whole.estimate, low, high, confidence, whole.n, "smoothed-by-cluster")


def _effective_items(cells: Ints) -> float:
    """How many independent items those in clusters are worth.

    Kappa is linearised in the cells; how much its linear parts vary between clusters, against how much between items,
    is their correlation within clusters: 1 where items do not vary. As for `korn_graubard` the correlation is pulled to
    1, with the weight of one cluster against those that hold anything but the commonest cell.
    """
    k, sizes, table = len(cells), cells.sum(axis=(1, 2)), cells.sum(axis=0)
    n = int(table.sum())
    fellows = float(sizes @ sizes) / n - 1.0
    if k < 2 or fellows == 0.0:
        return float(n)
    flat, slopes = cells.reshape(k, -1), _slopes((table + 1) / (table + 1).sum()).ravel()
    slopes -= float(table.ravel() @ slopes) / n
    of_items, of_clusters = float(table.ravel() @ slopes**2), k / (k - 1) * float(((flat @ slopes) ** 2).sum())
    correlation = min(1.0, max(0.0, (of_clusters / of_items - 1.0) / fellows)) if of_items > 1e-12 else 1.0
    speaking = int((flat[:, int(table.argmax())] < sizes).sum())
    return n / (1.0 + fellows * (1.0 + speaking * correlation) / (1.0 + speaking))


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


def _slopes(shares: Floats) -> Floats:
    """The derivatives of kappa by the share of each cell (Fleiss, Cohen and Everitt 1969), but for a constant."""
    import numpy as np

    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, chance = float(np.trace(shares)), float(rows @ columns)
    slopes: Floats = (np.eye(len(shares)) - observed) / (1.0 - chance)
    slopes -= (1.0 - observed) / (1.0 - chance) ** 2 * (columns[:, None] + rows[None, :] - 2.0 * chance)
    return slopes
