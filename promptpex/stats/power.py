"""How many cases a wanted difference or an undecided pair of models would take."""

from __future__ import annotations

import math
from functools import lru_cache

from promptpex.errors import InputError
from promptpex.stats.arguments import require_share
from promptpex.stats.paired import PairedCounts
from promptpex.stats.special import binomial_cdf, binomial_mass, normal_cdf, normal_quantile, two_sided_z

_EXACT_UP_TO = 1_000


def mcnemar_power(n: int, first_only: float, second_only: float, *, alpha: float = 0.05) -> float:
    """The chance that McNemar's exact test over ``n`` pairs finds the difference, in the right direction.

    Up to 1,000 pairs summed over the number of discordant pairs and its test (the unconditional power of
    Duffy 1984, Biometrics 40:1005); beyond by the normal approximation of Connor 1987, Biometrics 43:207.

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
    if n > _EXACT_UP_TO:
        gap = large - small
        spread = math.sqrt(max(discordant - gap * gap, 1e-12))
        return normal_cdf((gap * math.sqrt(n) - two_sided_z(1.0 - alpha) * math.sqrt(discordant)) / spread)
    reach = 6.0 * math.sqrt(n * discordant * (1.0 - discordant)) + 2.0
    first = max(0, math.floor(n * discordant - reach))
    last = min(n, math.ceil(n * discordant + reach))
    total = 0.0
    for m in range(first, last + 1):
        critical = _critical(m, alpha)
        if critical >= 0:
            total += binomial_mass(m, n, discordant) * binomial_cdf(critical, m, small / discordant)
    return min(1.0, total)


@lru_cache(maxsize=65_536)
def _critical(m: int, alpha: float) -> int:
    """The largest smaller count of ``m`` discordant pairs that McNemar's exact test still calls different."""
    guess = math.floor(m / 2.0 - two_sided_z(1.0 - alpha) * math.sqrt(m) / 2.0)
    k = min(max(guess, -1), m)
    while 2.0 * binomial_cdf(k + 1, m, 0.5) <= alpha:
        k += 1
    while k >= 0 and 2.0 * binomial_cdf(k, m, 0.5) > alpha:
        k -= 1
    return k


def cases_for_difference(
    first_only: float, second_only: float, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """The cases that McNemar's exact test needs to find a paired difference with probability ``power``.

    ``None`` when the shares are equal: then no number of cases finds a difference. Found by search over
    `mcnemar_power`, up from the approximation of Connor 1987, which is too low for the exact test.
    """
    _require_shares(first_only, second_only)
    require_share("power", power)
    require_share("alpha", alpha)
    gap, discordant = abs(first_only - second_only), first_only + second_only
    if gap < 1e-12:
        return None
    z_alpha, z_power = two_sided_z(1.0 - alpha), normal_quantile(power)
    spread = math.sqrt(max(discordant - gap * gap, 0.0))
    approximate = max(1, math.ceil(((z_alpha * math.sqrt(discordant) + z_power * spread) / gap) ** 2))
    if approximate > _EXACT_UP_TO:
        return approximate
    low, high = 0, approximate + math.ceil(1.0 / gap)
    while mcnemar_power(high, first_only, second_only, alpha=alpha) < power:
        low, high = high, math.ceil(1.25 * high) + 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = mcnemar_power(middle, first_only, second_only, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def cases_for_non_inferiority(
    first_only: float, second_only: float, margin: float, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """The cases that show, with probability ``power``, that the first is less than ``margin`` worse.

    The normal approximation of Lu and Bean 1995 (Stat. Med. 14:1831) with the variance under the hypothesis
    for the critical value; ``None`` when the first is in truth worse by the margin or more.
    """
    _require_shares(first_only, second_only)
    for name, value in (("margin", margin), ("power", power), ("alpha", alpha)):
        require_share(name, value)
    difference, discordant = first_only - second_only, first_only + second_only
    room = difference + margin
    if room <= 1e-12:
        return None
    null = math.sqrt(max(discordant, margin) - margin * margin)
    alternative = math.sqrt(max(discordant - difference * difference, 0.0))
    needed = (-normal_quantile(alpha) * null + max(0.0, normal_quantile(power)) * alternative) / room
    return max(1, math.ceil(needed**2))


def more_cases_to_decide(
    counts: PairedCounts,
    tolerance: float,
    *,
    power: float = 0.8,
    alpha_difference: float = 0.05,
    alpha_tolerance: float = 0.05,
) -> int | None:
    """How many more cases would probably decide an undecided pair: either way, whichever comes first.

    Either the first is found to differ from the second, or it is shown to be within ``tolerance`` of it. A
    plan, not a promise: it takes the shares of discordant pairs seen so far, with half a pair added on each
    side so that none is taken for impossible, for the true ones. ``None`` when neither would ever be shown.
    """
    b = (counts.first_only + 0.5) / (counts.n + 1.0)
    c = (counts.second_only + 0.5) / (counts.n + 1.0)
    ways = (
        cases_for_difference(b, c, power=power, alpha=alpha_difference),
        cases_for_non_inferiority(b, c, tolerance, power=power, alpha=alpha_tolerance),
    )
    possible = [way for way in ways if way is not None]
    return max(1, min(possible) - counts.n) if possible else None


def _require_shares(first_only: float, second_only: float) -> None:
    if min(first_only, second_only) < 0.0 or first_only + second_only > 1.0 + 1e-12:
        raise InputError(
            f"Discordant shares {first_only} and {second_only} are impossible: they may add up to 1 at most."
        )
