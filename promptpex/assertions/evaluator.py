"""Evaluating compiled assertions: a verdict each on one output, and what they come to: weights, thresholds, metrics."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptpex.assertions import time_limits
from promptpex.assertions.compiler import Compiled, Step, detail_of, prepare
from promptpex.assertions.javascript import js_values, v8, value_templates
from promptpex.assertions.kinds.json import looked_at
from promptpex.assertions.model import (
    SET,
    Assertion,
    CheckedOutput,
    CheckReport,
    CheckResult,
    ExpectedOutput,
    KindResult,
    Status,
    Unscorable,
)
from promptpex.core.judge_questions import JudgeAnswer
from promptpex.core.match_kinds import DEFAULT_MATCH
from promptpex.core.translation import stored

if TYPE_CHECKING:
    from promptpex.core.records import Check


FAILED_TO_RUN = frozenset(("script-error", "bad-pattern", "timeout", "memory"))
"""Reasons that promptfoo counts as a score of 0; with a threshold the rest may carry the set without them."""

QUESTIONS = frozenset(("question", "not-question"))
"""Kinds whose reason says something also where they pass: it is a judge's."""


def combine(results: Sequence[CheckResult], threshold: float | None = None, empty_score: float = 1.0) -> CheckReport:
    """The verdict on a row, or on an assert-set.

    The score is sum(score x weight) / sum(weight). Without a threshold: fail when an assertion that counts (weight
    not 0) fails, else unscored when one could not be decided, else pass. With one: whether the score reaches it.
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


def evaluate(compiled: Compiled, checked: CheckedOutput, threshold: float | None = None) -> CheckReport:
    with time_limits.check_time():
        results = [_result(step, checked) for step in compiled.steps]
    return combine(results, None if threshold is None else js_values.as_double(threshold))


def evaluate_many(rows: Sequence[tuple[Compiled, CheckedOutput, float | None]]) -> list[CheckReport]:
    with time_limits.check_time():
        work_ahead((compiled, checked) for compiled, checked, _ in rows)
        return [evaluate(compiled, checked, threshold) for compiled, checked, threshold in rows]


def work_ahead(rows: Iterable[tuple[Compiled, CheckedOutput]]) -> None:
    """Make the matches and run the Python code of these rows now, in few calls."""
    rows = list(rows)
    with time_limits.check_time() as allowance, allowance.piece():
        matches = [match for compiled, checked in rows for step in compiled.steps for match in _matches(step, checked)]
        if len(matches) > 1:
            v8.REGEXES.prefetch(matches)
    _run_code(rows)


def _run_code(rows: Iterable[tuple[Compiled, CheckedOutput]]) -> None:
    """Run each Python check on all outputs together; what does not come to a result is met again by ``evaluate``."""
    outputs_of: dict[int, tuple[Step, list[CheckedOutput]]] = {}
    for compiled, checked in rows:
        for step in _code(compiled.steps) if checked.output is not None else ():
            outputs_of.setdefault(id(step), (step, []))[1].append(checked)
    if outputs_of:
        from promptpex.assertions.kinds import python

        tasks = [(step.assertion, step.plan, outputs, step.time) for step, outputs in outputs_of.values()]
        with time_limits.check_time() as allowance, allowance.piece(), contextlib.suppress(*_MET_AGAIN):
            python.prepare(tasks, lambda: allowance.used_up)


_MET_AGAIN = (Unscorable, RecursionError, MemoryError, ValueError)
"""What a hostile output can do to the rows of many; ``evaluate`` meets it again, and says so of that output alone."""


def _code(steps: Iterable[Step]) -> Iterable[Step]:
    for step in steps:
        yield from _code(step.steps)
        plain = step.assertion.transform is None and step.assertion.path is None
        if step.planned and step.assertion.base == "python" and plain and step.problem is None:
            yield step


def _matches(step: Step, checked: CheckedOutput) -> Iterable[v8.Match]:
    for part in step.steps:
        yield from _matches(part, checked)
    assertion = step.assertion
    if assertion.base != "regex" or step.kind is None or assertion.dialect == "python" or assertion.transform:
        return
    if checked.output is None or step.problem is not None:
        return
    try:
        with time_limits.TimedCheck(step.time):
            pattern = _plan(step, checked)
            matches = [(pattern, assertion.flags, part.text) for part in _looked_at(assertion, checked)]
    except Exception:  # ``evaluate`` meets it again, and says so of this one output
        return
    yield from matches


def _looked_at(assertion: Assertion, checked: CheckedOutput) -> list[CheckedOutput]:
    return [checked] if assertion.path is None else looked_at(assertion, checked)


def rendered(value: object, variables: Mapping[str, object]) -> object:
    """``value`` with the templates in its texts rendered: the text, a list's items, an object's values."""
    if isinstance(value, str):
        return value_templates.render(value, variables)
    if isinstance(value, list | tuple):
        return [rendered(item, variables) if isinstance(item, str) else item for item in value]
    if isinstance(value, Mapping):
        return {key: rendered(item, variables) for key, item in value.items()}
    return value


def _plan(step: Step, checked: CheckedOutput) -> Any:
    if step.planned or step.kind is None:
        return step.plan
    return step.kind.plan(step.assertion, rendered(step.assertion.value, checked.vars))


def _result(step: Step, checked: CheckedOutput) -> CheckResult:
    if step.problem is not None:
        return _unscored(step.assertion, step.problem)
    if step.assertion.asserts is not None:
        return _of_set(step, checked)
    try:
        if checked.output is None:
            raise Unscorable("no-output", stored("there is no output to check"))
        with time_limits.TimedCheck(step.time):
            result = _evaluated(step, checked)
        return _scored(step.assertion, result, checked)
    except Unscorable as error:
        return _unscored(step.assertion, error, checked)
    except (RecursionError, MemoryError):
        return _unscored(
            step.assertion, Unscorable("memory", stored("the output nests too deep to be checked")), checked
        )
    except Exception as error:  # outputs are hostile: what breaks one check may not end the run of all
        return _unscored(step.assertion, _broken(error), checked)


def _broken(error: Exception) -> Unscorable:
    return Unscorable("script-error", stored("the check broke on this output: {detail}", detail=detail_of(error)))


def _evaluated(step: Step, checked: CheckedOutput) -> KindResult:
    assert step.kind is not None
    if step.assertion.transform is not None:
        from promptpex.assertions.kinds import javascript

        checked = checked.with_output(javascript.transformed(step.assertion.transform, checked))
    plan = _plan(step, checked)
    if step.assertion.path is None:
        return step.kind.evaluate(step.assertion, plan, checked)
    parts = time_limits.in_time(_looked_at(step.assertion, checked))
    results = [step.kind.evaluate(step.assertion, plan, part) for part in parts]
    return _of_all(step.assertion, results)


def _of_all(assertion: Assertion, results: Sequence[KindResult]) -> KindResult:
    """What the values at a path come to, before ``not-``: the first that fails, under ``not-`` the first that holds."""
    deciding = next((result for result in results if result.passed == assertion.negated), None)
    if deciding is None:
        count = len(results)
        one, several = (
            stored("{count} value, all as wanted", count=1),
            stored("{count} values, all as wanted", count=count),
        )
        return KindResult(not assertion.negated, f"{assertion.path}: {one if count == 1 else several}")
    return replace(deciding, reason=f"{assertion.path}: {deciding.reason}")


def _scored(assertion: Assertion, result: KindResult, checked: CheckedOutput) -> CheckResult:
    passed, score = result.passed, result.score
    if assertion.negated and result.flips:
        passed = not passed
        score = negated_score(score) if result.inverts else None
    if score is None:
        score = 1.0 if passed else 0.0
    return CheckResult(
        kind=assertion.kind,
        status="pass" if passed else "fail",
        score=score if math.isfinite(score) else None,
        reason=result.reason,
        weight=assertion.weight,
        metric=metric_name(assertion, checked),
        named=result.named or {},
    )


def negated_score(score: float | None) -> float | None:
    """The score under ``not-``: 1 - score where it is a share, else None: 1 or 0 by the verdict."""
    if score is None or not 0 <= score <= 1:
        return None
    return 1 - score


def _of_set(step: Step, checked: CheckedOutput) -> CheckResult:
    assertion = step.assertion
    parts = [_result(part, checked) for part in step.steps]
    report = combine(parts, assertion.threshold, empty_score=0.0)
    passed = report.status == "pass"
    status, score = report.status, report.score
    if assertion.negated and status != "unscored":
        status = "fail" if passed else "pass"
        score = negated_score(score)
    return CheckResult(
        kind=assertion.kind,
        status=status,
        score=score,
        reason=report.reason,
        unscored=report.unscored,
        weight=assertion.weight,
        metric=metric_name(assertion, checked),
        parts=tuple(parts),
        named=report.named_scores,
    )


def metric_name(assertion: Assertion, checked: CheckedOutput | None) -> str | None:
    """The metric with its template rendered; the raw text where that fails, None where it comes out empty."""
    if not assertion.metric or checked is None:
        return assertion.metric or None
    try:
        return value_templates.render(assertion.metric, checked.vars) or None
    except Exception:  # a metric's name is not worth a verdict
        return assertion.metric


def _unscored(assertion: Assertion, error: Unscorable, checked: CheckedOutput | None = None) -> CheckResult:
    return CheckResult(
        kind=assertion.kind,
        status="unscored",
        score=None,
        reason=error.message,
        unscored=error.code,
        weight=assertion.weight,
        metric=metric_name(assertion, checked),
        questions=error.questions,
    )


def checked_output(
    output: object,
    variables: Mapping[str, object] | None = None,
    *,
    asserts: Sequence[object] = (),
    expected: ExpectedOutput | None = None,
    **measured: Any,
) -> CheckedOutput:
    """An output as checks see it, its variables prepared for templates; ``expected`` is one of them unless an input has
    that name."""
    ready = value_templates.prepared(variables or {})
    if expected is not None:
        ready.setdefault(value_templates.EXPECTED, expected.text.removesuffix("\n"))
    return CheckedOutput(output=output, vars=ready, asserts=asserts, expected=expected, **measured)


def check(
    output: object,
    assertions: Sequence[Check | Mapping[str, object]],
    *,
    vars: Mapping[str, object] | None = None,
    cost: float | None = None,
    latency_ms: float | None = None,
    logprobs: Sequence[float] | None = None,
    finish_reason: str | None = None,
    threshold: float | None = None,
    prompt: str | None = None,
    metadata: Mapping[str, object] | None = None,
    expected: str | None = None,
    match: str = DEFAULT_MATCH,
    answers: Mapping[str, bool] | None = None,
) -> CheckReport:
    """Judge one output.

    Args:
        output: a text or any JSON value; None = there is none.
        assertions: records, or mappings in promptfoo's shape (``type`` or ``kind``).
        vars: the test's variables, for templates and scripts.
        cost: US dollars.
        latency_ms: milliseconds.
        logprobs: natural-log probabilities of the tokens.
        finish_reason: as the provider gave it.
        threshold: the least weighted score that passes; None = every assertion has to pass.
        prompt, metadata: what scripts see as ``context.prompt`` and ``context.metadata``.
        expected: the right output, for the kind ``expected`` and for ``{{expected}}`` in values. match: how it is
            compared with.
        answers: to questions that checks put to a judge; ``questions`` of the report names those that are open.

    Returns:
        a verdict per assertion and the row's. What cannot be decided is unscored with its reason; nothing is raised.
    """
    checked = checked_output(
        output,
        vars,
        asserts=assertions,
        cost=cost,
        latency_ms=latency_ms,
        logprobs=logprobs,
        finish_reason=finish_reason,
        prompt=prompt,
        metadata=metadata,
        expected=None if expected is None else ExpectedOutput(expected, match),
        answers={question: JudgeAnswer(answer) for question, answer in (answers or {}).items()},
    )
    with time_limits.check_time():
        return evaluate(prepare(assertions), checked, threshold)
