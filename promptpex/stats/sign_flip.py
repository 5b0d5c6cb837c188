"""Two models on the same cases: the exact test that neither breaks its rules more often."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from promptpex.stats.special import binomial_cdf

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

_MOST_STEPS, _MOST_COSINES = 50_000_000, 20_000_000
"""Additions up to which the distribution is built case by case, and cosines up to which it is built through its
characteristic function: a quarter of a second at most."""

_MOST_TOTAL = 1 << 22
"""Sum of the sizes up to which either is done: some 100 MB."""

_PARTS, _FEWEST_PARTS = 300_000, 20
"""Where that is too much, the greatest difference has the first of these parts divided by the number of cases, and at
least the second."""

_NOTHING = 1e-20
"""Frequencies of less than this are left out: all together they are far below the rounding."""

_NOISE = 1e-12
"""Below it a p-value from the characteristic function is rounding."""


def sign_flip_p(differences: Ints, *, rounded: bool = False) -> float:
    """The two-sided p-value that the differences of the cases are as likely to have either sign.

    Under the hypothesis each difference keeps its size and takes its sign by the toss of a fair coin (Fisher 1935, The
    Design of Experiments, section 21); the p-value is the share of all 2^m signings whose sum is at least as far from
    0 as the one seen, counted exactly. Where all differences are 0 or of one size, as with one repeat, this is
    McNemar's exact test (McNemar 1947).

    Very many cases with differences of very many sizes would take too long. Theirs are rounded first, at most to
    twentieths of the greatest: rounding treats both signs alike, so the test of what was rounded is exact too.

    Args:
        differences: a whole number per case: the difference of two case means in a unit that all of them share.
        rounded: whether they are rounded already.
    """
    import numpy as np

    sizes = np.abs(differences[differences != 0])
    if sizes.size == 0:
        return 1.0
    sizes //= np.gcd.reduce(sizes)
    observed = abs(int(np.where(differences > 0, 1, -1)[differences != 0] @ sizes))
    if observed == 0:
        return 1.0
    m, total = int(sizes.size), int(sizes.sum())
    if sizes.max() == 1:
        return min(1.0, 2.0 * binomial_cdf((m - observed) // 2, m, 0.5))
    if total <= _MOST_TOTAL and m * total <= _MOST_STEPS:
        return _by_counting(sizes, total, observed)
    if rounded or (total <= _MOST_TOTAL and np.unique(sizes).size * total <= _MOST_COSINES):
        return _by_frequencies(sizes, total, observed)
    parts = max(_FEWEST_PARTS, _PARTS // m) / int(np.abs(differences).max())
    return sign_flip_p(np.rint(differences * parts).astype(np.int64), rounded=True)


def _by_counting(sizes: Ints, total: int, seen: int) -> float:
    """The chance that the sum of those with a plus, T, has |2T - total| >= seen: T built up one case at a time."""
    import numpy as np

    chance = np.zeros(total + 1)
    chance[0], reach = 1.0, 0
    for size in np.sort(sizes).tolist():
        reach += size
        chance[: reach + 1] *= 0.5
        chance[size : reach + 1] += chance[: reach + 1 - size].copy()
    # The distribution is symmetric, so one tail is enough.
    return min(1.0, 2.0 * float(chance[: (total - seen) // 2 + 1].sum()))


def _by_frequencies(sizes: Ints, total: int, seen: int) -> float:
    """The same through the product of cosines, for very many cases: exact to about 1e-12."""
    import numpy as np

    length = 1 << math.ceil(math.log2(total + 1))
    values, counts = np.unique(sizes, return_counts=True)
    at, product = np.arange(length // 2 + 1), np.ones(length // 2 + 1)
    for value, count in sorted(zip(values.tolist(), counts.tolist(), strict=True), key=lambda pair: -pair[1]):
        product *= np.cos(np.pi / length * value * at) ** count
        left = np.abs(product) > _NOTHING
        at, product = at[left], product[left]
    spectrum = np.zeros(length // 2 + 1, dtype=np.complex128)
    spectrum[at] = product * np.exp(-1j * np.pi / length * total * at)
    # T has the characteristic function exp(i t total / 2) times that product.
    chance = np.fft.irfft(spectrum, n=length)
    tail = float(chance[: (total - seen) // 2 + 1].sum())
    return min(1.0, max(_NOISE, 2.0 * tail))
