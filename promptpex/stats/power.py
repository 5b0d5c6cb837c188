"""How many cases a wanted difference or a wanted tie of two models would take."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_share
from promptpex.stats.noninferiority import EXACT_UP_TO, log_factorials, scores_of, shown_outcomes
from promptpex.stats.special import binomial_mass, normal_cdf, normal_quantile, two_sided_z
from promptpex.stats.tango_interval import restricted_shares

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Counts = npt.NDArray[np.int64]

_DISCORDANT_EXACT = 1_000
"""Differing cases up to which McNemar's power is summed up; beyond, the normal one is within 0.001 of it (measured)."""
_CELLS_EXACT = 200_000
"""Outcomes up to which the power of a tie is summed up: a few MB; beyond, the score's normal power is taken."""
_SPREADS = 7.0
"""Standard deviations on both sides of a count's mean that are summed up; more changes no power by 1e-10."""


def mcnemar_power(n: int, first_only: float, second_only: float, *, alpha: float = 0.05) -> float:
    """The chance that McNemar's exact test over ``n`` pairs finds the difference, in the right direction.

    Summed over the number of discordant pairs and its test (the unconditional power of Duffy 1984, Biometrics
    40:1005). Where more than 1,000 discordant pairs are expected, the normal approximation of Connor 1987, Biometrics
    43:207, corrected for continuity, which is within 0.2 points of the sum there.

    Args:
        n: pairs.
        first_only: share of all cases on which only the first passes.
        second_only: share on which only the second passes.
        alpha: two-sided level.
    """
    _require_shares(first_only, second_only)
    require_share("alpha", alpha)
    large, small = max(first_only, second_only), min(first_only, second_only)
    discordant = large + small
    if n < 1 or discordant == 0.0:
        return 0.0
    if n * discordant <= _DISCORDANT_EXACT:
        return _summed_mcnemar_power(n, min(1.0, discordant), small / discordant, alpha)
    gap = large - small
    spread = math.sqrt(max(discordant - gap * gap, 1e-12))
    reached = gap * math.sqrt(n) - two_sided_z(1.0 - alpha) * math.sqrt(discordant) - 1.0 / math.sqrt(n)
    return normal_cdf(reached / spread)


def _summed_mcnemar_power(n: int, discordant: float, smaller: float, alpha: float) -> float:
    """``smaller`` is the share of the discordant pairs that speak for the worse side."""
    import numpy as np

    first, last = _window(n, discordant)
    m, k = np.arange(first, last + 1)[:, None], np.arange(last // 2 + 1)[None, :]
    logs = log_factorials(last)
    ways = np.where(k <= m, logs[m] - logs[k] - logs[np.maximum(m - k, 0)], -np.inf)
    is_significant = 2.0 * np.cumsum(np.exp(ways - m * math.log(2.0)), axis=1) <= alpha * (1.0 + 1e-12)
    share, other = max(smaller, 1e-300), max(1.0 - smaller, 1e-300)
    powers = (np.exp(ways + k * math.log(share) + (m - k) * math.log(other)) * is_significant).sum(axis=1)
    masses = [binomial_mass(count, n, discordant) for count in range(first, last + 1)]
    return float(min(1.0, powers @ np.asarray(masses)))


def _window(n: int, share: float) -> tuple[int, int]:
    """The least and the greatest count of ``n`` that has a probability worth counting."""
    reach = _SPREADS * math.sqrt(n * share * (1.0 - share)) + 10.0
    return max(0, math.floor(n * share - reach)), min(n, math.ceil(n * share + reach))


def non_inferiority_power(
    n: int, first_only: float, second_only: float, margin: float, *, alpha: float = 0.05
) -> float:
    """The chance that `non_inferiority_p` over ``n`` pairs shows the first to be less than ``margin`` worse.

    Summed over all outcomes that show it, by the exact test up to 150 pairs and by the score test beyond; where those
    are too many to sum (hundreds of discordant pairs on both sides), by the normal approximation of the score.

    Args:
        n: pairs.
        first_only: share of all cases on which only the first passes.
        second_only: share on which only the second passes.
        margin: the greatest loss that is tolerated, as a share.
        alpha: one-sided level.
    """
    import numpy as np

    _require_shares(first_only, second_only)
    for name, value in (("margin", margin), ("alpha", alpha)):
        require_share(name, value)
    if n < 1:
        return 0.0
    if n <= EXACT_UP_TO:
        return _mass(n, *shown_outcomes(n, margin, alpha), first_only, second_only)
    (low, high), (least, most) = _window(n, first_only), _window(n, second_only)
    if (high - low + 1) * (most - least + 1) > _CELLS_EXACT:
        return _score_power(n, first_only, second_only, margin, alpha)
    first, second = (grid.ravel() for grid in np.mgrid[low : high + 1, least : most + 1])
    possible = first + second <= n
    first, second = first[possible], second[possible]
    is_shown = scores_of(first, second, n, margin) >= -normal_quantile(alpha)
    return _mass(n, first[is_shown], second[is_shown], first_only, second_only)


def _mass(n: int, first: Counts, second: Counts, first_only: float, second_only: float) -> float:
    """The probability of these outcomes of ``n`` pairs together."""
    import numpy as np

    if len(first) == 0:
        return 0.0
    rest, logs = n - first - second, log_factorials(int(max(first.max(), second.max())))
    least = int(rest.min())
    # log(n! / rest!), from the least rest on: the factorials of all n themselves would take memory and precision.
    rising = np.concatenate([[0.0], np.cumsum(np.log(np.arange(least + 1, n + 1)))])
    terms = rising[n - least] - rising[rest - least] - logs[first] - logs[second]
    for count, share in zip(
        (first, second, rest), (first_only, second_only, 1.0 - first_only - second_only), strict=True
    ):
        terms = terms + count * math.log(max(share, 1e-300))
    return float(min(1.0, np.exp(terms).sum()))


def _score_power(n: int, first_only: float, second_only: float, margin: float, alpha: float) -> float:
    null, alternative, room = _score_spreads(first_only, second_only, margin)
    reached = room * math.sqrt(n) + normal_quantile(alpha) * null
    return normal_cdf(reached / alternative) if alternative > 0.0 else float(reached >= 0.0)


def _score_spreads(first_only: float, second_only: float, margin: float) -> tuple[float, float, float]:
    """The standard deviation of one pair under the hypothesis and in truth, and how far truth is from the margin."""
    difference, discordant = first_only - second_only, first_only + second_only
    _, q = restricted_shares(first_only, second_only, 1.0, -margin)
    null = math.sqrt(max(2.0 * q - margin * (1.0 + margin), 0.0))
    return null, math.sqrt(max(discordant - difference * difference, 0.0)), difference + margin


@lru_cache(maxsize=4096)
def cases_for_difference(
    first_only: float, second_only: float, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """The cases that McNemar's exact test needs to find a paired difference with probability ``power``.

    ``None`` when the shares are equal: then no number of cases finds a difference. A number at which `mcnemar_power`
    is reached and with one case fewer is not; it falls a little now and then as cases are added, as exact tests' do.
    """
    _require_shares(first_only, second_only)
    require_share("power", power)
    require_share("alpha", alpha)
    gap, discordant = abs(first_only - second_only), first_only + second_only
    if gap < 1e-12:
        return None
    z = two_sided_z(1.0 - alpha) * math.sqrt(discordant) + normal_quantile(power) * math.sqrt(
        max(discordant - gap * gap, 0.0)
    )
    guess = ((max(z, 0.0) + math.sqrt(max(z, 0.0) ** 2 + 4.0 * gap)) / (2.0 * gap)) ** 2
    return least_number(lambda n: mcnemar_power(n, first_only, second_only, alpha=alpha) >= power, math.ceil(guess))


@lru_cache(maxsize=4096)
def cases_for_non_inferiority(
    first_only: float, second_only: float, margin: float, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """The cases that show, with probability ``power``, that the first is less than ``margin`` worse.

    A number at which `non_inferiority_power` is reached and with one case fewer is not; ``None`` when the first is in
    truth worse by the margin or more.
    """
    _require_shares(first_only, second_only)
    for name, value in (("margin", margin), ("power", power), ("alpha", alpha)):
        require_share(name, value)
    null, alternative, room = _score_spreads(first_only, second_only, margin)
    if room <= 1e-12:
        return None
    guess = ((-normal_quantile(alpha) * null + normal_quantile(power) * alternative) / room) ** 2

    def enough(n: int) -> bool:
        return non_inferiority_power(n, first_only, second_only, margin, alpha=alpha) >= power

    return least_number(enough, math.ceil(guess))


def least_number(enough: Callable[[int], bool], guess: int) -> int:
    """A number that is enough, where one fewer is not, searched up or down from a guess."""
    guess = max(1, guess)
    step = 1 + guess // 32
    low, high = guess, guess
    while not enough(high):
        low, high, step = high, high + step, 2 * step
    if low == high:
        low = max(0, high - step)
        while low > 0 and enough(low):
            step *= 2
            low, high = max(0, low - step), low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _require_shares(first_only: float, second_only: float) -> None:
    if min(first_only, second_only) < 0.0 or first_only + second_only > 1.0 + 1e-12:
        raise InputError(
            f"Discordant shares {first_only} and {second_only} are impossible: they may add up to 1 at most."
        )
