"""How many more cases would probably settle an undecided model: a range, since the data leave much open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpex.stats.compare_two_models import once_asked, pair
from promptpex.stats.outcome_grid import Grid
from promptpex.stats.special import normal_quantile, two_sided_z

if TYPE_CHECKING:
    from promptpex.stats.outcome_grid import Floats

_DRAWS = 400
"""Enough for the ends: their rank has a standard error of 1.5 points."""
_POWER = 0.8
"""A convention: four chances in five to show what is there (Cohen 1988, Statistical Power Analysis, p. 56)."""
_ENDS = (0.1, 0.9)
"""A convention: four in five draws lie between them; for a plan the extremes say little."""


@dataclass(frozen=True, slots=True)
class MoreCases:
    """Cases beyond those that both models have.

    Attributes:
        low, high: in one of ten worlds that fit what was seen, fewer than ``low`` would decide with probability
            0.8; in one of ten, more than ``high``. ``high`` is None where it may be that no number would.
    """

    low: int
    high: int | None


def more_cases(grid: Grid, model: int, tolerance: float, *, alpha_worse: float, alpha_tie: float) -> MoreCases | None:
    """How many more cases would probably decide about a model, either way: worse than another, or tied.

    A plan, no promise: shares of cases on which only one of two models fails are drawn from their posterior
    distribution (Jeffreys' prior for each kind of difference), and for each draw the cases are counted that the paired
    test (Connor 1987, Biometrics 43:207), or the non-inferiority tests against all other models (Tango 1998, Stat. Med.
    17:891), need to show it with probability 0.8. The same outputs give the same range.

    Args:
        grid: the outputs.
        model: the number of the undecided model.
        tolerance: as for `suitability`.
        alpha_worse, alpha_tie: the levels that the next statement of each kind has to pass.

    Returns:
        The range; None where there is no other model to be compared with.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    rivals = [other for other in range(len(grid.models)) if other != model and pair(grid, model, other).n]
    if not rivals:
        return None
    needed = np.zeros(_DRAWS)
    worse = np.full(_DRAWS, np.inf)
    for rival in rivals:
        paired = pair(grid, model, rival)
        better_only, worse_only, size = once_asked(paired)
        only_first, only_second, _ = rng.dirichlet(
            (better_only + 0.5, worse_only + 0.5, size - better_only - worse_only + 1.0), _DRAWS
        ).T
        stretch = paired.n / size
        tie = _for_tie(only_first - only_second, only_first + only_second, tolerance, alpha_tie)
        needed = np.maximum(needed, stretch * tie - paired.n)
        apart = _for_difference(only_first - only_second, only_first + only_second, alpha_worse)
        worse = np.minimum(worse, stretch * apart - paired.n)
    low, high = np.quantile(np.minimum(needed, worse), _ENDS, method="higher")
    if not math.isfinite(low):
        return None
    return MoreCases(max(1, math.ceil(low)), max(1, math.ceil(high)) if math.isfinite(high) else None)


def _for_difference(gap: Floats, apart: Floats, alpha: float) -> Floats:
    """Pairs that the paired test needs to show the first worse; infinite where it is not."""
    import numpy as np

    with np.errstate(divide="ignore"):
        root = two_sided_z(1.0 - alpha) * np.sqrt(apart) + normal_quantile(_POWER) * np.sqrt(apart - gap**2)
        needed: Floats = np.where(gap < 0.0, (root / gap) ** 2, np.inf)
    return needed


def _for_tie(gap: Floats, apart: Floats, tolerance: float, alpha: float) -> Floats:
    """Pairs that the non-inferiority test needs; infinite where the first is worse by the tolerance or more."""
    import numpy as np

    room = gap + tolerance
    null = np.sqrt(np.maximum(apart, tolerance) - tolerance**2)
    root = -normal_quantile(alpha) * null + normal_quantile(_POWER) * np.sqrt(np.maximum(apart - gap**2, 0.0))
    with np.errstate(divide="ignore"):
        needed: Floats = np.where(room > 0.0, (root / room) ** 2, np.inf)
    return needed
