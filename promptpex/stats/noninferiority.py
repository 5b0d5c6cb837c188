"""Is one model at most a little worse than another on the same cases? A test, not a missing difference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from promptpex.errors import InputError
from promptpex.stats.arguments import require_share
from promptpex.stats.paired import PairedCounts, tango_score
from promptpex.stats.special import normal_cdf

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

EXACT_UP_TO = 150
_GRID = 40


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """The outcome of a non-inferiority test.

    Attributes:
        shown: whether the first is shown to be less than ``margin`` worse than the second.
        p: one-sided p-value of the hypothesis that it is worse by ``margin`` or more.
        difference: observed share of the first minus that of the second; ``None`` without pairs.
        margin: the greatest loss that is tolerated, as a share.
        alpha: one-sided error rate of the decision.
        n: pairs scored on both sides.
        method: ``exact`` or ``score``.
    """

    shown: bool
    p: float
    difference: float | None
    margin: float
    alpha: float
    n: int
    method: str


def non_inferiority(
    counts: PairedCounts,
    margin: float,
    *,
    alpha: float = 0.05,
    method: Literal["auto", "exact", "score"] = "auto",
) -> NonInferiority:
    """Test that the first passes at most ``margin`` less often than the second.

    ``score`` is Tango's test (Tango 1998, Stat. Med. 17:891), which for few cases errs somewhat too often;
    ``exact`` orders the outcomes by that statistic and takes the largest tail probability over the unknown
    share of discordant pairs (Hsueh, Liu and Chen 2001, Biometrics 57:478). ``auto`` is exact up to
    150 pairs and the score test beyond.

    An exact p-value belongs to its own margin: the outcomes are ordered anew for each, so among large p-values that of
    a wider margin can be the greater one, as Röhmel (2005, Biom. J. 47:37) shows of tests of this kind. Each keeps its
    error rate. Where something is shown, at 0.1 or less, no wider margin was found to lose it.
    """
    require_share("alpha", alpha)
    if not 0.0 < margin < 1.0:
        raise InputError(f"The tolerance is {margin}: give a share between 0 and 1, such as 0.05.")
    exact = method == "exact" or (method == "auto" and counts.n <= EXACT_UP_TO)
    if counts.n == 0:
        p = 1.0
    elif exact:
        p = _exact_p(counts.first_only, counts.second_only, counts.n, margin)
    else:
        p = normal_cdf(-tango_score(counts, -margin))
    name = "exact" if exact else "score"
    return NonInferiority(p <= alpha, p, counts.difference, margin, alpha, counts.n, name)


@lru_cache(maxsize=4096)
def _exact_p(b: int, c: int, n: int, margin: float) -> float:
    """sup over the nuisance share q of P(statistic >= observed | first-only share q, second-only q + margin).

    The supremum is taken over a grid that is dense near 0, where it mostly lies; b and c are first-only and
    second-only pairs of n.
    """
    import numpy as np

    first, second = (grid.ravel() for grid in np.indices((n + 1, n + 1)))
    observed = _scores(np.asarray([float(b)]), np.asarray([float(c)]), n, margin)[0]
    possible = first + second <= n
    first, second = first[possible], second[possible]
    inside = _scores(first.astype(np.float64), second.astype(np.float64), n, margin) >= observed - 1e-9
    first, second = first[inside], second[inside]
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    rest = n - first - second
    ways = log_factorial[n] - log_factorial[first] - log_factorial[second] - log_factorial[rest]
    largest = 0.0
    for q in (1.0 - margin) / 2.0 * np.linspace(0.0, 1.0, _GRID + 1) ** 2:
        shares = (float(q), float(q) + margin, max(0.0, 1.0 - margin - 2.0 * float(q)))
        terms = ways.copy()
        for count, share in zip((first, second, rest), shares, strict=True):
            terms = terms + (count * np.log(share) if share > 0.0 else np.where(count > 0, -np.inf, 0.0))
        largest = max(largest, float(np.exp(terms).sum()))
    return min(1.0, largest)


def _scores(b: Floats, c: Floats, n: int, margin: float) -> Floats:
    """`tango_score` at a difference of -margin, for many tables at once."""
    import numpy as np

    linear = -b - c - (2.0 * n - b + c) * margin
    constant = c * margin * (1.0 + margin)
    root = np.sqrt(np.maximum(0.0, linear * linear - 8.0 * n * constant))
    # linear <= 0 here, so this form of the root never subtracts.
    q = np.clip((root - linear) / (4.0 * n), margin, (1.0 + margin) / 2.0)
    scores: Floats = (b - c + n * margin) / np.sqrt(n * (2.0 * q - margin * (1.0 + margin)))
    return scores
