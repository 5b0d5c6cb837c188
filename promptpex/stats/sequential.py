"""Confidence sequences: intervals that hold at every look at once, so that one may stop when one likes.

Each is a mixture martingale: the likelihood of the data averaged over a prior, divided by their likelihood at
a hypothetical value. At the true value that ratio starts at 1 and has expectation at most 1 for ever, so by
Ville's inequality it ever reaches 1/alpha with probability alpha at most; the values at which it stays below
are the interval (Robbins 1970, Ann. Math. Stat. 41:1397; Howard, Ramdas, McAuliffe and Sekhon 2021, Ann.
Stat. 49:1055; for discordant pairs and betting on bounded means Waudby-Smith and Ramdas 2023, JRSS B 86:1).
They depend on counts alone and take microseconds, so thousands of looks are free.

What they need: the cases arrive in random order (a seeded shuffle of the suite), and a case counts once:
repeats of a case are first made one value.
"""

from __future__ import annotations

import math
from typing import Literal

from promptpex.errors import InputError
from promptpex.stats.arguments import require_counts, require_share
from promptpex.stats.intervals import Interval
from promptpex.stats.paired import PairedCounts, restricted_shares
from promptpex.stats.special import crossing, log_beta

Side = Literal["below", "above", "undecided"]

_SHARE_PRIOR = (0.5, 0.5)
_SIGN_PRIOR = (1.0, 1.0)
# Models mostly agree on a case; the prior that says so needs fewest cases and is as valid as any other.
_PAIR_PRIOR = (0.5, 0.5, 2.0)


def share_sequence(total: float, n: int, confidence: float = 0.95) -> Interval:
    """An interval for a share, or for the mean of values in [0, 1], that holds at every n at once.

    The beta mixture with Jeffreys' prior. It is exact for 0/1; for other values in [0, 1] it is valid as well,
    because the logarithm's convexity makes the same ratio at most what betting on their mean would have won.

    Args:
        total: successes so far, or the sum of the values.
        n: observations so far.
        confidence: that no interval of the whole sequence misses the truth.
    """
    require_counts(total, n)
    require_share("confidence", confidence)
    if n == 0:
        return Interval(None, 0.0, 1.0, confidence, 0, "anytime")
    a, b = _SHARE_PRIOR
    mixture = log_beta(a + total, b + n - total) - log_beta(a, b)
    reach = -math.log(1.0 - confidence)

    def room(p: float) -> float:
        return reach - mixture + _log_power(p, total) + _log_power(1.0 - p, n - total)

    share = total / n
    low = 0.0 if total == 0 else crossing(room, 0.0, share)
    high = 1.0 if total == n else crossing(room, share, 1.0)
    return Interval(share, low, high, confidence, n, "anytime")


def _log_power(base: float, exponent: float) -> float:
    """log(base ** exponent), with 0 ** 0 = 1."""
    if exponent == 0:
        return 0.0
    return exponent * math.log(base) if base > 0.0 else -math.inf


def sign_log_evidence(counts: PairedCounts) -> float:
    """Log of the evidence so far against "both pass equally often", from the discordant pairs alone.

    McNemar's question under continuous watching: under the hypothesis each discordant pair is a fair coin;
    the bet is a uniform prior on the coin. At or above log(1/alpha) the hypothesis falls at level alpha,
    whenever one looks; `anytime_p` gives the p-value.
    """
    b, c = counts.first_only, counts.second_only
    return log_beta(_SIGN_PRIOR[0] + b, _SIGN_PRIOR[1] + c) - log_beta(*_SIGN_PRIOR) + (b + c) * math.log(2.0)


def anytime_p(counts: PairedCounts) -> float:
    """A p-value for "both pass equally often" that may be looked at after every case."""
    return min(1.0, math.exp(-max(0.0, sign_log_evidence(counts))))


def paired_sequence(counts: PairedCounts, confidence: float = 0.95) -> Interval:
    """An interval for the difference of shares, first minus second, that holds at every n at once.

    The Dirichlet mixture over (only first, only second, alike); at each hypothetical difference the data get
    the likeliest shares that differ by it, so the interval is valid whatever the share of discordant pairs,
    and narrow when they are few.
    """
    require_share("confidence", confidence)
    n = counts.n
    if n == 0:
        return Interval(None, -1.0, 1.0, confidence, 0, "anytime")
    b, c = counts.first_only, counts.second_only
    slack = -math.log(1.0 - confidence) - _dirichlet_mixture(b, c, n - b - c)

    def room(difference: float) -> float:
        return slack + _restricted_log_likelihood(b, c, n, difference)

    d = (b - c) / n
    low = -1.0 if d <= -1.0 else crossing(room, -1.0, d)
    high = 1.0 if d >= 1.0 else crossing(room, d, 1.0)
    return Interval(d, low, high, confidence, n, "anytime")


def _dirichlet_mixture(b: int, c: int, alike: int) -> float:
    total = sum(_PAIR_PRIOR)
    value = math.lgamma(total) - math.lgamma(total + b + c + alike)
    for count, prior in zip((b, c, alike), _PAIR_PRIOR, strict=True):
        value += math.lgamma(prior + count) - math.lgamma(prior)
    return value


def _restricted_log_likelihood(b: int, c: int, n: int, difference: float) -> float:
    first, second = restricted_shares(b, c, n, difference)
    alike = max(0.0, 1.0 - first - second)
    return _log_power(first, b) + _log_power(second, c) + _log_power(alike, n - b - c)


def side_of(interval: Interval, limit: float) -> Side:
    """On which side of a limit the whole interval lies: the decision that an interval supports."""
    if not math.isfinite(limit):
        raise InputError(f"The limit is {limit}: give a finite number.")
    if interval.high < limit:
        return "below"
    if interval.low > limit:
        return "above"
    return "undecided"
