"""How much the share of a model varies from one run to the next although nothing has changed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from promptpex.stats.intervals import Interval
from promptpex.stats.korn_graubard import korn_graubard
from promptpex.stats.outcome_grid import Grid
from promptpex.stats.special import two_sided_z


@dataclass(frozen=True, slots=True)
class RunNoise:
    """The noise of a model, from answers to the same cases in runs of the same.

    Attributes:
        differing: the chance that of two answers to a case one breaks a rule and the other does not, mean over the
            cases, with its interval (`korn_graubard` of the pairs of answers, a cluster for each case); ``n`` is the
            number of cases with two scored answers or more.
        points: the difference of the shares of two further runs is smaller than this as often as the confidence says.
        points_at_most: the same where ``differing`` is at the upper end of its interval.
    """

    differing: Interval
    points: float
    points_at_most: float


def run_noise(
    grid: Grid, model: int, *, repeats: int = 1, groups: int = 1, confidence: float = 0.95
) -> RunNoise | None:
    """The noise of a model by its number; None where no case has two scored answers.

    Two answers to a case differ with the chance 2p(1-p), whose unbiased estimate is the share of the pairs of answers
    that differ. The difference of two runs' shares has the mean of that as its variance, divided by the answers of a
    run.

    Args:
        grid: all answers of all runs; each has to be an answer of its own, none read twice from the store.
        model: its number in the grid.
        repeats: how often a run asks each case.
        groups: how many runs' cases the grid has: several where versions of a prompt are measured together.
        confidence: of the interval and of the points.
    """
    broken, kept = grid.broken[model], grid.kept[model]
    several = (broken + kept >= 2) & (grid.weights > 0)
    if not several.any():
        return None
    apart, size = (broken * kept)[several], (broken + kept)[several]
    of_pairs = korn_graubard(apart.tolist(), (size * (size - 1) // 2).tolist(), confidence)
    weights = grid.weights[grid.weights > 0].astype(float)
    cases = float(weights.sum() ** 2 / (weights**2).sum()) / groups

    def reach(differing: float) -> float:
        return min(1.0, two_sided_z(confidence) * math.sqrt(differing / (cases * repeats)))

    differing = Interval(
        of_pairs.estimate, of_pairs.low, of_pairs.high, confidence, int(several.sum()), of_pairs.method
    )
    return RunNoise(differing, reach(differing.estimate or 0.0), reach(differing.high))
