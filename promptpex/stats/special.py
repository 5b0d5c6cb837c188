"""The distribution functions that the intervals and tests rest on: normal, beta, Student's t, binomial.

They are here so that the program needs no scipy at run time (60 MB and half a second of import for six
functions); the tests hold them to scipy over their whole range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

_NORMAL = NormalDist()
_TINY = 1e-300
_EPSILON = 1e-15
_MAX_TERMS = 100_000


def normal_cdf(x: float) -> float:
    """P(Z <= x) of the standard normal, exact far into both tails."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def normal_quantile(p: float) -> float:
    """The x with P(Z <= x) = p, for 0 < p < 1 (Wichura 1988, AS 241)."""
    return _NORMAL.inv_cdf(p)


def two_sided_z(confidence: float) -> float:
    """The normal quantile of a two-sided interval: 1.96 for 0.95."""
    return -normal_quantile((1.0 - confidence) / 2.0)


def log_beta(a: float, b: float) -> float:
    """The logarithm of Euler's beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), a and b > 0.

    The continued fraction of DLMF 8.17.22, evaluated by Lentz's method on the side where it converges fast.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta(a, b))
    if x < (a + 1.0) / (a + b + 2.0):
        return min(1.0, front * _beta_fraction(x, a, b) / a)
    return max(0.0, 1.0 - front * _beta_fraction(1.0 - x, b, a) / b)


def _beta_fraction(x: float, a: float, b: float) -> float:
    c = 1.0
    d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 / _away_from_zero(1.0 + even * d)
        c = _away_from_zero(1.0 + even / c)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 / _away_from_zero(1.0 + odd * d)
        c = _away_from_zero(1.0 + odd / c)
        step = d * c
        value *= step
        if abs(step - 1.0) < _EPSILON:
            break
    return value


def _away_from_zero(x: float) -> float:
    return x if abs(x) > _TINY else _TINY


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p: bisection on the monotone function, to the last digits of a float."""
    if p <= 0.0:
        return 0.0
    if p >= 1.0:
        return 1.0
    return crossing(lambda x: beta_cdf(x, a, b) - p, 0.0, 1.0)


def t_quantile(p: float, df: float) -> float:
    """The quantile of Student's t with ``df`` > 0 degrees of freedom (DLMF 8.17 through the beta)."""
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    if p == 0.5:
        return 0.0
    tail = 2.0 * (1.0 - p)
    near = beta_quantile(1.0 - tail, 0.5, df / 2.0)
    if near < 0.5:
        return math.sqrt(df * near / (1.0 - near))
    far = beta_quantile(tail, df / 2.0, 0.5)
    return math.sqrt(df * (1.0 - far) / far)


def binomial_cdf(k: int, n: int, p: float) -> float:
    """P(X <= k) of a binomial with ``n`` trials of probability ``p``."""
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    return beta_cdf(1.0 - p, n - k, k + 1.0)


def binomial_mass(k: int, n: int, p: float) -> float:
    """P(X = k) of a binomial with ``n`` trials of probability ``p``."""
    if not 0 <= k <= n:
        return 0.0
    if p in (0.0, 1.0):
        return float(k == n * p)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a monotone function changes sign between ``low`` and ``high``: bisection to float precision.

    The caller knows that there is one change of sign; with none, the end nearest to it comes back.
    """
    rising = function(high) >= function(low)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if (function(middle) < 0.0) == rising:
            low = middle
        else:
            high = middle
        if high - low <= 1e-16 + 4e-16 * abs(low):
            break
    return 0.5 * (low + high)
