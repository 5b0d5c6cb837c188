"""From assertions to verdicts: compile once, judge many outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptpex.assertions import clock, combine, parse, registry
from promptpex.assertions.javascript import js_values, templates, v8
from promptpex.assertions.javascript.js_values import MISSING
from promptpex.assertions.model import Assertion, CheckReport, CheckResult, Facts, Judged, Unscorable
from promptpex.core.errors import CheckError
from promptpex.core.time_allowance import Allowance

if TYPE_CHECKING:
    from promptpex.core.records import Check


MOST_CHECKS = 20_000
"""In one file, those inside of sets included."""


def counted(checks: Iterable[Any]) -> int:
    """How many checks there are, before they are read: those inside of sets included."""
    parts = (check.get("assert", check.get("asserts")) if isinstance(check, Mapping) else None for check in checks)
    return sum(1 + (len(inside) if isinstance(inside, list) else 0) for inside in parts)


def _time_of_one() -> Allowance:
    return Allowance(clock.CHECKS_SECONDS)


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
    with clock.check_time():
        made = ready(checks)
        announce([made])
        return strict(made, where)


def strict(made: Compiled, where: str = "") -> Compiled:
    """What ``compile_checks`` gives, of checks that are ``ready``; whoever has many announces them first.

    Raises:
        CheckError: see ``compile_checks``.
    """
    with clock.check_time():
        for found in made.steps:
            _strict(found, where)
    return Compiled(made.steps, tuple(_warnings(made.steps, where)))


def _strict(found: Step, where: str) -> None:
    try:
        with clock.Turn(found.time, each=clock.READING_SECONDS):
            _refuse(found)
    except Unscorable as error:
        raise CheckError(f"{where}: {error.message}" if where else error.message) from error


def _refuse(found: Step) -> None:
    if found.problem is not None:
        raise found.problem
    for part in found.steps:
        _refuse(part)
    if found.kind is not None and found.kind.verify is not None and found.planned:
        found.kind.verify(found.assertion, found.plan)
    if found.kind is not None and found.kind.refuse is not None:
        found.kind.refuse(found.assertion)


def _warnings(steps: Iterable[Step], where: str) -> Iterable[str]:
    for found in steps:
        for key in found.assertion.unknown:
            yield f"{where + ': ' if where else ''}{found.assertion.kind} has no key {key!r}; it is ignored"
        yield from _warnings(found.steps, where)


def ready(checks: Iterable[Any]) -> Compiled:
    """Make checks ready; one that cannot be used gives unscored results with its reason, its neighbours stay."""
    with clock.check_time():
        return Compiled(tuple(_step(check) for check in checks))


def _step(check: Any) -> Step:
    assertion = None
    try:
        assertion = parse.assertion(check)
        with clock.Turn(each=clock.READING_SECONDS):
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
        return templates.has_template(value)
    if isinstance(value, list | tuple):
        return any(isinstance(item, str) and templates.has_template(item) for item in value)
    return inside and isinstance(value, Mapping) and any(_holds_template(item) for item in value.values())


def _check_templates(value: Any) -> None:
    if isinstance(value, str):
        templates.check_syntax(value)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_templates(item)
    elif isinstance(value, Mapping):
        _check_templates(list(value.values()))


def rendered(value: Any, variables: Mapping[str, Any]) -> Any:
    """``value`` with the templates in its texts rendered: the text, a list's items, an object's values."""
    if isinstance(value, str):
        return templates.render(value, variables)
    if isinstance(value, list | tuple):
        return [rendered(item, variables) if isinstance(item, str) else item for item in value]
    if isinstance(value, Mapping):
        return {key: rendered(item, variables) for key, item in value.items()}
    return value


def judge(compiled: Compiled, facts: Facts, threshold: float | None = None) -> CheckReport:
    """The verdicts on one output, and what they come to."""
    with clock.check_time():
        results = [_result(found, facts) for found in compiled.steps]
    return combine.combine(results, None if threshold is None else js_values.as_double(threshold))


def judge_many(rows: Sequence[tuple[Compiled, Facts, float | None]]) -> list[CheckReport]:
    """``judge`` for several rows, with all their regular expressions in one call into V8."""
    with clock.check_time():
        prime((compiled, facts) for compiled, facts, _ in rows)
        return [judge(compiled, facts, threshold) for compiled, facts, threshold in rows]


def prime(rows: Iterable[tuple[Compiled, Facts]]) -> None:
    """Make the matches of these rows now, in few calls."""
    with clock.check_time() as together, together.piece():
        matches = [match for compiled, facts in rows for found in compiled.steps for match in _matches(found, facts)]
        if len(matches) > 1:
            v8.REGEXES.prime(matches)


def announce(made: Iterable[Compiled]) -> None:
    """Compile the patterns of these checks now, in few calls: ``strict`` asks for one after the other."""
    with clock.check_time() as together, together.piece():
        patterns = [pattern for compiled in made for found in compiled.steps for pattern in _patterns(found)]
        if len(patterns) > 1:
            v8.REGEXES.prime((pattern, "", "") for pattern in patterns)


def _patterns(found: Step) -> Iterable[str]:
    for part in found.steps:
        yield from _patterns(part)
    if found.planned and found.assertion.base == "regex" and found.assertion.dialect != "python":
        yield found.plan


def warm_up(compiled: Compiled) -> None:
    """Start V8 now where these assertions will need it; it comes up while the caller reads on."""
    if any(_needs_v8(found) for found in compiled.steps):
        v8.ENGINE.start()


def _needs_v8(found: Step) -> bool:
    assertion = found.assertion
    scripted = assertion.base == "javascript" or assertion.transform is not None
    return scripted or assertion.base == "regex" or any(_needs_v8(part) for part in found.steps)


def _matches(found: Step, facts: Facts) -> Iterable[v8.Match]:
    for part in found.steps:
        yield from _matches(part, facts)
    assertion = found.assertion
    if assertion.base != "regex" or found.kind is None or assertion.dialect == "python" or assertion.transform:
        return
    if facts.output is None or found.problem is not None:
        return
    try:
        with clock.Turn(found.time):
            match = (_plan(found, facts), "", facts.text)
    except Exception:  # ``judge`` meets it again, and says so of this one output
        return
    yield match


def _plan(found: Step, facts: Facts) -> Any:
    if found.planned or found.kind is None:
        return found.plan
    return found.kind.plan(found.assertion, rendered(found.assertion.value, facts.vars))


def _result(found: Step, facts: Facts) -> CheckResult:
    if found.problem is not None:
        return _unscored(found.assertion, found.problem)
    if found.assertion.asserts is not None:
        return _of_set(found, facts)
    try:
        if facts.output is None:
            raise Unscorable("no-output", "there is no output to judge")
        with clock.Turn(found.time):
            judged = _judged(found, facts)
        return _scored(found.assertion, judged, facts)
    except Unscorable as error:
        return _unscored(found.assertion, error, facts)
    except (RecursionError, MemoryError):
        return _unscored(found.assertion, Unscorable("memory", "the output nests too deep to be judged"), facts)
    except Exception as error:  # outputs are hostile: what breaks one check may not end the run of all
        return _unscored(found.assertion, _broken(error), facts)


def _broken(error: Exception) -> Unscorable:
    return Unscorable("script-error", f"the check broke on this output: {_detail(error)}")


def _detail(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"


def _judged(found: Step, facts: Facts) -> Judged:
    assert found.kind is not None
    if found.assertion.transform is not None:
        from promptpex.assertions.kinds import javascript

        facts = facts.with_output(javascript.transformed(found.assertion.transform, facts))
    return found.kind.judge(found.assertion, _plan(found, facts), facts)


def _scored(assertion: Assertion, judged: Judged, facts: Facts) -> CheckResult:
    passed, score = judged.passed, judged.score
    if assertion.negated and judged.flips:
        passed = not passed
        score = negated_score(score) if judged.inverts else None
    if score is None:
        score = 1.0 if passed else 0.0
    return CheckResult(
        kind=assertion.kind,
        status="pass" if passed else "fail",
        score=score if math.isfinite(score) else None,
        reason=judged.reason,
        weight=assertion.weight,
        metric=metric_name(assertion, facts),
        named=judged.named or {},
    )


def negated_score(score: float | None) -> float | None:
    """The score under ``not-``: 1 - score where it is a share, else None: 1 or 0 by the verdict."""
    if score is None or not 0 <= score <= 1:
        return None
    return 1 - score


def _of_set(found: Step, facts: Facts) -> CheckResult:
    assertion = found.assertion
    parts = [_result(part, facts) for part in found.steps]
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
        metric=metric_name(assertion, facts),
        parts=tuple(parts),
        named=report.named_scores,
    )


def metric_name(assertion: Assertion, facts: Facts | None) -> str | None:
    """The metric with its template rendered; the raw text where that fails, None where it comes out empty."""
    if not assertion.metric or facts is None:
        return assertion.metric or None
    try:
        return templates.render(assertion.metric, facts.vars) or None
    except Exception:  # a metric's name is no reason to lose a verdict
        return assertion.metric


def _unscored(assertion: Assertion, error: Unscorable, facts: Facts | None = None) -> CheckResult:
    return CheckResult(
        kind=assertion.kind,
        status="unscored",
        score=None,
        reason=error.message,
        unscored=error.code,
        weight=assertion.weight,
        metric=metric_name(assertion, facts),
    )


def facts_of(
    output: Any,
    variables: Mapping[str, Any] | None = None,
    *,
    asserts: Sequence[Any] = (),
    **measured: Any,
) -> Facts:
    """The facts of one output, its variables prepared for templates."""
    return Facts(output=output, vars=templates.prepared(variables or {}), asserts=asserts, **measured)


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
    facts = facts_of(
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
    with clock.check_time():
        return judge(ready(assertions), facts, threshold)


__all__ = ["MISSING", "Compiled", "Step", "check", "compile_checks", "facts_of", "judge", "judge_many", "ready"]
