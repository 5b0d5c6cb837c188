"""Prediction-powered inference: few human grades and many judge verdicts, and an interval that stays valid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_equal_length, require_share
from promptpex.stats.intervals import Interval
from promptpex.stats.special import two_sided_t


@dataclass(frozen=True, slots=True)
class PpiMean:
    """A mean estimated from a few trusted and many cheap values.

    Attributes:
        interval: the estimate and its interval, within [0, 1].
        graded: items with both a grade and a verdict.
        judged: items with a verdict alone.
        power: the weight lambda of the verdicts: 0 ignores the judge, 1 trusts his variation fully.
        bias: mean of verdict minus grade on the graded items: how much too often the judge says yes.
        classical: the interval that the grades alone would give, by the same method.
    """

    interval: Interval
    graded: int
    judged: int
    power: float
    bias: float
    classical: Interval


def ppi_mean(
    grades: Sequence[float],
    verdicts: Sequence[float],
    unlabelled: Sequence[float],
    *,
    confidence: float = 0.95,
    power: float | None = None,
) -> PpiMean:
    """The mean grade of all items, from a random part that people graded and the judge's verdicts on all.

    mean(verdicts on the rest) * lambda + mean(grade - lambda * verdict) on the graded part (Angelopoulos et
    al. 2023, Science 382:669, with lambda = 1; Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453, PPI++,
    section 6, for the lambda of least variance, here kept within [0, 1]). The judge may be biased as he
    likes; what is needed is that the graded items are a random sample of all, and independent.

    Departures for small samples: Student's t instead of the normal, with one degree of freedom fewer for an
    estimated lambda; half a disagreement each way is added where the variance is computed (in the manner of
    Agresti and Caffo 2000, Am. Stat. 54:280, who add successes and failures); and where the graded items
    show no variation at all, the interval is no shorter than what n equal observations can hide.

    Args:
        grades: of the graded items, in [0, 1].
        verdicts: the judge's on the same items, in the same order.
        unlabelled: the judge's on the items without a grade.
        confidence: two-sided coverage.
        power: a fixed lambda; ``None`` chooses it from the data.

    Raises:
        InputError: fewer than 2 graded items, or a value outside [0, 1].
    """
    require_share("confidence", confidence)
    require_equal_length("grades", len(grades), "verdicts", len(verdicts))
    if len(grades) < 2:
        raise InputError(f"{len(grades)} graded items are too few: grade at least 2 of those that were judged.")
    if any(not 0.0 <= value <= 1.0 for column in (grades, verdicts, unlabelled) for value in column):
        raise InputError("A grade or verdict lies outside 0 to 1: give 0 for fail and 1 for pass.")
    chosen = 0.0 if not unlabelled else best_power(grades, verdicts, unlabelled) if power is None else power
    bias = sum(v - g for g, v in zip(grades, verdicts, strict=True)) / len(grades)
    tuned = power is None and chosen > 0.0
    return PpiMean(
        interval=_interval(grades, verdicts, unlabelled, chosen, confidence, tuned),
        graded=len(grades),
        judged=len(unlabelled),
        power=chosen,
        bias=bias,
        classical=_interval(grades, verdicts, (), 0.0, confidence, False),
    )


def best_power(grades: Sequence[float], verdicts: Sequence[float], unlabelled: Sequence[float]) -> float:
    """The lambda of least variance, cov(grade, verdict) / ((1 + n/N) var(verdict)), cut to [0, 1].

    PPI++ (arXiv 2311.01453), section 6, example of the mean; 0 when the judge's verdicts do not vary.
    """
    n, size = len(grades), len(unlabelled)
    spread = _variance([*verdicts, *unlabelled])
    if spread <= 0.0 or size == 0:
        return 0.0
    mean_grade, mean_verdict = sum(grades) / n, sum(verdicts) / n
    pairs = zip(grades, verdicts, strict=True)
    covariance = sum((g - mean_grade) * (v - mean_verdict) for g, v in pairs) / (n - 1)
    return min(1.0, max(0.0, covariance / ((1.0 + n / size) * spread)))


def _interval(
    grades: Sequence[float],
    verdicts: Sequence[float],
    unlabelled: Sequence[float],
    power: float,
    confidence: float,
    tuned: bool,
) -> Interval:
    n = len(grades)
    rest = [g - power * v for g, v in zip(grades, verdicts, strict=True)]
    judged = power * sum(unlabelled) / len(unlabelled) if unlabelled else 0.0
    estimate = judged + sum(rest) / n
    variance = power**2 * _variance(unlabelled) / len(unlabelled) if unlabelled else 0.0
    spread = _softened_variance(rest, power) / n
    quantile = two_sided_t(confidence, max(1, n - 1 - tuned))
    half = quantile * math.sqrt(variance + spread)
    if max(rest) - min(rest) <= 1e-12:
        # A share u of differing items stays unseen in n draws with probability (1 - u) ** n.
        unseen = 1.0 - ((1.0 - confidence) / 2.0) ** (1.0 / n)
        half = max(half, math.hypot(quantile * math.sqrt(variance), unseen))
    low, high = max(0.0, estimate - half), min(1.0, estimate + half)
    method = "prediction-powered" if power > 0.0 else "t"
    return Interval(min(1.0, max(0.0, estimate)), low, high, confidence, n + len(unlabelled), method)


def _softened_variance(rest: Sequence[float], power: float) -> float:
    """The variance with half a disagreement each way: a few grades rarely hold the rare disagreements."""
    n = len(rest)
    mean = sum(rest) / n
    added = ((1.0 - mean) ** 2 + (power + mean) ** 2) / 2.0
    return (sum((value - mean) ** 2 for value in rest) + added) / n


def _variance(values: Sequence[float]) -> float:
    n = len(values)
    if n < 2:
        return 0.25
    mean = sum(values) / n
    return sum((value - mean) ** 2 for value in values) / (n - 1)
