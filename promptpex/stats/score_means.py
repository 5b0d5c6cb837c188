"""Models by the means of scores between 0 and 1, such as an own metric's: the statements and decisions that shares of
broken outputs have.

The loss of an output is 1 minus its score. A case counts by the mean of its repeats, so its losses are fractions, as
those of repeated verdicts are: `PairedDifference` holds either, and the tests are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import fsum
from typing import TYPE_CHECKING

from promptpex.stats.as_good_as_best import Losses, Suitability, decide, pairwise_tests
from promptpex.stats.compare_two_models import (
    PairedDifference,
    Reading,
    Statements,
    difference_interval,
)
from promptpex.stats.intervals import Interval

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

UNIT = 10_000
"""Parts of a case in which sign flips count: what stands in a score, and half of it, is a whole number of them."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreGrid:
    """The mean scores of models (rows) on cases (columns).

    Attributes:
        models: the names, each once.
        low, high: the mean if all missing scores of the case were 0, or 1; not a number where it was not asked.
        seen: the mean of the scores that there are; not a number where there is none.
        scored, asked: outputs per model, with a score and in all.
        weights: how many times each case counts, 1 or more.
    """

    models: tuple[str, ...]
    low: Floats
    high: Floats
    seen: Floats
    scored: tuple[int, ...]
    asked: tuple[int, ...]
    weights: Ints

    def losses(self) -> Losses:
        """The models before any test."""
        return Losses(self.models, self.scored, tuple(self._loss(row) for row in range(len(self.models))))

    def missing(self, row: int) -> int:
        """Outputs of a model that were asked for and have no score."""
        return self.asked[row] - self.scored[row]

    def statements(self, first: int, second: int, *, reading: Reading = "against") -> Statements:
        """The statements on two models by their numbers; a claim is made of those that are read ``against``."""
        if reading == "seen" or not (self.missing(first) or self.missing(second)):
            both_seen = self._pair(self.seen[first], self.seen[second])
            return Statements(both_seen, both_seen)
        least = self._pair(self.high[first], self.low[second], surer=False)
        most = self._pair(self.low[first], self.high[second], surer=False)
        return Statements(least, most) if reading == "against" else Statements(most, least)

    def difference(self, first: int, second: int, confidence: float) -> Interval | None:
        """The mean loss of the first minus that of the second, on cases asked of both; None without one.

        Where a score is missing there is no estimate, and the interval holds whatever it is.
        """
        pairs = self.statements(first, second)
        if not pairs.worse.n:
            return None
        least, most = (difference_interval(each, confidence) for each in (pairs.worse, pairs.close))
        if pairs.worse is pairs.close:
            return least
        return Interval(None, least.low, most.high, confidence, most.n, "bounds")

    def _pair(self, first: Floats, second: Floats, *, surer: bool = True) -> PairedDifference:
        """The losses of the first minus those of the second, from their means."""
        import numpy as np

        both = ~(np.isnan(first) | np.isnan(second))
        shift, weights = (second - first)[both], self.weights[both]
        return PairedDifference(shift, np.rint(shift * UNIT).astype(np.int64) * weights, weights, surer)

    def _loss(self, row: int) -> float:
        import numpy as np

        is_scored = ~np.isnan(self.seen[row])
        weights = self.weights[is_scored]
        if not weights.size:
            return 0.0
        return 1.0 - fsum((self.seen[row][is_scored] * weights).tolist()) / int(weights.sum())


def suitability_by_scores(
    grid: ScoreGrid, *, tolerance: float, alpha: float = 0.05, against: str | None = None, reading: Reading = "against"
) -> Suitability:
    """Decisions about models as `suitability` makes them, by their mean scores: ``worse`` has clearly the lower mean.

    Raises:
        InputError: the reference is not one of the models, or the tolerance is not a share.
    """
    losses = grid.losses()
    tests = pairwise_tests(losses, partial(grid.statements, reading=reading), tolerance, against=against)
    return decide(losses, tests, alpha=alpha, against=against)
