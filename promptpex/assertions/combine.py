"""What the verdicts of several assertions come to: weights, thresholds, metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from promptpex.assertions.model import CheckReport, CheckResult, Status
from promptpex.assertions.registry import SET
from promptpex.core.translation import stored

FAILED_TO_RUN = frozenset(("script-error", "bad-pattern", "timeout", "memory"))
"""Reasons that promptfoo counts as a score of 0; with a threshold the rest may carry the set without them."""

QUESTIONS = frozenset(("question", "not-question"))
"""Kinds whose reason says something also where they pass: it is a judge's."""


def combine(results: Sequence[CheckResult], threshold: float | None = None, empty_score: float = 1.0) -> CheckReport:
    """The verdict on a row, or on an assert-set.

    The score is sum(score x weight) / sum(weight). Without a threshold: fail when an assertion that counts (weight
    not 0) fails, else unscored when one could not be decided, else pass. With one: whether the score reaches it.

    Args:
        results: in order.
        threshold: the least score that passes.
        empty_score: the score where there is nothing to add up.
    """
    score = _score(results) if results else empty_score
    named = _named(results)
    first_unscored = next((result for result in results if result.status == "unscored"), None)
    if threshold is not None and (results or empty_score < 1):
        status, reason = _by_threshold(results, score, threshold, first_unscored)
    else:
        status, reason = _by_all(results, first_unscored)
    return CheckReport(
        status=status,
        score=score if _tells(score, status, results) else None,
        reason=reason,
        unscored=first_unscored.unscored if status == "unscored" and first_unscored is not None else None,
        results=tuple(results),
        named_scores=named,
    )


def _tells(score: float | None, status: Status, results: Sequence[CheckResult]) -> bool:
    """Whether the score says something: it is finite, and no part that it lacks could have made it another."""
    lacking = {result.unscored for result in results if result.status == "unscored"}
    return score is not None and math.isfinite(score) and status != "unscored" and lacking <= FAILED_TO_RUN


def _by_all(results: Sequence[CheckResult], first_unscored: CheckResult | None) -> tuple[Status, str]:
    failed = next((result for result in results if result.status == "fail" and counts(result)), None)
    if failed is not None:
        return "fail", _says(failed)
    if first_unscored is not None:
        return "unscored", _says(first_unscored)
    if not results:
        return "pass", stored("there is nothing to check")
    if len(results) > 1:
        return "pass", stored("all {count} assertions passed", count=len(results))
    return "pass", _says(results[0]) if results[0].kind in QUESTIONS else stored("the assertion passed")


def counts(result: CheckResult) -> bool:
    """Whether a failure of it fails the row: a weight of 0 informs only; a set always counts, as in promptfoo."""
    return result.weight != 0 or result.kind.removeprefix("not-") == SET


def _by_threshold(
    results: Sequence[CheckResult], score: float | None, threshold: float, first_unscored: CheckResult | None
) -> tuple[Status, str]:
    if first_unscored is not None:
        return _bounded(results, threshold, first_unscored)
    limit = f"{threshold:.6g}"
    if score is None:
        return "fail", stored("a score that is not a number is below {limit}", limit=limit)
    if score >= threshold:
        return "pass", stored("the score {score} reaches {limit}", score=f"{score:.6g}", limit=limit)
    return "fail", stored("the score {score} is below {limit}", score=f"{score:.6g}", limit=limit)


def _bounded(results: Sequence[CheckResult], threshold: float, first_unscored: CheckResult) -> tuple[Status, str]:
    """With unscored parts: fail where even full marks for them are too little; see ``FAILED_TO_RUN`` for pass."""
    most = _score(results, unknown=1.0)
    if most is not None and most < threshold:
        return "fail", stored("the score cannot reach {limit}", limit=f"{threshold:.6g}")
    least = _score(results, unknown=0.0)
    codes = {result.unscored for result in results if result.status == "unscored"}
    if least is not None and least >= threshold and codes <= FAILED_TO_RUN:
        reason = stored(
            "the score reaches {limit} without {kind}, which could not be decided",
            limit=f"{threshold:.6g}",
            kind=first_unscored.kind,
        )
        return "pass", reason
    return "unscored", _says(first_unscored)


def _score(results: Iterable[CheckResult], unknown: float = 0.0) -> float | None:
    """The weighted mean; 0 where the weights' sum is not above 0; None where a score is not finite."""
    total = weights = 0.0
    for result in results:
        value = unknown if result.status == "unscored" else result.score
        if value is None:
            return None
        total += value * result.weight
        weights += result.weight
    return total / weights if weights > 0 else 0.0


def _named(results: Iterable[CheckResult]) -> dict[str, float]:
    """The weighted mean per metric; a set's inner names come up with the set's weight."""
    sums: dict[str, list[float]] = {}
    for result in results:
        carried = dict(result.named)
        if result.metric is not None and result.score is not None:
            carried[result.metric] = result.score
        for name, value in carried.items():
            entry = sums.setdefault(name, [0.0, 0.0])
            entry[0] += value * result.weight
            entry[1] += result.weight
    return {name: (total / weight if weight > 0 else 0.0) for name, (total, weight) in sums.items()}


def _says(result: CheckResult) -> str:
    return f"{result.kind}: {result.reason}"
