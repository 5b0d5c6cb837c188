"""How far two raters, a judge and code or a judge and a person, agree: raw, beyond chance, and on what."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from promptpex.stats.arguments import require_share
from promptpex.stats.intervals import Interval, score_bounds, wilson
from promptpex.stats.special import two_sided_z

Label = Hashable
Pair = tuple[Label | None, Label | None]
Table = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two raters did on the same items.

    Attributes:
        n: items that both rated.
        agreed: items on which they agree.
        raw: share of agreement with its interval: Wilson's, or one that knows of clusters.
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
    table: Table
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
    names = sorted_labels([*labels, *(x for pair in rated for x in pair)])
    table = _table(rated, names)
    agreed = sum(table[i][i] for i in range(len(names)))
    return described(table, names, wilson(agreed, len(rated), confidence), cohens_kappa(table, confidence))


def described(table: Table, labels: tuple[Label, ...], raw: Interval, kappa: Interval) -> Agreement:
    """The whole description from the table, the share of agreement and kappa, each with an interval of its own."""
    n, m = raw.n, len(labels)
    rows = tuple(sum(row) / n for row in table) if n else ()
    columns = tuple(sum(row[j] for row in table) / n for j in range(m)) if n else ()
    two = n > 0 and m == 2
    return Agreement(
        n=n,
        agreed=sum(table[i][i] for i in range(m)),
        raw=raw,
        kappa=kappa,
        labels=labels,
        table=table,
        base_first=rows,
        base_second=columns,
        chance=sum(a * b for a, b in zip(rows, columns, strict=True)) if n else None,
        prevalence=abs(table[0][0] - table[1][1]) / n if two else None,
        bias=abs(rows[0] - columns[0]) if two else None,
        adjusted=(m * raw.estimate - 1) / (m - 1) if raw.estimate is not None and m > 1 else None,
    )


def sorted_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Each label once, sorted by its text."""
    return tuple(sorted(set(labels), key=lambda x: (str(x), repr(x))))


def _table(rated: Sequence[tuple[Label, Label]], names: Sequence[Label]) -> Table:
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
