"""What repeats of the same case say: how often a verdict flips, and how reliably a case passes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from statistics import variance
from typing import Any

from promptpex.core.errors import InputError
from promptpex.stats.intervals import Interval
from promptpex.stats.means import mean_interval

PassCounts = Mapping[Any, tuple[int, int]]
"""Per unit (a case of a model, say), how many of its repeats passed and how many failed."""


@dataclass(frozen=True, slots=True)
class FlakyUnit:
    """A unit whose repeats do not agree.

    Attributes:
        unit: as it was given.
        passed: repeats that passed.
        failed: repeats that failed.
        flip: the chance that two different repeats of it disagree.
    """

    unit: Hashable
    passed: int
    failed: int
    flip: float


@dataclass(frozen=True, slots=True)
class FlipRate:
    """How stable verdicts are over repeats.

    Attributes:
        units: units with at least two scored repeats; the others say nothing here.
        flaky: units with both a pass and a fail.
        flip_rate: the chance that two repeats of the same unit disagree, averaged over units, with an interval
            in which every unit is one observation.
    """

    units: int
    flaky: int
    flip_rate: Interval


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """The variance of an answer's outcome, broken or kept, between units and within one (Miller 2024, section 3).

    Attributes:
        units: with at least two scored repeats.
        between: the variance of the units' own chances to fail.
        within: the mean variance of a repeat of one unit.
    """

    units: int
    between: float
    within: float

    @property
    def repeat_worth(self) -> float:
        """How many more units, asked once each, a second repeat of these units is worth; 0 where all agree."""
        once = self.between + self.within
        return self.units * (once / (self.between + self.within / 2.0) - 1.0) if once else 0.0


def variance_split(repeats: PassCounts) -> VarianceSplit | None:
    """The split by the units with two scored repeats or more; None with fewer than two such units. Unbiased, but that
    ``between`` is 0 at least."""
    counts = [(passed, failed, passed + failed) for passed, failed in repeats.values() if passed + failed >= 2]
    if len(counts) < 2:
        return None
    means = [failed / size for _, failed, size in counts]
    within = math.fsum(passed * failed / (size * (size - 1)) for passed, failed, size in counts) / len(counts)
    chance = within * math.fsum(1.0 / size for _, _, size in counts) / len(counts)
    return VarianceSplit(len(counts), max(0.0, variance(means) - chance), within)


def flaky(repeats: PassCounts) -> list[FlakyUnit]:
    """The units whose scored repeats disagree, the least decided first, in the given order among equals."""
    units = [
        FlakyUnit(unit, passed, failed, _flip(passed, failed))
        for unit, (passed, failed) in repeats.items()
        if passed and failed
    ]
    return sorted(units, key=lambda unit: -unit.flip)


def flip_rate(repeats: PassCounts, confidence: float = 0.95) -> FlipRate:
    """Flip rate and flaky units. The flip rate is unbiased at any number of repeats from two on."""
    flips = [_flip(passed, failed) for passed, failed in repeats.values() if passed + failed >= 2]
    return FlipRate(len(flips), sum(flip > 0 for flip in flips), mean_interval(flips, confidence))


def pass_hat_k(repeats: PassCounts, k: int, confidence: float = 0.95) -> Interval:
    """pass^k: the chance that a unit passes k repeats out of k (Yao et al. 2024, tau-bench, section 4).

    The unbiased C(c, k) / C(n, k) per unit with c passes among n scored repeats, averaged over the units
    with at least k of them; each unit is one observation of the interval. pass^1 is the share of passes.
    """
    shares = [math.comb(c, k) / math.comb(c + f, k) for c, f in _with_enough(repeats, k)]
    return mean_interval(shares, confidence)


def pass_at_k(repeats: PassCounts, k: int, confidence: float = 0.95) -> Interval:
    """pass@k: the chance that a unit passes at least one of k repeats (Chen et al. 2021, arXiv 2107.03374, 2.1).

    The unbiased 1 - C(f, k) / C(n, k) per unit with f fails among n scored repeats, averaged as in `pass_hat_k`.
    """
    shares = [1.0 - math.comb(f, k) / math.comb(c + f, k) for c, f in _with_enough(repeats, k)]
    return mean_interval(shares, confidence)


def _with_enough(repeats: PassCounts, k: int) -> list[tuple[int, int]]:
    """Passes and fails of the units with at least k scored repeats."""
    if k < 1:
        raise InputError(f"k is {k}: give a number of repeats, 1 or more.")
    return [(c, f) for c, f in repeats.values() if c + f >= k]


def _flip(passed: int, failed: int) -> float:
    n = passed + failed
    return 2.0 * passed * failed / (n * (n - 1))
