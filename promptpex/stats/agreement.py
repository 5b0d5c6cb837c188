"""How far two raters, a judge and code or a judge and a person, agree on the same items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from promptpex.stats.argument_checks import require_share
from promptpex.stats.intervals import Interval
from promptpex.stats.special import two_sided_t, two_sided_z

Table = tuple[tuple[int, ...], ...]

ADDED = 4.0
"""Items added to a table for the second of kappa's intervals: as many as Agresti and Coull (1998, Am. Stat. 52:119) add
to a share, and Agresti and Caffo (2000, Am. Stat. 54:280) to a difference of two."""


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
    """Cohen's kappa of a square table of independent items, with the interval of `kappa_bounds`."""
    require_share("confidence", confidence)
    n = sum(sum(row) for row in table)
    observed, chance, _, _ = _kappa_parts(table, n)
    if n == 0 or chance >= 1.0:
        return Interval(None, -1.0, 1.0, confidence, n, "undefined")
    low, high = kappa_bounds(table, confidence, n - 1)
    return Interval((observed - chance) / (1.0 - chance), low, high, confidence, n, "smoothed")


def kappa_bounds(table: Sequence[Sequence[float]], confidence: float, freedom: int) -> tuple[float, float]:
    """The ends of an interval of Cohen's kappa, within [-1, 1]; all of it without a degree of freedom.

    The large-sample interval (Fleiss, Cohen and Everitt 1969, Psychol. Bull. 72:323, the standard error for a kappa
    that is not zero) is too short where a label is rare, and a point where raters agree throughout. So the interval
    also holds the one that ``ADDED`` more items give, spread evenly over the cells of the labels in use, with
    Student's t. docs/statistics.md has how often it holds the truth.

    Args:
        table: items by label of the first (rows) and of the second rater (columns), for which kappa is defined;
            fractions of an item are fine.
        freedom: degrees of freedom of Student's t: one less than there are items, or clusters of items.
    """
    if freedom < 1:
        return -1.0, 1.0
    plain = _large_sample(table, two_sided_z(confidence))
    smoothed = _large_sample(_smoothed(table), two_sided_t(confidence, freedom))
    return max(-1.0, min(plain[0], smoothed[0])), min(1.0, max(plain[1], smoothed[1]))


def _smoothed(table: Sequence[Sequence[float]]) -> list[list[float]]:
    """The table of the labels that a rater used, with ``ADDED`` more items."""
    used = [label for label, row in enumerate(table) if any(row) or any(other[label] for other in table)]
    more = ADDED / len(used) ** 2
    return [[table[row][column] + more for column in used] for row in used]


def _large_sample(table: Sequence[Sequence[float]], quantile: float) -> tuple[float, float]:
    """Kappa less and plus so many standard errors; the table is one that kappa is defined for."""
    size = sum(sum(row) for row in table)
    observed, chance, rows, columns = _kappa_parts(table, size)
    kappa = (observed - chance) / (1.0 - chance)
    reach = quantile * math.sqrt(_kappa_variance(table, size, observed, chance, rows, columns))
    return kappa - reach, kappa + reach


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
