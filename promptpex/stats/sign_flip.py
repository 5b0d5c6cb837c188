"""Two models on the same cases: the exact test that neither breaks its rules more often."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from promptpex.stats.special import binomial_cdf, normal_cdf

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

_MOST_STEPS = 200_000_000
"""Additions up to which all signings are counted: half a second at most."""

_FINEST, _COARSEST = 100_000, 20
"""Parts of the greatest difference: no more are told apart, and where no more than the coarsest fit into the steps,
a bound takes the place of the count."""

_TAIL = 3.179
"""A sum of differences with random signs is out in a tail at most so many times as often as a normal variable of its
variance (Bentkus and Dzindzalieta 2015, Bernoulli 21:1231)."""


def sign_flip_p(differences: Ints) -> float:
    """The two-sided p-value that the differences of the cases are as likely to have either sign.

    Under the hypothesis each difference keeps its size and takes its sign by the toss of a fair coin (Fisher 1935, The
    Design of Experiments, section 21); the p-value is the share of all 2^m signings whose sum is at least as far from
    0 as the one seen, counted exactly. Where all differences are 0 or of one size, as with one repeat, this is
    McNemar's exact test (McNemar 1947).

    Differences of very many sizes are rounded first, to so many parts of the greatest that the work stays bounded:
    rounding treats both signs alike, so the test of what was rounded is exact too. Where more than 3,000 cases differ,
    in more sizes than can be counted, the p-value is an upper bound, up to three times as large.

    Args:
        differences: a whole number per case: the difference of two case means in a unit that all of them share.
    """
    import numpy as np

    signed = differences[differences != 0]
    if signed.size == 0:
        return 1.0
    signed = signed // np.gcd.reduce(signed)
    m, greatest = int(signed.size), int(np.abs(signed).max())
    if greatest == 1:
        return min(1.0, 2.0 * binomial_cdf((m - abs(int(signed.sum()))) // 2, m, 0.5))
    parts = min(_FINEST, _MOST_STEPS // m**2)
    if greatest > parts:
        if parts < _COARSEST:
            return _bound(signed)
        signed = np.rint(signed * (parts / greatest)).astype(np.int64)
    return _by_counting(np.abs(signed), abs(int(signed.sum())))


def _bound(signed: Ints) -> float:
    """At least the share of the signings whose sum is as far from 0, through the normal distribution."""
    scaled = signed / math.sqrt(float((signed.astype(float) ** 2).sum()))
    return min(1.0, 2.0 * _TAIL * normal_cdf(-abs(float(scaled.sum()))))


def _by_counting(sizes: Ints, seen: int) -> float:
    """The chance that the sum of those with a plus, T, has |2T - total| >= seen: T built up one case at a time."""
    import numpy as np

    total = int(sizes.sum())
    chance = np.zeros(total + 1)
    chance[0], reach = 1.0, 0
    for size in np.sort(sizes).tolist():
        reach += size
        chance[: reach + 1] *= 0.5
        chance[size : reach + 1] += chance[: reach + 1 - size].copy()
    # The distribution is symmetric, so one tail is enough.
    return min(1.0, 2.0 * float(chance[: (total - seen) // 2 + 1].sum()))
