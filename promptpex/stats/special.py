"""The distribution functions that the intervals and tests rest on: normal, beta, Student's t, binomial.

They are here so that the program needs no scipy at run time, 140 MB on disk for six functions; the tests hold them to
scipy over their whole range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

Point = tuple[float, float]

_NORMAL = NormalDist()
_TINY = 1e-300
"""Takes the place of a denominator of 0 (Lentz's method: Press et al. 2007, Numerical Recipes, section 5.2)."""
_EPSILON = 1e-15
"""A factor as near to 1 as doubles come changes nothing more."""
_MAX_TERMS = 100_000
"""Of the continued fraction, which takes about the root of the larger parameter: enough for 1e9 cases."""
_SMALL = 1e-12
"""Below it a quantile is looked for among logarithms."""
_LEAST = 5e-324
"""The smallest double above 0."""
_LARGEST_EXPONENT = 709.0
"""Of e in a double."""


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


def log_choose(n: int, k: int) -> float:
    """The logarithm of the number of ways to choose ``k`` of ``n``."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), a and b > 0.

    The continued fraction of DLMF 8.17.22, evaluated by Lentz's method on the side where it converges fast.
    """
    part, below = _beta_side(x, a, b)
    return part if below else max(0.0, 1.0 - part)


def beta_tail(x: float, a: float, b: float) -> float:
    """1 - I_x(a, b), as precise where it is tiny as `beta_cdf` is where that is."""
    part, below = _beta_side(x, a, b)
    return max(0.0, 1.0 - part) if below else part


def _beta_side(x: float, a: float, b: float) -> tuple[float, bool]:
    """The mass on the side of ``x`` where the fraction converges fast, and whether that is the side below."""
    if not 0.0 < x < 1.0:
        return 0.0, x <= 0.0
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta(a, b))
    if x < (a + 1.0) / (a + b + 2.0):
        return min(1.0, front * _beta_fraction(x, a, b) / a), True
    return min(1.0, front * _beta_fraction(1.0 - x, b, a) / b), False


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
    """The quantile of Student's t with ``df`` > 0 degrees of freedom (DLMF 8.17 through the beta).

    Minus and plus infinity at p = 0 and 1. A float near 1 says little of what is left above it: for a high quantile
    give the tail, ``-t_quantile(tail, df)``, as `two_sided_t` does.
    """
    if p > 0.5:
        return -t_quantile(1.0 - p, df)
    if p == 0.5:
        return 0.0
    if p <= 0.0:
        return -math.inf
    near = crossing(lambda x: 2.0 * p - beta_tail(x, 0.5, df / 2.0), 0.0, 1.0)
    if near < 0.5:
        return -math.sqrt(df * near / (1.0 - near))
    far = beta_quantile(2.0 * p, df / 2.0, 0.5)
    return -math.sqrt(df * (1.0 - far) / far) if far > _EPSILON**2 else -_far_t(2.0 * p, df)


def _far_t(both_tails: float, df: float) -> float:
    """t where nothing but the first term of the beta's series in df / (df + t * t) is left (DLMF 8.17.7)."""
    first = math.log(both_tails * df / 2.0) + log_beta(df / 2.0, 0.5)
    exponent = 0.5 * math.log(df) - first / df
    return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf


@lru_cache(maxsize=1 << 12)
def two_sided_t(confidence: float, df: float) -> float:
    """Student's quantile of a two-sided interval: 2.23 for 0.95 and 10 degrees of freedom."""
    return -t_quantile((1.0 - confidence) / 2.0, df)


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
    return math.exp(log_choose(n, k) + k * math.log(p) + (n - k) * math.log1p(-p))


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a monotone function changes sign between ``low`` and ``high``, to float precision.

    Precise relative to the root, however small that is. Inverse quadratic interpolation where it is safe, halving
    elsewhere (Chandrupatla 1997, Adv. Eng. Softw. 28:145); values may be infinite. The caller knows that there is one
    change of sign; with none, the end nearest to it comes back.
    """
    lower_end, other = (low, function(low)), (high, function(high))
    if (lower_end[1] < 0.0) == (other[1] < 0.0):
        return lower_end[0] if abs(lower_end[1]) <= abs(other[1]) else other[0]
    part = 0.5
    for _ in range(300):
        x = lower_end[0] + part * (other[0] - lower_end[0]) if part != 0.5 else _between(lower_end[0], other[0])
        y = function(x)
        if (y < 0.0) == (lower_end[1] < 0.0):
            last, lower_end = lower_end, (x, y)
        else:
            last, other, lower_end = other, lower_end, (x, y)
        best = lower_end if abs(lower_end[1]) < abs(other[1]) else other
        least = 4e-16 * abs(best[0]) / abs(other[0] - lower_end[0])
        if best[1] == 0.0 or least >= 0.5:
            break
        part = min(max(_interpolated(lower_end, other, last), least), 1.0 - least)
    return best[0]


def _interpolated(here: Point, other: Point, last: Point) -> float:
    """How far to go from ``here`` towards ``other``: by the parabola through the three points, or half of the way."""
    (x1, y1), (x2, y2), (x3, y3) = here, other, last
    if y3 in (y1, y2) or not math.isfinite(y1 + y2 + y3):
        return 0.5
    xi, phi = (x1 - x2) / (x3 - x2), (y1 - y2) / (y3 - y2)
    if not (phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi):
        return 0.5
    return y1 / (y2 - y1) * y3 / (y2 - y3) + (x3 - x1) / (x2 - x1) * y1 / (y3 - y1) * y2 / (y3 - y2)


def _between(one: float, two: float) -> float:
    """The middle; near 0 the middle of the logarithms, since halving would take a thousand steps to small numbers."""
    low, high = min(one, two), max(one, two)
    if low >= 0.0 and high < _SMALL:
        return math.sqrt(max(low, _LEAST)) * math.sqrt(high)
    if high <= 0.0 and -low < _SMALL:
        return -_between(-high, -low)
    return 0.5 * (low + high)
