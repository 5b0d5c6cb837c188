"""Has a model become worse than a baseline by more than a margin, and not by chance alone?

Both tests are one-sided: their p-value is against "it breaks its rules at most ``margin`` more often".
"""

from __future__ import annotations

from promptpex.core.errors import InputError
from promptpex.stats.compare_two_models import PairedDifference, once_asked
from promptpex.stats.noninferiority import inferiority_p
from promptpex.stats.outcome_grid import Completion, Grid
from promptpex.stats.proportions import repeat_correlation, share_interval
from promptpex.stats.sign_flip import sign_flip_p
from promptpex.stats.two_sample import difference_of_intervals

_HALVINGS = 40
"""Steps in which the level of an interval is found: to a trillionth of it."""
_SUREST = 1e-9
"""The smallest p-value that is told apart: intervals of higher confidence end where shares do."""


def regression_p(paired: PairedDifference, margin: float) -> float:
    """The p-value where both were asked the same cases: of the first of the pair, now, against the second, before.

    With a margin, the exact test of Tango's statistic at the number of pairs asked once that the repeats are worth
    (`inferiority_p`). Without one, exact sign flips of the differences of the cases; what does not show a rise shows no
    rise by more than a margin either. 1 without a common case.

    Raises:
        InputError: the margin is not a share below 1.
    """
    _require_margin(margin)
    if paired.n == 0:
        return 1.0
    if margin == 0.0:
        return sign_flip_p(paired.whole) / 2.0 if int(paired.whole.sum()) > 0 else 1.0
    kept, broke, size = once_asked(paired)
    return max(inferiority_p(kept, broke, size, margin), regression_p(paired, 0.0))


def unpaired_regression_p(
    now: Grid, before: Grid, model: int, margin: float, completions: tuple[Completion, Completion] = ("seen", "seen")
) -> float:
    """The p-value where the cases are not the same: the level at which the interval of the difference of two
    independent shares (`difference_of_intervals`) would end at the margin.

    Args:
        now, before: the outputs of either, with the same models.
        model: its number in both.
        margin: from 0 to 1.
        completions: how open outputs are read, of now and of before.

    Raises:
        InputError: the margin is not a share below 1.
    """
    _require_margin(margin)
    sides = list(zip((now, before), completions, strict=True))
    alike = [repeat_correlation(grid, how) for grid, how in sides]

    def least(p: float) -> float:
        """The lower end of the difference at the one-sided level ``p``."""
        ends = [
            share_interval(grid, model, correlation=one, confidence=1.0 - 2.0 * p, completion=how)
            for (grid, how), one in zip(sides, alike, strict=True)
        ]
        return difference_of_intervals(ends[0], ends[1]).low

    low, high = _SUREST, 0.5 - _SUREST
    if least(high) <= margin:
        return 1.0
    if least(low) > margin:
        return low
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if least(middle) > margin else (middle, high)
    return high


def _require_margin(margin: float) -> None:
    if not 0.0 <= margin < 1.0:
        raise InputError(f"The margin is {margin}: give a share from 0 to less than 1, such as 0.03.")
