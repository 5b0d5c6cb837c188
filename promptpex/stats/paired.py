"""Two models, or two versions of a prompt, on the same cases: McNemar's test and intervals of the difference."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from promptpex.errors import InputError
from promptpex.stats.arguments import require_share
from promptpex.stats.intervals import Interval, score_bounds
from promptpex.stats.special import binomial_cdf, binomial_mass, crossing, two_sided_z


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """The fourfold table of paired 0/1 answers.

    Attributes:
        both: cases on which both pass.
        first_only: cases on which only the first passes.
        second_only: cases on which only the second passes.
        neither: cases on which both fail.
    """

    both: int
    first_only: int
    second_only: int
    neither: int

    def __post_init__(self) -> None:
        if min(self.both, self.first_only, self.second_only, self.neither) < 0:
            raise InputError("A paired count is negative: give the four cells of the table of pairs.")

    @property
    def n(self) -> int:
        """Pairs that were scored on both sides."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def discordant(self) -> int:
        """Pairs on which the two differ: the only ones that speak for either."""
        return self.first_only + self.second_only

    @property
    def difference(self) -> float | None:
        """Share of passes of the first minus that of the second; ``None`` without pairs."""
        return (self.first_only - self.second_only) / self.n if self.n else None

    @property
    def swapped(self) -> PairedCounts:
        """The same pairs seen from the other side."""
        return PairedCounts(self.both, self.second_only, self.first_only, self.neither)


def count_pairs(pairs: Iterable[tuple[bool | None, bool | None]]) -> PairedCounts:
    """The fourfold table; a pair with an unscored side (``None``) says nothing and is left out."""
    cells = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for first, second in pairs:
        if first is not None and second is not None:
            cells[bool(first), bool(second)] += 1
    return PairedCounts(cells[True, True], cells[True, False], cells[False, True], cells[False, False])


def mcnemar(counts: PairedCounts, *, mid_p: bool = False) -> float:
    """The two-sided p-value of McNemar's exact test that both pass equally often.

    Given the discordant pairs, each is a fair coin under the hypothesis (McNemar 1947); exact, so never too
    small at any n. ``mid_p`` counts the observed outcome half, less conservative and nearly always still
    within the level (Fagerland, Lydersen and Laake 2013, BMC Med. Res. Methodol. 13:91).
    """
    m, least = counts.discordant, min(counts.first_only, counts.second_only)
    if m == 0:
        return 1.0
    p = 2.0 * binomial_cdf(least, m, 0.5)
    if mid_p:
        p -= binomial_mass(least, m, 0.5)
    return min(1.0, p)


def newcombe_difference(counts: PairedCounts, confidence: float = 0.95) -> Interval:
    """The difference of shares, first minus second (Newcombe 1998, Stat. Med. 17:2635, method 10).

    Wilson intervals of the two shares, squared and added with the correlation of the pairs, itself
    corrected for continuity. Never of width zero.
    """
    require_share("confidence", confidence)
    n = counts.n
    if n == 0:
        return Interval(None, -1.0, 1.0, confidence, 0, "newcombe")
    z = two_sided_z(confidence)
    p1 = (counts.both + counts.first_only) / n
    p2 = (counts.both + counts.second_only) / n
    low1, high1 = score_bounds(p1, n, z)
    low2, high2 = score_bounds(p2, n, z)
    phi = _correlation(counts)
    down = _root_of_squares(p1 - low1, high2 - p2, phi)
    up = _root_of_squares(high1 - p1, p2 - low2, phi)
    d = p1 - p2
    return Interval(d, max(-1.0, d - down), min(1.0, d + up), confidence, n, "newcombe")


def _root_of_squares(a: float, b: float, phi: float) -> float:
    return math.sqrt(max(0.0, a * a - 2.0 * phi * a * b + b * b))


def _correlation(counts: PairedCounts) -> float:
    e, f, g, h = counts.both, counts.first_only, counts.second_only, counts.neither
    product = (e + f) * (g + h) * (e + g) * (f + h)
    if product == 0:
        return 0.0
    determinant: float = e * h - f * g
    if determinant > 0:
        determinant = max(determinant - counts.n / 2.0, 0.0)
    return determinant / math.sqrt(product)


def tango_score(counts: PairedCounts, difference: float) -> float:
    """`paired_score` of a table of pairs."""
    return paired_score(counts.first_only, counts.second_only, counts.n, difference)


def paired_score(first_only: float, second_only: float, n: float, difference: float) -> float:
    """The score statistic that the true difference is ``difference`` (Tango 1998, Stat. Med. 17:891, eq. 3).

    Standard normal under the hypothesis; positive when the observed difference is larger. Infinite when the
    hypothesis leaves the observation no room (``difference`` = 1 or -1 and the data say otherwise).

    Args:
        first_only: pairs on which only the first passes; a fraction where a case speaks for a part of a pair.
        second_only: pairs on which only the second passes.
        n: all pairs, more than 0.
        difference: the hypothetical share of passes of the first minus that of the second.
    """
    distance = first_only - second_only - n * difference
    if distance == 0:
        return 0.0
    _, q = restricted_shares(first_only, second_only, n, difference)
    variance = n * (2.0 * q + difference * (1.0 - difference))
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance)


def restricted_shares(b: float, c: float, n: float, difference: float) -> tuple[float, float]:
    """The likeliest shares of first-only and second-only when they must differ by ``difference``.

    The larger root of the quadratic of Tango 1998 (Stat. Med. 17:891, section 2).
    """
    linear = -b - c + (2.0 * n - b + c) * difference
    constant = -c * difference * (1.0 - difference)
    root = math.sqrt(max(0.0, linear * linear - 8.0 * n * constant))
    # Of the two forms of the larger root, the one that does not subtract nearly equal numbers.
    q = (root - linear) / (4.0 * n) if linear <= 0 else -2.0 * constant / (root + linear)
    q = min(max(q, 0.0, -difference), (1.0 - difference) / 2.0)
    return q + difference, q


def tango_difference(counts: PairedCounts, confidence: float = 0.95) -> Interval:
    """`tango_interval` of a table of pairs."""
    return tango_interval(counts.first_only, counts.second_only, counts.n, confidence)


def tango_interval(first_only: float, second_only: float, n: float, confidence: float = 0.95) -> Interval:
    """The difference of shares, first minus second, by inverting Tango's score test (Tango 1998).

    The interval that agrees with `non_inferiority` by score. Never of width zero. (-1, 1) without pairs.

    Args:
        first_only: pairs on which only the first passes; a fraction where a case speaks for a part of a pair.
        second_only: pairs on which only the second passes.
        n: all pairs; the interval's own ``n`` is the whole ones.
        confidence: two-sided coverage.
    """
    require_share("confidence", confidence)
    require_pairs(first_only, second_only, n)
    if n == 0:
        return Interval(None, -1.0, 1.0, confidence, 0, "tango")
    z = two_sided_z(confidence)
    d = (first_only - second_only) / n

    def above(difference: float) -> float:
        return paired_score(first_only, second_only, n, difference)

    low = -1.0 if d <= -1.0 else crossing(lambda x: above(x) - z, -1.0, d)
    high = 1.0 if d >= 1.0 else crossing(lambda x: above(x) + z, d, 1.0)
    return Interval(d, low, high, confidence, math.floor(n + 1e-9), "tango")


def require_pairs(first_only: float, second_only: float, n: float) -> None:
    """Raise InputError unless both counts are 0 or more and together at most ``n``."""
    if min(first_only, second_only) < 0.0 or not first_only + second_only <= n + 1e-9 < math.inf:
        raise InputError(
            f"{first_only} and {second_only} pairs that differ among {n} are impossible: give counts of 0 or more that "
            "add up to at most n."
        )
