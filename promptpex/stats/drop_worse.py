"""Asking a model no further once it is shown to be worse: looks at parts of a suite, and decisions that stay right.

After a quarter, a half and three quarters of the cases every pair of models is tested at a fiftieth of the error rate
(after Haybittle 1971 and Peto 1976, who took .001), corrected by Holm over all pairs. A model that is shown to be worse
there is dropped. The tests at the end have what the looks leave of the error rate, so that all claims together keep it
(a union bound): a pair with a dropped model is not tested a second time, and stays in the family of Holm's correction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from itertools import permutations

from promptpex.stats.as_good_as_best import (
    Couple,
    Losses,
    PairTests,
    Suitability,
    corrected_worse,
    decide,
    pair_tests,
)
from promptpex.stats.compare_two_models import Reading, more_failures_p, statements
from promptpex.stats.outcome_grid import Grid

_OF_A_LOOK = 0.02
"""The part of the error rate that one look takes: .001 of .05."""

_FEWEST_CASES = 20
"""Fewer cases are not looked at: they could show next to nothing at a look's error rate."""

Look = tuple[Grid, Set[str]]
"""The outputs known at a look, and the models that were asked no more before it."""


def looks_at(cases: int) -> tuple[int, ...]:
    """After how many cases of a suite to look, the last time at all of them."""
    quarters = (math.ceil(cases * quarter / 4) for quarter in (1, 2, 3))
    return (*(count for count in quarters if _FEWEST_CASES <= count < cases), cases)


def shown_worse(looks: Sequence[Look], alpha: float) -> dict[Couple, float]:
    """The pairs of which a look shows that the first is worse, with the corrected p-value of that look."""
    shown: dict[Couple, float] = {}
    for grid, gone in looks:
        live = [(row, name) for row, name in enumerate(grid.models) if grid.scored(row)]
        tests = {(a, b): more_failures_p(statements(grid, i, j).worse) for (i, a), (j, b) in permutations(live, 2)}
        at_look = corrected_worse(_tested_once(tests, shown, gone))
        shown |= {couple: p for couple, p in at_look.items() if couple not in shown and p <= _OF_A_LOOK * alpha}
    return shown


def suitability_after_looks(
    grid: Grid,
    looks: Sequence[Look],
    gone: Set[str],
    *,
    tolerance: float,
    alpha: float = 0.05,
    planned: int,
    reading: Reading = "against",
) -> Suitability:
    """Decisions as `suitability` makes them, right over the looks and the end together.

    Args:
        grid: the outputs known at the end.
        looks: those that were taken before it.
        gone: the models that were asked no more before the end.
        tolerance, alpha, reading: as for `suitability`.
        planned: looks that the suite allows, without the end.
    """
    shown = shown_worse(looks, alpha)
    tests = pair_tests(grid, tolerance, reading=reading)
    out = {loser for loser, _ in shown}
    close = {
        (a, b): 1.0 if a in gone or (b in gone and b not in out) else 0.0 if b in gone else p
        for (a, b), p in tests.close.items()
    }
    left = alpha * (1.0 - _OF_A_LOOK * planned)
    tests = PairTests(_tested_once(tests.worse, shown, gone), close)
    return decide(Losses.of(grid), tests, alpha=left, shown={c: p for c, p in shown.items() if gone & set(c)})


def _tested_once(tests: Mapping[Couple, float], shown: Mapping[Couple, float], gone: Set[str]) -> dict[Couple, float]:
    """The p-values, of which a pair with a dropped model has none but what was shown."""
    return {(a, b): p if a not in gone and b not in gone else float((a, b) not in shown) for (a, b), p in tests.items()}
