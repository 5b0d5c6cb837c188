"""How far two raters, a judge and code or a judge and a person, agree on the same items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from promptpex.stats.argument_checks import require_share
from promptpex.stats.intervals import Interval, score_bounds
from promptpex.stats.special import two_sided_t, two_sided_z

Table = tuple[tuple[int, ...], ...]

FEW = 40
"""Items, or clusters of items, up to which kappa's large-sample intervals are widened: they are too short by then."""

ADDED_TO_CELL = 0.5
"""Items that each cell of a small table gets for its standard error."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two raters did on the same items.

    Attributes:
        n: items that both rated.
        raw: share of agreement with its interval.
        kappa: Cohen's kappa with its interval; ``estimate`` is ``None`` where kappa is not defined (no items,
            or both raters gave one and the same label throughout).
        table: items by label of the first (rows) and of the second (columns).
        base_first: share of each label with the first rater.
        base_second: share of each label with the second rater.
        adjusted: kappa without prevalence and bias, (m * raw - 1) / (m - 1) for m labels (PABAK: Byrt, Bishop and
            Carlin 1993, J. Clin. Epidemiol. 46:423); ``None`` without items.
    """

    n: int
    raw: Interval
    kappa: Interval
    table: Table
    base_first: tuple[float, ...]
    base_second: tuple[float, ...]
    adjusted: float | None


def described(table: Table, raw: Interval, kappa: Interval) -> Agreement:
    """The whole description from the table, the share of agreement and kappa, each with an interval of its own."""
    n, m = raw.n, len(table)
    return Agreement(
        n=n,
        raw=raw,
        kappa=kappa,
        table=table,
        base_first=tuple(sum(row) / n for row in table) if n else (),
        base_second=tuple(sum(row[j] for row in table) / n for j in range(m)) if n else (),
        adjusted=(m * raw.estimate - 1) / (m - 1) if raw.estimate is not None and m > 1 else None,
    )


def cohens_kappa(table: Sequence[Sequence[int]], confidence: float = 0.95) -> Interval:
    """Cohen's kappa of a square table with the large-sample interval (Fleiss, Cohen and Everitt 1969).

    Psychol. Bull. 72:323, the standard error for a kappa that is not zero. Where that error is zero
    (perfect agreement, or a rater with one answer), the raw agreement's Wilson ends, at the chance agreement
    observed, take its place, so that a few items do not look like certainty. The ends stay within [-1, 1].

    Up to ``FEW`` items the interval also holds `few_items_bounds`.
    """
    require_share("confidence", confidence)
    n = sum(sum(row) for row in table)
    _, chance, _, _ = _kappa_parts(table, n)
    if n == 0 or chance >= 1.0:
        return Interval(None, -1.0, 1.0, confidence, n, "undefined")
    known = _large_sample(table, n, confidence)
    if n > FEW:
        return known
    low, high = few_items_bounds(table, confidence)
    if known.low <= low and high <= known.high:
        return known
    return Interval(known.estimate, min(known.low, low), max(known.high, high), confidence, n, "few-items")


def few_items_bounds(table: Sequence[Sequence[int]], confidence: float = 0.95) -> tuple[float, float]:
    """The ends of an interval of kappa for a table of few items; [-1, 1] for one item.

    The large-sample interval with ``ADDED_TO_CELL`` in each cell, as Agresti and Caffo (2000, Am. Stat. 54:280) add
    observations for differences of shares, and Student's t at one degree of freedom less than there are items.
    docs/statistics.md has how often it holds the truth.
    """
    n = sum(sum(row) for row in table)
    if n < 2:
        return -1.0, 1.0
    cells = [[cell + ADDED_TO_CELL for cell in row] for row in table]
    size = n + ADDED_TO_CELL * len(table) ** 2
    observed, chance, rows, columns = _kappa_parts(cells, size)
    if chance >= 1.0:
        return -1.0, 1.0
    kappa = (observed - chance) / (1.0 - chance)
    reach = two_sided_t(confidence, n - 1) * math.sqrt(_kappa_variance(cells, size, observed, chance, rows, columns))
    return max(-1.0, kappa - reach), min(1.0, kappa + reach)


def _large_sample(table: Sequence[Sequence[int]], n: int, confidence: float) -> Interval:
    """The interval of Fleiss, Cohen and Everitt; the table is one that kappa is defined for."""
    observed, chance, rows, columns = _kappa_parts(table, n)
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


def _kappa_parts(table: Sequence[Sequence[float]], n: float) -> tuple[float, float, list[float], list[float]]:
    if n == 0:
        return 0.0, 1.0, [], []
    m = len(table)
    rows = [sum(row) / n for row in table]
    columns = [sum(row[j] for row in table) / n for j in range(m)]
    totals = [(sum(row), sum(line[i] for line in table)) for i, row in enumerate(table)]
    chance = sum(a * b for a, b in totals) / n**2
    return sum(table[i][i] for i in range(m)) / n, chance, rows, columns


def _kappa_variance(
    table: Sequence[Sequence[float]], n: float, po: float, pe: float, rows: Sequence[float], columns: Sequence[float]
) -> float:
    m = range(len(table))
    p = [[cell / n for cell in row] for row in table]
    same = sum(p[i][i] * ((1 - pe) - (rows[i] + columns[i]) * (1 - po)) ** 2 for i in m)
    other = sum(p[i][j] * (columns[i] + rows[j]) ** 2 for i in m for j in m if i != j)
    rest = (po * pe - 2 * pe + po) ** 2
    return max(0.0, (same + (1 - po) ** 2 * other - rest) / ((1 - pe) ** 4 * n))
