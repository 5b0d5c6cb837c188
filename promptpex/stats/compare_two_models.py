"""Two models on the cases that were asked of both: which breaks its rules more often, and by how much at most.

Each statement is tested on the completion of the open outputs that speaks most against it (`statements`), so that it
holds however they would have come out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from promptpex.stats.intervals import Interval
from promptpex.stats.noninferiority import non_inferiority_p
from promptpex.stats.outcome_grid import Completion, Grid
from promptpex.stats.sign_flip import sign_flip_p
from promptpex.stats.tango_interval import tango_interval

if TYPE_CHECKING:
    from promptpex.stats.outcome_grid import Floats, Ints

_PRIOR_CASES = 5.0
"""A convention, as in ``proportions``: the weight of no gain from repeats, in cases on which the models differ."""
_FINEST = 10**9
"""Parts of a case at most: many different numbers of repeats would need more."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedDifference:
    """The difference of two models, first minus second, on the cases asked of both.

    Attributes:
        shift: per case the difference of the shares of outputs that break a rule, in [-1, 1], and 0 or 1 in size where
            each case is asked once.
        whole: the same times the weight of the case, as whole numbers of one unit.
        weights: of the cases.
        surer: whether repeats may make the mean difference surer than one answer a case would. Not where outputs are
            open: another completion might have repeats that agree less.
    """

    shift: Floats
    whole: Ints
    weights: Ints
    surer: bool = True

    @property
    def n(self) -> int:
        """Cases asked of both that have a weight."""
        import numpy as np

        return int(np.count_nonzero(self.weights > 0))

    @property
    def difference(self) -> float | None:
        """The mean difference; None without a common case."""
        total = int(self.weights.sum())
        return float(self.shift @ self.weights) / total if total else None


def pair(
    grid: Grid, first: int, second: int, completions: tuple[Completion, Completion] = ("seen", "seen")
) -> PairedDifference:
    """The pair of two models by their numbers, each with its open outputs read in its own way."""
    import numpy as np

    sizes = [grid.sizes(how)[model] for model, how in zip((first, second), completions, strict=True)]
    failures = [grid.failures(how)[model] for model, how in zip((first, second), completions, strict=True)]
    both = (sizes[0] > 0) & (sizes[1] > 0) & (grid.weights > 0)
    (m, n), (x, y) = (size[both] for size in sizes), (failed[both] for failed in failures)
    unit = min(_FINEST, math.lcm(*map(int, np.unique(np.concatenate([m, n])))))
    weights = grid.weights[both]
    shift = x / m - y / n
    return PairedDifference(shift, np.rint(shift * unit).astype(np.int64) * weights, weights)


@dataclass(frozen=True, slots=True, eq=False)
class Statements:
    """The two statements that a decision rests on, of one model and another, each with what speaks most against it.

    Attributes:
        worse: "the first breaks its rules more often than the second": what is open counts for the first and against
            the second.
        close: "the first breaks its rules less than a tolerance more often than the second": the other way round.
    """

    worse: PairedDifference
    close: PairedDifference


Reading = Literal["against", "seen", "for"]
"""How to read what is open: as speaks most against a statement, not at all, or as speaks most for it."""


def statements(grid: Grid, first: int, second: int, *, reading: Reading = "against") -> Statements:
    """The statements on two models by their numbers; a claim is made of those that are read ``against``."""
    if reading == "seen" or not (grid.missing(first) or grid.missing(second)):
        paired = pair(grid, first, second)
        return Statements(paired, paired)
    if reading == "for":
        return Statements(pair(grid, first, second, ("worst", "best")), pair(grid, first, second, ("best", "worst")))
    worse, close = pair(grid, first, second, ("best", "worst")), pair(grid, first, second, ("worst", "best"))
    return Statements(worse, replace(close, surer=False))


def more_failures_p(paired: PairedDifference) -> float:
    """The two-sided p-value behind "the first breaks its rules more often than the second", 1 where it does not.

    Exact sign flips of the differences of the cases.
    """
    return sign_flip_p(paired.whole) if int(paired.whole.sum()) > 0 else 1.0


def tie_p(paired: PairedDifference, tolerance: float) -> float:
    """The one-sided p-value against "the first breaks its rules less than ``tolerance`` more often than the second".

    Tango's non-inferiority test at the number of pairs asked once that are worth as much. 1 without a common case.
    """
    if paired.n == 0:
        return 1.0
    kept, broke, size = once_asked(paired)
    return non_inferiority_p(kept, broke, size, tolerance)


def difference_interval(paired: PairedDifference, confidence: float = 0.95) -> Interval:
    """The mean difference, first minus second, with Tango's interval at the pairs asked once that are worth as much.

    With Student's quantile for as many cases, since with few of them the normal one covers 93% only. Where the exact
    test of the same pairs tells the two apart and the interval does not, since few cases differ, what the repeats are
    worth is not drawn towards nothing; and it ends at 0 at the latest: beside a claim it does not deny it.
    """
    if paired.n == 0:
        return Interval(None, -1.0, 1.0, confidence, 0, "tango")
    d = paired.difference
    assert d is not None
    low, high = _tango_ends(paired, d, confidence, _PRIOR_CASES)
    if low <= 0.0 <= high and sign_flip_p(paired.whole) <= 1.0 - confidence:
        low, high = _tango_ends(paired, d, confidence, 0.0)
        low, high = (max(low, 0.0), high) if d > 0.0 else (low, min(high, 0.0))
    return Interval(d, low, high, confidence, paired.n, "tango")


def _tango_ends(paired: PairedDifference, difference: float, confidence: float, prior: float) -> tuple[float, float]:
    kept, broke, size = once_asked(paired, prior=prior)
    interval = tango_interval(broke, kept, size, confidence, df=max(1, paired.n - 1))
    return min(interval.low, difference), max(interval.high, difference)


def once_asked(paired: PairedDifference, *, prior: float = _PRIOR_CASES) -> tuple[float, float, float]:
    """What the differences are worth as pairs of outputs asked once: only the second fails, only the first, all pairs.

    Repeats make the differences of the cases smaller than 0 or 1, and so their mean surer than that of as many pairs
    asked once; where few cases differ, that gain is drawn towards none. With one repeat these are the counts.
    """
    import numpy as np

    weights = paired.weights.astype(np.float64)
    total, of_squares, weighed = float(weights.sum()), float(weights @ weights), weights * paired.shift
    size = total**2 / of_squares
    apart = size * float(np.abs(weighed).sum()) / total
    squares = size * float(weighed @ weighed) / of_squares
    spread = (prior + squares) / (prior + apart) if paired.surer and prior + apart > 0.0 else 1.0
    size /= spread
    broke = size * float(np.maximum(weighed, 0.0).sum()) / total
    kept = size * float(np.maximum(-weighed, 0.0).sum()) / total
    return _rounded(kept), _rounded(broke), _rounded(size)


def _rounded(count: float) -> float:
    """A whole number where the count is one but for rounding."""
    near = round(count)
    return float(near) if abs(count - near) < 1e-9 * max(1.0, abs(count)) else count
