"""The share of outputs that break a rule, and its interval: the mean over cases of the mean over repeats.

The unit is the case with its repeats; the rules of the prompt are fixed. The interval is Clopper and Pearson's at the
number of independent cases that the repeats leave (Korn and Graubard 1998, Survey Methodology 24:193), so it is never
too short where each case is asked once, and never of width zero. A model's interval rests on its own outputs alone,
whoever else was in the run.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from promptpex.stats.argument_checks import require_share
from promptpex.stats.intervals import Interval, exact_bounds
from promptpex.stats.outcome_grid import Completion, Grid

if TYPE_CHECKING:
    from promptpex.stats.outcome_grid import Floats, Ints

_PRIOR_CASES = 5.0
"""A convention: the weight of repeats that are all alike, in cases that tell. docs/statistics.md simulates with it."""


def share(grid: Grid, model: int, completion: Completion = "seen") -> float | None:
    """The mean over the cases, by their weights, of the share of their outputs that break a rule; None of nothing."""
    sizes, failures = grid.sizes(completion)[model], grid.failures(completion)[model]
    has_outputs = (sizes > 0) & (grid.weights > 0)
    if not has_outputs.any():
        return None
    weights = grid.weights[has_outputs]
    return float((weights * failures[has_outputs] / sizes[has_outputs]).sum() / weights.sum())


def share_interval(
    grid: Grid,
    model: int,
    *,
    confidence: float = 0.95,
    completion: Completion = "seen",
) -> Interval:
    """The share of a model with its interval; ``n`` is the number of outputs behind it.

    The upper end is never below that of a model that never failed on the same cases, each counted once, in whichever
    report that stands; the lower end mirrors it.

    Args:
        grid: the outputs.
        model: its number in the grid.
        confidence: two-sided coverage.
        completion: how open outputs are read.
    """
    require_share("confidence", confidence)
    estimate = share(grid, model, completion)
    sizes = grid.sizes(completion)[model]
    if estimate is None:
        return Interval(None, 0.0, 1.0, confidence, 0, "exact")
    worth = effective_cases(grid, sizes, repeat_correlation(grid, model), at=estimate)
    low, high = exact_bounds(estimate, worth, confidence)
    once = effective_cases(grid, sizes, 1.0, at=0.0)
    if worth > once:
        _, least = exact_bounds(0.0, once, confidence)
        low, high = min(low, 1.0 - least), max(high, least)
    counted = sizes[grid.weights > 0]
    alone = math.isclose(worth, float(counted.sum()))
    return Interval(estimate, low, high, confidence, int(counted.sum()), "exact" if alone else "effective-size")


def effective_cases(grid: Grid, sizes: Ints, correlation: float, *, at: float) -> float:
    """How many independent cases, asked once each and weighed alike, the cases with their repeats are worth.

    Where weights differ, that depends on which cases break their rules: it is the least number that any spread of the
    share over the weights would leave.

    Args:
        grid: for the weights of the cases.
        sizes: outputs of each case; cases without any are left out.
        correlation: between repeats of a case.
        at: the share that breaks a rule.
    """
    import numpy as np

    has_outputs = (sizes > 0) & (grid.weights > 0)
    weights = grid.weights[has_outputs].astype(np.float64)
    whole = weights.sum() ** 2
    spread = float((weights**2 * (correlation + (1.0 - correlation) / sizes[has_outputs])).sum()) / whole
    spread *= _stretch(weights, at)
    return float(1.0 / spread)


def _stretch(weights: Floats, share: float) -> float:
    """How much greater the variance of a weighted share may be than if all cases were as likely to break a rule.

    The variance is greatest where a case of weight w breaks with probability (1 - c/w) / 2, heavy cases before light
    ones, with c such that the share comes out (Lagrange); for a share near 0 the heaviest alone break.
    """
    import numpy as np

    share = min(share, 1.0 - share)
    heavy = np.sort(weights)[::-1]
    if heavy[0] == heavy[-1]:
        return 1.0
    total, squares = float(heavy.sum()), float((heavy**2).sum())
    if share <= 0.0:
        return float(heavy[0]) * total / squares
    levels = (np.cumsum(heavy) - 2.0 * total * share) / np.arange(1, heavy.size + 1)
    level = float(levels.max())
    breaking = heavy[heavy > level]
    return float((breaking**2 - level**2).sum()) / 4.0 / (squares * share * (1.0 - share))


def repeat_correlation(grid: Grid, model: int) -> float:
    """How alike the repeats of a case are, from 0 to 1: as alike as any reading of the open outputs has them.

    It is estimated from the variance between the case means, drawn towards 1 where few cases tell. Where a model never
    failed, or never passed, its repeats say nothing of that; then each case counts once.
    """
    readings: tuple[Completion, ...] = ("best", "worst") if grid.missing(model) else ("seen",)
    return max(_correlation(grid, model, completion) for completion in readings)


def _correlation(grid: Grid, model: int, completion: Completion) -> float:
    sizes, failures = grid.sizes(completion)[model], grid.failures(completion)[model]
    has_repeats = (sizes > 1) & (grid.weights > 0)
    if not has_repeats.any():
        return 1.0
    size, failed = sizes[has_repeats], failures[has_repeats]
    telling = float(min((failed > 0).sum(), (failed < size).sum()))
    return (_PRIOR_CASES + telling * _between(failed / size, size)) / (_PRIOR_CASES + telling) if telling else 1.0


def _between(means: Floats, sizes: Ints) -> float:
    """The correlation of repeats that explains how far the case means are apart."""
    mean, chance = float(means.mean()), float((1.0 / sizes).mean())
    alone = mean * (1.0 - mean)
    if alone <= 0.0 or chance >= 1.0:
        return 1.0
    return min(1.0, max(0.0, (float(means.var()) / alone - chance) / (1.0 - chance)))
