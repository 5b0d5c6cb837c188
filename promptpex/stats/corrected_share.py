"""A share corrected by prediction-powered inference: a machine's verdict on every output, people's on a few of them.

What is estimated is a mean over cases, as non-compliance is: outputs carry weights, and those of a case are not
independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_equal_length, require_share
from promptpex.stats.intervals import Interval, exact_bounds

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

NOTHING = -1
"""No verdict, or no grade."""
FEW_GRADES = 30
"""Grades below which an interval is only a rough guide, as scripts/simulate_correction.py shows."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedOutputs:
    """Outputs in columns.

    Attributes:
        cases: of each output the number of its case, from 0.
        weights: how much each counts in the mean, above 0.
        verdicts: 1 where a machine finds it broken, 0 where not, ``NOTHING`` where it could not tell.
        grades: 1 where people find it broken, 0 where not, ``NOTHING`` where they were not asked. The graded outputs
            are a random sample of all.
    """

    cases: Ints
    weights: Floats
    verdicts: Ints
    grades: Ints

    @property
    def graded(self) -> int:
        """How many outputs have a grade."""
        return int((self.grades != NOTHING).sum())


@dataclass(frozen=True, slots=True)
class CorrectedShare:
    """A share estimated from a few grades and many verdicts.

    Attributes:
        interval: the estimate and its interval, within [0, 1].
        graded, outputs: outputs with a grade, and all.
        power: the weight lambda of the verdicts, from 0 (they are ignored) to 1.
        alone: so many grades without any verdict would tell as much.
    """

    interval: Interval
    graded: int
    outputs: int
    power: float
    alone: float


def corrected_share(outputs: JudgedOutputs, *, confidence: float = 0.95) -> CorrectedShare:
    """The share of broken outputs, a weighted mean, with an interval that holds however wrong the verdicts are.

    In each group of outputs with the same verdict, people's grades say how many are broken, and the groups count with
    their share of all outputs. For a binary verdict this is PPI++ (Angelopoulos, Duchi and Zrnic 2023, arXiv
    2311.01453, section 6, with the lambda of least variance, which is the broken share among the failed less that among
    the passed): the mean of lambda * verdict over all outputs plus the mean of grade - lambda * verdict over the
    graded. Outputs without a verdict are a third group. Where lambda would be below 0, or a group of verdicts has no
    grade, the grades alone count (power 0), the interval then allowing for what the ungraded group may hold.

    The interval is the exact one at the effective size (Korn and Graubard 1998, Survey Methodology 24:193). Care for
    small samples: in the variance of each group half a broken and half a kept output are added; the grades of a case
    count as far as they are independent, and where few speak, as one; and where grades and verdicts of the same cases
    vary together, the variance is that between cases. scripts/simulate_correction.py has the simulations.

    Raises:
        InputError: fewer than 2 graded outputs, or columns that do not fit together.
    """
    require_share("confidence", confidence)
    fit = _checked(outputs)
    low, high = _ends(fit, confidence)
    method = "prediction-powered" if fit.power > 0.0 else "grades"
    interval = Interval(fit.estimate, low, high, confidence, len(outputs.cases), method)
    return CorrectedShare(interval, outputs.graded, len(outputs.cases), fit.power, _alone(outputs, fit))


def corrected_difference(first: JudgedOutputs, second: JudgedOutputs, *, confidence: float = 0.95) -> Interval:
    """The corrected share of the first less that of the second, on the same cases, with its interval.

    The ends are made of those of both shares (Newcombe 1998, Stat. Med. 17:2635, method 10; Zou and Donner 2008, Stat.
    Med. 27:1693), with the correlation that the verdicts on the same cases show; where the grades show less, that.

    Args:
        first, second: outputs whose ``cases`` count the same cases.

    Raises:
        InputError: as ``corrected_share``.
    """
    require_share("confidence", confidence)
    one, two = _checked(first), _checked(second)
    low, high = _difference_ends(one, two, confidence)
    method = "prediction-powered" if max(one.power, two.power) > 0.0 else "grades"
    n = len(first.cases) + len(second.cases)
    return Interval(one.estimate - two.estimate, low, high, confidence, n, method)


def corrected_statements(first: JudgedOutputs, second: JudgedOutputs, tolerance: float) -> tuple[float, float]:
    """The p-values behind two statements on the corrected shares of two models, from the intervals of the difference.

    The first is two-sided, of "the first breaks its rules more often than the second", 1 where it does not; the second
    one-sided, of "less than ``tolerance`` more often". Each is the least error rate at which an interval shows it.

    Raises:
        InputError: as ``corrected_share``.
    """
    one, two = _checked(first), _checked(second)
    worse = _least_error(lambda error: _difference_ends(one, two, 1.0 - error)[0] > 0.0)
    close = _least_error(lambda error: _difference_ends(one, two, 1.0 - error)[1] < tolerance)
    return worse, close / 2.0


LEAST_ERROR = 1e-6
"""The least p-value that is worked out: the intervals are approximations, and no more exact than that."""


def _least_error(is_shown: Callable[[float], bool]) -> float:
    """The least error rate at which something is shown, to a thousandth of itself; 1 where it is at none."""
    low, high = LEAST_ERROR, 1.0 - LEAST_ERROR
    if not is_shown(high):
        return 1.0
    if is_shown(low):
        return low
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_shown(middle) else (middle, high)
    return high


def _difference_ends(one: _Fit, two: _Fit, confidence: float) -> tuple[float, float]:
    (low_one, high_one), (low_two, high_two) = _ends(one, confidence), _ends(two, confidence)
    alike, estimate = _correlation(one, two), one.estimate - two.estimate
    down = _combined(one.estimate - low_one, high_two - two.estimate, alike)
    up = _combined(high_one - one.estimate, two.estimate - low_two, alike)
    return max(-1.0, estimate - down), min(1.0, estimate + up)


def _combined(one: float, two: float, alike: float) -> float:
    return math.sqrt(max(0.0, one * one + two * two - 2.0 * alike * one * two))


def _correlation(one: _Fit, two: _Fit) -> float:
    """How far two estimates move together by their common cases; never below 0."""
    both = min(len(one.by_verdicts), len(two.by_verdicts))
    by_verdicts = float(one.by_verdicts[:both] @ two.by_verdicts[:both])
    in_all = float((one.by_verdicts + one.by_grades)[:both] @ (two.by_verdicts + two.by_grades)[:both])
    scale = math.sqrt(one.variance * two.variance)
    return max(0.0, min(by_verdicts, in_all) / scale) if scale > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class _Fit:
    """The estimate from the groups of one kind of verdict each.

    Attributes:
        estimate, variance: of the share.
        power: lambda.
        size: what the graded outputs count as one group, for an estimate near 0 or 1.
        by_verdicts, by_grades: what each case adds to the estimate's error, by its verdicts and by its grades.
    """

    estimate: float
    variance: float
    power: float
    size: float
    by_verdicts: Floats
    by_grades: Floats


def _checked(outputs: JudgedOutputs) -> _Fit:
    n = len(outputs.cases)
    for name in ("weights", "verdicts", "grades"):
        require_equal_length("cases", n, name, len(getattr(outputs, name)))
    if outputs.graded < 2:
        raise InputError(f"{outputs.graded} graded outputs are too few: grade at least 2 of those that were judged.")
    return _fitted(outputs, outputs.verdicts)


@dataclass(frozen=True, eq=False)
class _Group:
    """Graded outputs with the same verdict."""

    grades: Floats
    weights: Floats
    cases: Ints

    @cached_property
    def share(self) -> float:
        """The broken ones among them."""
        return float(self.weights @ self.grades / self.weights.sum())

    @cached_property
    def size(self) -> float:
        """How many independent outputs of equal weight they are worth (Korn and Graubard 1998, with the correlation
        within cases pulled to 1 as in ``korn_graubard``)."""
        import numpy as np

        _, case = np.unique(self.cases, return_inverse=True)
        of_case, k = np.bincount(case, self.weights), int(case.max()) + 1
        squares, whole = float(self.weights @ self.weights), float(self.weights.sum())
        as_cases = whole * whole / float(of_case @ of_case)
        excess_weight = float(of_case @ of_case) / squares - 1.0
        if k == 1 or self.share in (0.0, 1.0):
            return as_cases
        if excess_weight <= 1e-9:
            return whole * whole / squares
        broken = np.bincount(case, self.weights * self.grades)
        spread = k / (k - 1) * float(((broken - self.share * of_case) ** 2).sum())
        correlation = min(1.0, max(0.0, (spread / (squares * self.share * (1.0 - self.share)) - 1.0) / excess_weight))
        informative_cases = min(int((broken > 0).sum()), int((broken < of_case - 1e-9).sum()))
        return (
            whole
            * whole
            / squares
            / (1.0 + excess_weight * (1.0 + informative_cases * correlation) / (1.0 + informative_cases))
        )

    @cached_property
    def variance(self) -> float:
        """Of the share, with half a broken and half a kept output added."""
        softened = (self.share * self.size + 0.5) / (self.size + 1.0)
        return softened * (1.0 - softened) / (self.size + 1.0)


def _fitted(outputs: JudgedOutputs, verdicts: Ints) -> _Fit:
    import numpy as np

    is_graded = outputs.grades != NOTHING
    groups = {value: _group(outputs, is_graded & (verdicts == value)) for value in np.unique(verdicts).tolist()}
    whole_group = _group(outputs, is_graded)
    assert whole_group is not None
    failed, passed = groups.get(1), groups.get(0)
    power = failed.share - passed.share if failed is not None and passed is not None else 0.0
    if power <= 0.0 and len(groups) > 1 and None not in groups.values():
        return _fitted(outputs, np.zeros_like(verdicts))
    weights = outputs.weights / outputs.weights.sum()
    weight_by_verdict = {value: float(weights[verdicts == value].sum()) for value in groups}
    # Nothing is known of a group without a grade: it may hold anything.
    shares = {
        value: whole_group.share if group is None or power <= 0.0 else group.share for value, group in groups.items()
    }
    estimate = sum(weight_by_verdict[value] * shares[value] for value in groups)
    within = sum(
        weight_by_verdict[value] ** 2 * (0.25 if group is None else group.variance) for value, group in groups.items()
    )
    by_verdicts: Floats = np.bincount(outputs.cases, weights * (_of_each(verdicts, shares) - estimate)).astype(
        "float64"
    )
    by_grades = np.zeros(len(by_verdicts))
    for value, group in groups.items():
        if group is not None:
            errors = weight_by_verdict[value] * group.weights * (group.grades - group.share) / group.weights.sum()
            by_grades += np.bincount(group.cases, errors, len(by_grades))
    return _Fit(
        estimate=estimate,
        variance=_variance(within, by_verdicts, by_grades),
        power=min(1.0, max(0.0, power)),
        size=whole_group.size,
        by_verdicts=by_verdicts,
        by_grades=by_grades,
    )


def _group(outputs: JudgedOutputs, members: npt.NDArray[np.bool_]) -> _Group | None:
    if not members.any():
        return None
    return _Group(outputs.grades[members].astype("float64"), outputs.weights[members], outputs.cases[members])


def _of_each(verdicts: Ints, shares: dict[int, float]) -> Floats:
    import numpy as np

    values = np.zeros(len(verdicts))
    for value, share in shares.items():
        values[verdicts == value] = share
    return values


def _variance(within: float, by_verdicts: Floats, by_grades: Floats) -> float:
    """The variance within the groups and that of their sizes, and more where both vary together by case."""
    k = int((by_verdicts != 0.0).sum())
    of_sizes = float(by_verdicts @ by_verdicts)
    apart = of_sizes + float(by_grades @ by_grades)
    total_variance = float((by_verdicts + by_grades) @ (by_verdicts + by_grades))
    stretch = max(1.0, total_variance / apart) if apart > 0.0 else 1.0
    return stretch * (within + of_sizes * k / max(1, k - 1))


def _ends(fit: _Fit, confidence: float) -> tuple[float, float]:
    """The exact interval at the size that the variance says; ``round`` keeps rounding errors out of its cache."""
    softened = (fit.estimate * fit.size + 0.5) / (fit.size + 1.0)
    size = softened * (1.0 - softened) / fit.variance
    return exact_bounds(round(fit.estimate, 12), round(size, 6), confidence)


def _alone(outputs: JudgedOutputs, fit: _Fit) -> float:
    """How many grades would tell as much by themselves: as many times more as their variance is greater."""
    import numpy as np

    alone = _fitted(outputs, np.zeros_like(outputs.verdicts))
    return outputs.graded * max(1.0, alone.variance / fit.variance) if fit.power > 0.0 else float(outputs.graded)
