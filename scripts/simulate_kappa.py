"""How often Cohen's kappa's interval holds the truth: ``python scripts/simulate_kappa.py [ITEMS ...]``.

Prints tables (Markdown): for these numbers of items (default: 3 to 100; 300 takes half an hour) the least and the mean
coverage over all worlds, by all tables of two labels that there are, for the large-sample interval and for the one in
use; then coverage where five items share a case, in ``--replications`` samples of each world.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from promptpex.stats.agreement import cohens_kappa
from promptpex.stats.clustered_agreement import clustered_kappa

SIZES = (3, 5, 10, 20, 40, 41, 60, 100)
SHARES = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
CASES = (5, 10, 20, 40, 60, 100)
RATES = ((0.05, 0.7, 0.97), (0.1, 0.5, 0.95), (0.3, 0.8, 0.9), (0.05, 0.95, 0.99), (0.5, 0.9, 0.9), (0.3, 0.9, 0.9))
"""Prevalence, sensitivity and specificity."""
Z95 = 1.959964
Ends = tuple[Any, Any]


def worlds() -> Iterator[tuple[Any, float]]:
    """The shares of the four cells, and kappa: how often each rater finds something, and how far they agree."""
    others = sorted({*SHARES, *(1 - share for share in SHARES)})
    for first, second, tenths in product(SHARES, others, range(10)):
        chance = first * second + (1 - first) * (1 - second)
        both = (chance + tenths / 10 * (1 - chance) - 1 + first + second) / 2
        cells = np.array([both, first - both, second - both, 1 - first - second + both])
        if cells.min() >= -1e-12:
            yield cells.clip(0.0), tenths / 10


def tables_of(n: int) -> Any:
    """All tables of two labels and n items, a row each."""
    rows = [(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n - a + 1) for c in range(n - a - b + 1)]
    return np.array(rows)


def large_sample(tables: Any) -> Ends:
    """The ends of the interval of Fleiss, Cohen and Everitt (1969); from -1 to 1 where kappa is not defined."""
    n = tables.sum(axis=1)
    a, b, c, d = (tables / n[:, None]).T
    rows, columns, agreed = (a + b, c + d), (a + c, b + d), a + d
    chance = rows[0] * columns[0] + rows[1] * columns[1]
    same = sum(
        cell * ((1 - chance) - (row + column) * (1 - agreed)) ** 2
        for cell, row, column in zip((a, d), rows, columns, strict=True)
    )
    other = b * (columns[0] + rows[1]) ** 2 + c * (columns[1] + rows[0]) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = (agreed - chance) / (1 - chance)
        variance = same + (1 - agreed) ** 2 * other - (agreed * chance - 2 * chance + agreed) ** 2
        error = Z95 * np.sqrt(variance.clip(0) / n) / (1 - chance) ** 2
    undefined = chance >= 1
    return np.where(undefined, -1, kappa - error), np.where(undefined, 1, kappa + error)


def in_use(tables: Any) -> Ends:
    """The ends of the shipped interval."""
    made = [cohens_kappa([[a, b], [c, d]]) for a, b, c, d in tables.tolist()]
    return np.array([one.low for one in made]), np.array([one.high for one in made])


def of_items(n: int) -> str:
    """The line of a table for n items: least, mean and mean width of both intervals."""
    tables = tables_of(n)
    ways = np.array([math.lgamma(count + 1) for count in range(n + 1)])
    logs = ways[n] - ways[tables].sum(axis=1)
    ends = large_sample(tables), in_use(tables)
    held: list[list[float]] = [[], []]
    widths: list[list[float]] = [[], []]
    for cells, kappa in worlds():
        possible = (tables[:, cells == 0] == 0).all(axis=1)
        chances = np.exp(logs + tables @ np.log(np.where(cells > 0, cells, 1.0))) * possible
        for which, (low, high) in enumerate(ends):
            held[which].append(float(chances[(low - 1e-9 <= kappa) & (kappa <= high + 1e-9)].sum()))
            widths[which].append(float(chances @ (high.clip(-1, 1) - low.clip(-1, 1))))
    figures = [
        f"{100 * min(each):.1f} | {100 * sum(each) / len(each):.1f} | {sum(width) / len(width):.2f}"
        for each, width in zip(held, widths, strict=True)
    ]
    return f"| {n} | {' | '.join(figures)} |"


def cases_of(rng: Any, cases: int, rates: tuple[float, ...], correlation: float) -> Any:
    """Tables of five items each, whose prevalence, sensitivity and specificity vary from case to case."""
    spread = (1 - correlation) / correlation
    prevalence, sensitivity, specificity = (rng.beta(rate * spread, (1 - rate) * spread, (cases, 1)) for rate in rates)
    bad = rng.random((cases, 5)) < prevalence
    fails = rng.random((cases, 5)) < np.where(bad, sensitivity, 1 - specificity)
    cells = 4 * np.arange(cases)[:, None] + 2 * ~bad + ~fails
    return np.bincount(cells.ravel(), minlength=4 * cases).reshape(-1, 2, 2)


def of_cases(cases: int, replications: int) -> str:
    """The line of a table for so many cases: least and mean coverage and mean width over worlds and correlations."""
    rng, held, widths = np.random.default_rng(cases), [], []
    for rates, correlation in product(RATES, (0.05, 0.3, 0.6)):
        prevalence, sensitivity, specificity = rates
        positive = prevalence * sensitivity + (1 - prevalence) * (1 - specificity)
        agreed = prevalence * sensitivity + (1 - prevalence) * specificity
        chance = prevalence * positive + (1 - prevalence) * (1 - positive)
        kappa = (agreed - chance) / (1 - chance)
        made = [clustered_kappa(cases_of(rng, cases, rates, correlation)) for _ in range(replications)]
        held.append(sum(one.low <= kappa <= one.high for one in made) / replications)
        widths.append(sum(one.high - one.low for one in made) / replications)
    return f"| {cases} | {100 * min(held):.1f} | {100 * sum(held) / len(held):.1f} | {sum(widths) / len(widths):.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="How often Cohen's kappa's interval holds the truth.")
    parser.add_argument("items", nargs="*", type=int, default=SIZES)
    parser.add_argument("--replications", type=int, default=1_000)
    options = parser.parse_args()
    print(
        "| items | large-sample: least | mean | width | in use: least | mean | width |\n|---|---|---|---|---|---|---|"
    )
    for n in options.items:
        print(of_items(n), flush=True)
    print("\n| cases | least | mean | width |\n|---|---|---|---|")
    for cases in CASES:
        print(of_cases(cases, options.replications), flush=True)


if __name__ == "__main__":
    main()
