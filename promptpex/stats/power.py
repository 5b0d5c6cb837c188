"""The chance that the exact test of two models finds a difference, and the search for a number that is enough."""

from __future__ import annotations

import math
from collections.abc import Callable

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_share
from promptpex.stats.noninferiority import log_factorials
from promptpex.stats.special import binomial_mass, normal_cdf, two_sided_z

_DISCORDANT_EXACT = 1_000
"""Differing cases up to which McNemar's power is summed up; beyond, the normal one is within 0.001 of it (measured)."""
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
