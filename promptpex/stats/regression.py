"""Has a model become worse than a baseline by more than a margin, and not by chance alone?

The test is one-sided: its p-value is against "it breaks its rules at most ``margin`` more often".
"""

from __future__ import annotations

from promptpex.core.errors import InputError
from promptpex.stats.compare_two_models import PairedDifference, once_asked
from promptpex.stats.noninferiority import inferiority_p
from promptpex.stats.power import least_number
from promptpex.stats.sign_flip import sign_flip_p


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


def cases_to_show(cases: int, margin: float, alpha: float) -> int:
    """How many cases, asked once, could show a rise by more than the margin, if all of them newly failed: ``cases``
    where those are enough.

    Raises:
        InputError: the margin is not a share below 1.
    """
    _require_margin(margin)

    def could(count: int) -> bool:
        p = 0.5**count if margin == 0.0 else max(0.5**count, inferiority_p(0, count, count, margin))
        return p <= alpha

    return cases if could(cases) else least_number(could, cases + 1)


def _require_margin(margin: float) -> None:
    if not 0.0 <= margin < 1.0:
        raise InputError(f"The margin is {margin}: give a share from 0 to less than 1, such as 0.03.")
