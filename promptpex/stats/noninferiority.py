"""Is one model at most a little worse than another on the same cases? A test, not a missing difference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from promptpex.core.errors import InputError
from promptpex.stats.special import normal_cdf
from promptpex.stats.tango_interval import paired_score, require_pairs

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Counts = npt.NDArray[np.int64]

EXACT_UP_TO = 150
"""Pairs up to which the test is exact: 0.1 s there, 1 s for twice as many. Beyond, the score's normal p-value is taken,
which is up to a tenth too small there."""
_SAME = 1e-9
"""Scores that are no further apart are the same but for rounding."""
_SPACING = 0.4
"""Standard deviations from one tried share to the next; a quarter of it changes no p-value by more than 0.0001."""
_CELLS_AT_ONCE = 2_000_000
"""Numbers in a part of the grid: 16 MB for each of the arrays that are made of it."""


def non_inferiority_p(first_only: float, second_only: float, n: float, margin: float) -> float:
    """The one-sided p-value against "the first passes less than ``margin`` less often than the second".

    Up to 150 pairs exact: the outcomes of as many whole pairs as there are (``n`` rounded down, at least 1) are ordered
    by Tango's statistic, and the p-value is the largest probability, over the unknown share of discordant pairs, of
    those that score no less than the one seen (Hsueh, Liu and Chen 2001, Biometrics 57:478). Beyond, it is that of the
    statistic (Tango 1998, Stat. Med. 17:891), which for few pairs errs somewhat too often. Counts need not be whole, as
    where the repeats of a case disagree.

    An exact p-value belongs to its own margin: the outcomes are ordered again for each, so among large p-values that of
    a wider margin can be the greater one, as Röhmel (2005, Biom. J. 47:37) shows of tests of this kind. Each keeps its
    error rate. Where something is shown, at 0.1 or less, no wider margin was found to lose it.

    Args:
        first_only: pairs on which only the first passes.
        second_only: pairs on which only the second passes; the two add up to at most ``n``.
        n: all pairs; without any, p is 1.
        margin: the greatest loss that is tolerated, as a share.

    Raises:
        InputError: the margin is not a share, or the counts are impossible.
    """
    if not 0.0 < margin < 1.0:
        raise InputError(f"The tolerance is {margin}: give a share between 0 and 1, such as 0.05.")
    require_pairs(first_only, second_only, n)
    if n == 0:
        return 1.0
    score = paired_score(first_only, second_only, n, -margin)
    if n > EXACT_UP_TO:
        return normal_cdf(-score)
    rising, tails = _tails(max(1, math.floor(n + _SAME)), margin)
    reached = int(rising.searchsorted(_SAME - score, side="right"))
    # A fraction of a pair can score above every whole outcome; then the best of those speaks.
    return float(tails[max(reached, 1) - 1])


def inferiority_p(first_only: float, second_only: float, n: float, margin: float) -> float:
    """The one-sided p-value against "the first passes at most ``margin`` less often than the second".

    The other tail of `non_inferiority_p`: the largest probability of an outcome that scores no more than the one seen.
    Arguments and errors are the same.
    """
    if not 0.0 < margin < 1.0:
        raise InputError(f"The margin is {margin}: give a share between 0 and 1, such as 0.03.")
    require_pairs(first_only, second_only, n)
    if n == 0:
        return 1.0
    score = paired_score(first_only, second_only, n, -margin)
    if n > EXACT_UP_TO:
        return normal_cdf(score)
    rising, tails = _tails(max(1, math.floor(n + _SAME)), margin, worst_first=True)
    reached = int(rising.searchsorted(score + _SAME, side="right"))
    return float(tails[max(reached, 1) - 1])


@dataclass(frozen=True, slots=True)
class Outcomes:
    """All outcomes of ``n`` pairs, best for the first model first.

    Attributes:
        first: pairs on which only the first passes, of each outcome.
        second: pairs on which only the second passes.
        scores: the score statistic against the margin, falling.
    """

    n: int
    first: Counts
    second: Counts
    scores: Floats

    def log_ways(self) -> Floats:
        """The logarithm of the multinomial coefficient of each outcome."""
        logs = log_factorials(self.n)
        ways: Floats = logs[self.n] - logs[self.first] - logs[self.second] - logs[self.n - self.first - self.second]
        return ways


def log_factorials(n: int) -> Floats:
    """log(0!) to log(n!)."""
    import numpy as np

    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])


def outcomes(n: int, margin: float) -> Outcomes:
    """Every outcome of ``n`` pairs in the order of Tango's statistic against ``margin``."""
    import numpy as np

    first, second = (grid.ravel() for grid in np.indices((n + 1, n + 1)))
    possible = first + second <= n
    first, second = first[possible], second[possible]
    scores = scores_of(first, second, n, margin)
    order = np.argsort(-scores, kind="stable")
    return Outcomes(n, first[order], second[order], scores[order])


def scores_of(first_only: Counts, second_only: Counts, n: int, margin: float) -> Floats:
    """`paired_score` at a difference of -margin, for many outcomes of ``n`` pairs at once."""
    import numpy as np

    b, c = first_only.astype(np.float64), second_only.astype(np.float64)
    linear = -b - c - (2.0 * n - b + c) * margin
    constant = c * margin * (1.0 + margin)
    root = np.sqrt(np.maximum(0.0, linear * linear - 8.0 * n * constant))
    # linear <= 0 here, so this form of the root never subtracts.
    q = np.clip((root - linear) / (4.0 * n), margin, (1.0 + margin) / 2.0)
    scores: Floats = (b - c + n * margin) / np.sqrt(n * (2.0 * q - margin * (1.0 + margin)))
    return scores


@lru_cache(maxsize=256)
def _tails(n: int, margin: float, *, worst_first: bool = False) -> tuple[Floats, Floats]:
    """Of every outcome of ``n`` pairs, the best first: minus its score, and the largest probability, over the nuisance
    share q, of a score as high (first-only share q, second-only q + margin); or, the worst first: its score, and the
    largest probability of one as low.

    All outcomes at once, since one needs the sums over the others anyway.
    """
    import numpy as np

    ordered = outcomes(n, margin)
    if worst_first:
        ordered = Outcomes(n, ordered.first[::-1], ordered.second[::-1], -ordered.scores[::-1])
    rows = np.arange(len(ordered.scores))
    largest = np.zeros(len(rows))
    for sums in _tails_over_shares(ordered, margin):
        top = sums.argmax(axis=1)
        inner = np.clip(top, 1, sums.shape[1] - 2)
        left, middle, right = sums[rows, inner - 1], sums[rows, inner], sums[rows, inner + 1]
        bend = np.maximum(2.0 * middle - left - right, 1e-300)
        # Between the shares of the grid the maximum is where the parabola through three neighbours has it.
        peak = np.where(top == inner, (right - left) ** 2 / (8.0 * bend), 0.0)
        largest = np.maximum(largest, sums[rows, top] + peak)
    return -ordered.scores, np.minimum(1.0, np.maximum.accumulate(largest))


def _tails_over_shares(ordered: Outcomes, margin: float) -> Iterator[Floats]:
    """The probability of each score or a higher one (rows) over a grid of q (columns), some columns at a time.

    Consecutive parts share two columns. The grid is even in the arcsine of the root of q, where binomial shares vary
    alike everywhere, ``_SPACING`` of their standard deviation apart.
    """
    import numpy as np

    n, first, second = ordered.n, ordered.first, ordered.second
    counts = np.column_stack([ordered.log_ways(), first, second, n - first - second])
    steps = 8 + math.ceil(math.pi * math.sqrt(n) / _SPACING)
    grid = (1.0 - margin) / 2.0 * np.sin(np.linspace(0.0, math.pi / 2.0, steps + 1)) ** 2
    width = max(3, _CELLS_AT_ONCE // len(first))
    for start in range(0, steps - 1, width - 2):
        q = grid[start : start + width]
        shares = np.maximum([q, q + margin, 1.0 - margin - 2.0 * q], 1e-300)
        # Not ``@``: for four columns the threads of a matrix product cost more than they save.
        masses = np.exp(np.einsum("ij,jk->ik", counts, np.vstack([np.ones_like(q), np.log(shares)])))
        yield np.cumsum(masses, axis=0, out=masses)
