"""How small a difference a suite will probably show, before anything is paid."""

from __future__ import annotations

from functools import lru_cache

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_share
from promptpex.stats.power import mcnemar_power

POWER = 0.8
"""A convention: four chances in five to show what is there (Cohen 1988, Statistical Power Analysis, p. 56)."""

ALIKE = 0.5
"""How alike the repeats of a case are taken to be: halfway between chance alone and the case alone."""


def worth_of_repeats(cases: int, repeats: int, alike: float = ALIKE) -> float:
    """How many cases, asked once each, so many cases with repeats are worth."""
    return cases / (alike + (1.0 - alike) / repeats)


@lru_cache(maxsize=256)
def likely_gap(cases: int, models: int, rate: float, *, repeats: int = 1, alpha: float = 0.05) -> float | None:
    """The smallest difference in non-compliance, in whole points, that is shown with probability 0.8.

    One model fails a share ``rate`` of the cases and the other more, each on its own; by McNemar's exact test at the
    first step of Holm's correction over all pairs of models, the hardest.

    Args:
        cases: of the suite.
        models: that are compared, 2 or more.
        rate: the non-compliance of the better one.
        repeats: how often each case is asked; repeats of a case are taken to be alike by a half.
        alpha: the error rate over all pairs.

    Returns:
        The difference as a share; None where none is likely to be shown.
    """
    if cases < 1 or models < 2 or repeats < 1:
        raise InputError(f"{cases} cases, {models} models and {repeats} repeats show no difference: two models differ.")
    require_share("alpha", alpha)
    pairs, n = models * (models - 1) // 2, round(worth_of_repeats(cases, repeats))

    def shown(points: int) -> bool:
        more = rate + points / 100.0
        return mcnemar_power(n, (1.0 - rate) * more, rate * (1.0 - more), alpha=alpha / pairs) >= POWER

    most = int(100.0 * (1.0 - rate) + 1e-9)
    if most < 1 or not shown(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high / 100.0
