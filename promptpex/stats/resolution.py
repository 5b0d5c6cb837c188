"""What a suite can show at best, before anything is paid: the smallest gap, the smallest tie, the cases needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_share
from promptpex.stats.intervals import exact_bounds
from promptpex.stats.noninferiority import EXACT_UP_TO, non_inferiority_p
from promptpex.stats.power import cases_for_difference, cases_for_non_inferiority, least_number

_POWER = 0.8
"""A convention: four chances in five to show what is there (Cohen 1988, Statistical Power Analysis, p. 56)."""
_STEPS = 1_000
"""The smallest tie is found to a tenth of a point: finer than it is shown."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The finest statements that so many cases and models allow.

    All shares are of cases, from 0 to 1. With one model there is nothing to compare, and whatever is about two models
    is ``None``.

    Attributes:
        models: models that are compared.
        tolerance: the size of gap or tie that the numbers of cases are for.
        rate: the non-compliance that the typical figures suppose.
        gap: the smallest difference in non-compliance that could be called: so many cases differ in every repeat, all
            in favour of one model, and none the other way. ``None`` when not even all cases would be enough.
        tie: the smallest tolerance within which models whose answers are identical could be shown tied, in steps of
            0.001; ``None`` when there is none.
        half_width: half of the width of the interval of one model's non-compliance, if that is ``rate``.
        cases_to_call: the least number of cases at which a gap of ``tolerance`` could be called at all.
        cases_to_tie: the least at which identical models could be shown tied within ``tolerance``.
        typical_to_call: the number at which a model that fails a share ``rate`` of the cases and one that fails
            ``tolerance`` more, each on its own, are told apart with probability 0.8.
        typical_to_tie: the number at which a model is shown tied to all others with probability 0.8 or more, where
            all fail a share ``rate`` of the cases, each on its own.
    """

    models: int
    tolerance: float
    rate: float
    gap: float | None
    tie: float | None
    half_width: float
    cases_to_call: int | None
    cases_to_tie: int | None
    typical_to_call: int | None
    typical_to_tie: int | None


@lru_cache(maxsize=256)
def smallest_shown(
    cases: int, models: int, alpha: float = 0.05, *, tolerance: float = 0.05, rate: float = 0.1
) -> Resolution:
    """What can be shown at best by a suite of so many cases. However often each is asked, that adds no cases.

    A gap is called by the exact sign-flip test of each pair of models (McNemar's where no repeats disagree), Holm's
    first step over all pairs: that is the hardest, and the only one that a single gap can rely on. A tie is shown by
    `non_inferiority_p` against each other model; of ``models`` claims of a tie one fewer can be false, since the best
    is never out of tolerance.

    Args:
        cases: cases of the suite, 1 or more.
        models: models that are compared, 1 or more.
        alpha: the error rate over all statements of a kind together.
        tolerance: the size of gap or tie that the numbers of cases are for.
        rate: the non-compliance of the typical figures; ``rate + tolerance`` is at most 1.

    Raises:
        InputError: a count below 1, or shares outside their range.
    """
    _require(cases, models, rate, tolerance, alpha)
    low, high = exact_bounds(rate, cases, 1.0 - alpha)
    several = models > 1
    pairs, others = models * (models - 1) // 2, max(1, models - 1)
    needed = _cases_that_differ(pairs, alpha) if several else 0
    return Resolution(
        models=models,
        tolerance=tolerance,
        rate=rate,
        gap=needed / cases if several and needed <= cases else None,
        tie=_smallest_tie(cases, alpha / others) if several else None,
        half_width=(high - low) / 2.0,
        cases_to_call=math.ceil(needed / tolerance - 1e-9) if several else None,
        cases_to_tie=_cases_to_tie(tolerance, alpha / others) if several else None,
        typical_to_call=_typical_to_call(rate, tolerance, alpha / pairs) if several else None,
        typical_to_tie=_typical_to_tie(rate, tolerance, alpha, others) if several else None,
    )


def _require(cases: int, models: int, rate: float, tolerance: float, alpha: float) -> None:
    for name, count in (("cases", cases), ("models", models)):
        if count < 1:
            raise InputError(f"{count} {name} can show nothing: give 1 or more.")
    require_share("alpha", alpha)
    require_share("tolerance", tolerance)
    if not 0.0 <= rate <= 1.0 - tolerance + 1e-12:
        raise InputError(f"The rate {rate} and the tolerance {tolerance} are impossible: they add up to 1 at most.")


def _cases_that_differ(pairs: int, alpha: float) -> int:
    """The least m with 2 ** (1 - m) * pairs <= alpha: m signs that all fall one way, by chance."""
    m = 1
    while 2.0 ** (1 - m) * pairs > alpha:
        m += 1
    return m


def _smallest_tie(cases: int, alpha: float) -> float | None:
    def shown(step: int) -> bool:
        return non_inferiority_p(0, 0, cases, step / _STEPS) <= alpha

    if not shown(_STEPS - 1):
        return None
    low, high = 0, _STEPS - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high / _STEPS


def _cases_to_tie(tolerance: float, alpha: float) -> int:
    def shown(n: int) -> bool:
        return non_inferiority_p(0, 0, n, tolerance) <= alpha

    # The chance to see nothing of a share as large as the tolerance; no exact p is below it.
    least = math.ceil(math.log(alpha) / math.log1p(-tolerance))
    for n in range(max(1, least), EXACT_UP_TO + 1):
        if shown(n):
            return n
    return least_number(shown, max(least, EXACT_UP_TO + 1))


def _typical_to_call(rate: float, tolerance: float, alpha: float) -> int | None:
    more = rate + tolerance
    return cases_for_difference((1.0 - rate) * more, rate * max(0.0, 1.0 - more), power=_POWER, alpha=alpha)


def _typical_to_tie(rate: float, tolerance: float, alpha: float, others: int) -> int | None:
    # The chances to miss any of the others add up to 1 - _POWER at most.
    power = 1.0 - (1.0 - _POWER) / others
    apart = rate * (1.0 - rate)
    return cases_for_non_inferiority(apart, apart, tolerance, power=power, alpha=alpha / others)
