"""From assertions to verdicts: compile once, judge many outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptpex.assertions import combine, parse, registry, time_limits
from promptpex.assertions.javascript import js_values, v8, value_templates
from promptpex.assertions.javascript.js_values import MISSING
from promptpex.assertions.model import Assertion, CheckedOutput, CheckReport, CheckResult, KindResult, Unscorable
from promptpex.core.errors import CheckError
from promptpex.core.time_allowance import Allowance

if TYPE_CHECKING:
    from promptpex.core.records import Check


MAX_CHECKS = 20_000
"""In one file, those inside of sets included."""


def counted(checks: Iterable[Any]) -> int:
    """How many checks there are, before they are read: those inside of sets included."""
    parts = (check.get("assert", check.get("asserts")) if isinstance(check, Mapping) else None for check in checks)
    return sum(1 + (len(inside) if isinstance(inside, list) else 0) for inside in parts)


def _time_of_one() -> Allowance:
    return Allowance(time_limits.CHECKS_SECONDS)


@dataclass(frozen=True, slots=True)
class Step:
    """An assertion made ready: its kind, and its plan where the value needs no variables.

    ``problem`` is set where it cannot be used as written; ``time`` is what it may take on all outputs.
    """

    assertion: Assertion
    kind: registry.Kind | None = None
    plan: Any = None
    planned: bool = False
    steps: tuple[Step, ...] = ()
    problem: Unscorable | None = None
    time: Allowance = field(default_factory=_time_of_one, compare=False)


@dataclass(frozen=True, slots=True)
class Compiled:
    """Assertions made ready to judge outputs.

    Attributes:
        steps: one per assertion, in order.
        warnings: sentences about what will be ignored, such as misspelt keys.
    """

    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = field(default=(), compare=False)


def compile_checks(checks: Sequence[Check | Mapping[str, Any]], *, where: str = "") -> Compiled:
    """Make checks ready, refusing what cannot be used as written.

    Args:
        checks: records, or mappings in promptfoo's shape.
        where: such as ``rule r1``; stands at the start of the error's sentence.

    Raises:
        CheckError: an unknown kind (with a suggestion), a value of the wrong type, a pattern, schema or template that
            does not compile, a missing threshold. One sentence; the caller adds file and line.
    """
    with time_limits.check_time():
        made = ready(checks)
        announce([made])
        return strict(made, where)


def strict(made: Compiled, where: str = "") -> Compiled:
    """What ``compile_checks`` gives, of checks that are ``ready``; whoever has many announces them first.

    Raises:
        CheckError: see ``compile_checks``.
    """
    with time_limits.check_time():
        for step in made.steps:
            _strict(step, where)
    return Compiled(made.steps, tuple(_warnings(made.steps, where)))


def _strict(step: Step, where: str) -> None:
    try:
        with time_limits.Turn(step.time, each=time_limits.READING_SECONDS):
            _refuse(step)
    except Unscorable as error:
        raise CheckError(f"{where}: {error.message}" if where else error.message) from error


def _refuse(step: Step) -> None:
    if step.problem is not None:
        raise step.problem
    for part in step.steps:
        _refuse(part)
    if step.kind is not None and step.kind.verify is not None and step.planned:
        step.kind.verify(step.assertion, step.plan)
    if step.kind is not None and step.kind.refuse is not None:
        step.kind.refuse(step.assertion)


def _warnings(steps: Iterable[Step], where: str) -> Iterable[str]:
    for step in steps:
        for key in step.assertion.unknown:
            yield f"{where + ': ' if where else ''}{step.assertion.kind} has no key {key!r}; it is ignored"
        yield from _warnings(step.steps, where)


def ready(checks: Iterable[Any]) -> Compiled:
    """Make checks ready; one that cannot be used gives unscored results with its reason, its neighbours stay."""
    with time_limits.check_time():
        return Compiled(tuple(_step(check) for check in checks))


def _step(check: Any) -> Step:
    assertion = None
    try:
        assertion = parse.assertion(check)
        with time_limits.Turn(each=time_limits.READING_SECONDS):
            return _planned(assertion)
    except Unscorable as error:
        problem = error
    except RecursionError:
        problem = Unscorable("bad-value", "its value nests too deep")
    except Exception as error:  # numbers of any length, objects of any kind: what a check holds is hostile
        problem = Unscorable("bad-value", f"it cannot be used: {_detail(error)}")
    return Step(assertion or _nameless(check), problem=problem)


def _nameless(check: Any) -> Assertion:
    """A stand-in for what could not be read, so that results have a kind to name."""
    kind = check.get("kind", check.get("type")) if isinstance(check, Mapping) else None
    return Assertion(kind=kind if isinstance(kind, str) and kind else "unreadable")


def _planned(assertion: Assertion) -> Step:
    if assertion.asserts is not None:
        return Step(assertion, steps=tuple(_step(part) for part in assertion.asserts))
    kind = registry.kind(assertion.base)
    if kind.renders and _holds_template(assertion.value, kind.renders_inside):
        _check_templates(assertion.value)
        return Step(assertion, kind)
    return Step(assertion, kind, kind.plan(assertion, assertion.value), planned=True)


def _holds_template(value: Any, inside: bool = True) -> bool:
    if isinstance(value, str):
        return value_templates.has_template(value)
    if isinstance(value, list | tuple):
        return any(isinstance(item, str) and value_templates.has_template(item) for item in value)
    return inside and isinstance(value, Mapping) and any(_holds_template(item) for item in value.values())


def _check_templates(value: Any) -> None:
    if isinstance(value, str):
        value_templates.check_syntax(value)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_templates(item)
    elif isinstance(value, Mapping):
        _check_templates(list(value.values()))


def rendered(value: Any, variables: Mapping[str, Any]) -> Any:
    """``value`` with the templates in its texts rendered: the text, a list's items, an object's values."""
    if isinstance(value, str):
        return value_templates.render(value, variables)
    if isinstance(value, list | tuple):
        return [rendered(item, variables) if isinstance(item, str) else item for item in value]
    if isinstance(value, Mapping):
        return {key: rendered(item, variables) for key, item in value.items()}
    return value


def evaluate(compiled: Compiled, checked: CheckedOutput, threshold: float | None = None) -> CheckReport:
    """The verdicts on one output, and what they come to."""
    with time_limits.check_time():
        results = [_result(step, checked) for step in compiled.steps]
    return combine.combine(results, None if threshold is None else js_values.as_double(threshold))


def evaluate_many(rows: Sequence[tuple[Compiled, CheckedOutput, float | None]]) -> list[CheckReport]:
    """``evaluate`` for several rows, with all their regular expressions in one call into V8."""
    with time_limits.check_time():
        prime((compiled, checked) for compiled, checked, _ in rows)
        return [evaluate(compiled, checked, threshold) for compiled, checked, threshold in rows]


def prime(rows: Iterable[tuple[Compiled, CheckedOutput]]) -> None:
    """Make the matches of these rows now, in few calls."""
    with time_limits.check_time() as together, together.piece():
        matches = [match for compiled, checked in rows for step in compiled.steps for match in _matches(step, checked)]
        if len(matches) > 1:
            v8.REGEXES.prime(matches)


def announce(made: Iterable[Compiled]) -> None:
    """Compile the patterns of these checks now, in few calls: ``strict`` asks for one after the other."""
    with time_limits.check_time() as together, together.piece():
        patterns = [pattern for compiled in made for step in compiled.steps for pattern in _patterns(step)]
        if len(patterns) > 1:
            v8.REGEXES.prime((pattern, "", "") for pattern in patterns)


def _patterns(step: Step) -> Iterable[str]:
    for part in step.steps:
        yield from _patterns(part)
    if step.planned and step.assertion.base == "regex" and step.assertion.dialect != "python":
        yield step.plan


def warm_up(compiled: Compiled) -> None:
    """Start V8 now where these assertions will need it; it comes up while the caller reads on."""
    if any(_needs_v8(step) for step in compiled.steps):
        v8.PROCESS.start()


def _needs_v8(step: Step) -> bool:
    assertion = step.assertion
    scripted = assertion.base == "javascript" or assertion.transform is not None
    return scripted or assertion.base == "regex" or any(_needs_v8(part) for part in step.steps)


def _matches(step: Step, checked: CheckedOutput) -> Iterable[v8.Match]:
    for part in step.steps:
        yield from _matches(part, checked)
    assertion = step.assertion
    if assertion.base != "regex" or step.kind is None or assertion.dialect == "python" or assertion.transform:
        return
    if checked.output is None or step.problem is not None:
        return
    try:
        with time_limits.Turn(step.time):
            match = (_plan(step, checked), "", checked.text)
    except Exception:  # ``evaluate`` meets it again, and says so of this one output
        return
    yield match


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
            raise Unscorable("no-output", "there is no output to judge")
        with time_limits.Turn(step.time):
            result = _evaluated(step, checked)
        return _scored(step.assertion, result, checked)
    except Unscorable as error:
        return _unscored(step.assertion, error, checked)
    except (RecursionError, MemoryError):
        return _unscored(step.assertion, Unscorable("memory", "the output nests too deep to be result"), checked)
    except Exception as error:  # outputs are hostile: what breaks one check may not end the run of all
        return _unscored(step.assertion, _broken(error), checked)


def _broken(error: Exception) -> Unscorable:
    return Unscorable("script-error", f"the check broke on this output: {_detail(error)}")


def _detail(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"


def _evaluated(step: Step, checked: CheckedOutput) -> KindResult:
    assert step.kind is not None
    if step.assertion.transform is not None:
        from promptpex.assertions.kinds import javascript

        checked = checked.with_output(javascript.transformed(step.assertion.transform, checked))
    return step.kind.evaluate(step.assertion, _plan(step, checked), checked)


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
    report = combine.combine(parts, assertion.threshold, empty_score=0.0)
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
    except Exception:  # a metric's name is no reason to lose a verdict
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
    )


def checked_output(
    output: Any,
    variables: Mapping[str, Any] | None = None,
    *,
    asserts: Sequence[Any] = (),
    **measured: Any,
) -> CheckedOutput:
    """The checked of one output, its variables prepared for value_templates."""
    return CheckedOutput(output=output, vars=value_templates.prepared(variables or {}), asserts=asserts, **measured)


def check(
    output: Any,
    assertions: Sequence[Check | Mapping[str, Any]],
    *,
    vars: Mapping[str, Any] | None = None,
    cost: float | None = None,
    latency_ms: float | None = None,
    logprobs: Sequence[float] | None = None,
    finish_reason: str | None = None,
    threshold: float | None = None,
    prompt: str | None = None,
    metadata: Mapping[str, Any] | None = None,
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

    Returns:
        a verdict per assertion and the row's. What cannot judge is unscored with its reason; nothing is raised.
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
    )
    with time_limits.check_time():
        return evaluate(ready(assertions), checked, threshold)


__all__ = [
    "MISSING",
    "Compiled",
    "Step",
    "check",
    "compile_checks",
    "checked_output",
    "evaluate",
    "evaluate_many",
    "ready",
]
