"""Looking several times at a suite of known size: how strict each look has to be, so that all looks together are not.

A group-sequential design (Wang and Tsiatis 1987, Biometrics 43:193): after the share t = j/L of the cases a statement
is made where its test statistic passes c * t ** (SHAPE - 1/2), with c chosen so that a Brownian motion seen at the L
looks passes its boundary at any of them with the wanted probability. O'Brien and Fleming's test has the shape 0; ours
is stricter still at first, so that the last look is nearly as if it were the only one, and hardly any power is paid
for the right to stop.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_share
from promptpex.stats.special import normal_cdf, normal_quantile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

LOOKS = 10
"""Looks at a whole suite: more hardly stop any sooner (group-sequential tests gain little beyond five)."""

SHAPE = -0.25
"""Of the boundary. 0 gives up to 5 points less power than one look where that has a half, this shape 3 to 4."""

FEWEST_CASES = 5
"""Cases between two looks at least."""

_GRID = 200
"""Nodes of each integral; with twice as many no p-value changes by more than 1e-12 of itself."""

_LEAST = 1e-300
"""Stands for smaller chances, whose logarithm is out of a double's range."""


def looks_at(cases: int) -> tuple[int, ...]:
    """After how many cases of a suite to look: up to ``LOOKS`` times, evenly spaced, the last time at all of them."""
    times = max(1, min(LOOKS, cases // FEWEST_CASES))
    return tuple(math.ceil(cases * look / times) for look in range(1, times + 1))


def overall_p(p: float, look: int, looks: int, *, sides: int = 2) -> float:
    """The error rate that a statement costs over all looks, if it is made now on a p-value of ``p``.

    The least level at which the design would have made it: comparing these with alpha, also after a correction for many
    statements, keeps alpha over all looks (repeated p-values: Jennison and Turnbull 1999, Group Sequential Methods,
    section 9.5).

    Args:
        p: of the test on the cases so far, ``sides``-sided.
        look: the number of this look, from 1.
        looks: planned looks.
        sides: 2 where either sign makes the statement, 1 for one of them.
    """
    if not 1 <= look <= looks:
        raise InputError(f"Look {look} of {looks} is impossible: looks count from 1.")
    if p >= 1.0:
        return 1.0
    z = -normal_quantile(max(p, _LEAST) / sides)
    return max(p, _crossing_chance(z * (look / looks) ** (0.5 - SHAPE), looks, sides))


def level_at(alpha: float, look: int, looks: int) -> float:
    """The two-sided level of one look for which all together have ``alpha``: what `overall_p` turns into ``alpha``."""
    require_share("alpha", alpha)
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _crossing_chance(middle, looks, 2) > alpha else (low, middle)
    return min(alpha, 2 * normal_cdf(-high * (looks / look) ** (0.5 - SHAPE)))


def _crossing_chance(last: float, looks: int, sides: int) -> float:
    """The chance that W(1/L), W(2/L), ..., W(1) of a Brownian motion W ever reaches its boundary ``last * t ** SHAPE``,
    on either side or above.

    Between the values of a table, along the logarithm.
    """
    if last <= 0.0:
        return 1.0
    at, logs = _table(looks, sides)
    if last >= at[-1]:
        return math.exp(logs[-1]) * normal_cdf(-last) / normal_cdf(-at[-1])
    step = last / (at[1] - at[0])
    index = min(int(step), len(at) - 2)
    inside = step - index
    return math.exp(logs[index] * (1.0 - inside) + logs[index + 1] * inside)


@lru_cache(maxsize=32)
def _table(looks: int, sides: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Last bounds from 0 to 8, and the logarithm of the chance to reach the boundary that ends in each."""
    bounds = tuple(step / 10.0 for step in range(81))
    chances = [1.0 if bound == 0.0 else _reached(bound, looks, sides) for bound in bounds]
    return bounds, tuple(math.log(max(chance, _LEAST)) for chance in chances)


def _reached(last: float, looks: int, sides: int) -> float:
    """By recursive integration over the density of what has not crossed (Armitage, McPherson and Rowe 1969, JRSS A
    132:235), with Gauss-Legendre nodes; what crosses is summed up, so that small chances keep their digits."""
    step = math.sqrt(1.0 / looks)
    bounds = [last * (look / looks) ** SHAPE for look in range(1, looks + 1)]
    crossed = sides * normal_cdf(-bounds[0] / step)
    x, weights = _nodes(bounds[0], sides)
    mass = weights * _normal_density(x, step)
    for bound in bounds[1:]:
        outside = [_outside(float(value), bound, step, sides) for value in x]
        crossed += float((mass * outside).sum())
        y, weights = _nodes(bound, sides)
        mass = weights * (_normal_density(y[:, None] - x[None, :], step) @ mass)
        x = y
    return min(1.0, crossed)


def _nodes(bound: float, sides: int) -> tuple[Floats, Floats]:
    """Points between the boundaries, and how much each counts for in an integral."""
    floor = -bound if sides == 2 else min(-8.0, -bound)
    nodes, weights = _quadrature()
    return (nodes + 1.0) / 2.0 * (bound - floor) + floor, weights / 2.0 * (bound - floor)


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Floats, Floats]:
    """Gauss and Legendre's nodes and weights between -1 and 1, which take longer to find than to use."""
    import numpy as np

    return np.polynomial.legendre.leggauss(_GRID)


def _outside(value: float, bound: float, step: float, sides: int) -> float:
    above = normal_cdf((value - bound) / step)
    return above + normal_cdf((-bound - value) / step) if sides == 2 else above


def _normal_density(x: Floats, scale: float) -> Floats:
    import numpy as np

    density: Floats = np.exp(-0.5 * (x / scale) ** 2) / (scale * math.sqrt(2.0 * math.pi))
    return density
