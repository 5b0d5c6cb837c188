"""A spec's rules and input checks, decided by code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from promptpex.assertions import compiler, evaluator
from promptpex.assertions.batch import CHUNK
from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import CheckedOutput, CheckReport, CheckResult, ExpectedOutput
from promptpex.assertions.question_counts import asks
from promptpex.assertions.rule_conditions import about_input
from promptpex.assertions.time_limits import check_time, time_of
from promptpex.core.ids import digest
from promptpex.core.judge_questions import Answers
from promptpex.core.translation import stored

if TYPE_CHECKING:
    from promptpex.core.records import Check, InputCheck, Output, Rule, Verdict

CHECKS_VERSION = "assertions-2"
"""The version of the checks; part of each verdict's fingerprint, raised when a kind decides otherwise than before."""


@dataclass(frozen=True, slots=True)
class OutputOfCase:
    """An output with what its checks may look at.

    Attributes:
        output: a usable one.
        inputs: of its case, for templates in values and for code.
        expected: the right output, where the case has one.
        prompt: what the model was sent, as one text; empty where it is not known.
        answers: what a judge has said to questions about it so far.
    """

    output: Output
    inputs: Mapping[str, object]
    expected: ExpectedOutput | None = None
    prompt: str = ""
    answers: Answers = field(default_factory=dict)


class CodeVerdict(NamedTuple):
    """A verdict of code, and the questions that a judge has to answer before it can be another than unscored."""

    verdict: Verdict
    questions: tuple[str, ...]


def chunked(outputs: Iterable[OutputOfCase]) -> Iterator[list[OutputOfCase]]:
    """The outputs, some at a time."""
    left = iter(outputs)
    while chunk := list(islice(left, CHUNK)):
        yield chunk


@dataclass(frozen=True, slots=True)
class RuleCheckJob:
    """The job of giving verdicts of code on chunks of outputs, for the rules that have checks.

    A rule passes when all its checks pass, fails when one fails, and is unscored when one could not be decided. The
    verdicts are in the order of the outputs, then of the rules. Each place where the job runs compiles the checks, and
    has a clock for the outputs that it checks.
    """

    rules: tuple[Rule, ...]

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[Sequence[OutputOfCase]], Awaitable[list[CodeVerdict]]]]:
        """The function of a chunk.

        Raises:
            CheckError: a check that cannot be used as written.
        """
        time_of_all = time_of(sum(len(rule.checks) for rule in self.rules))
        with check_time(time_of_all):
            compiled = compiled_rules(self.rules)

        async def verdicts_on(outputs: Sequence[OutputOfCase]) -> list[CodeVerdict]:
            with check_time(time_of_all):
                return code_verdicts(compiled, outputs)

        yield verdicts_on


CompiledRule = tuple["Rule", compiler.Compiled, str]
"""A rule, its checks made ready, and their fingerprint."""


def compiled_rules(rules: Iterable[Rule]) -> list[CompiledRule]:
    """The checks of the rules that have any, made ready.

    Raises:
        CheckError: a check that cannot be used as written.
    """
    prepared = [(rule, compiler.prepare(rule.checks)) for rule in rules if rule.checks]
    compiler.compile_patterns(made for _, made in prepared)
    return [(rule, compiler.require_usable(made, f"rule {rule.id}"), fingerprint(rule)) for rule, made in prepared]


def code_verdicts(rules: Sequence[CompiledRule], outputs: Iterable[OutputOfCase]) -> list[CodeVerdict]:
    """The verdicts on a chunk of outputs, whose patterns are matched and whose code is run in few calls."""
    chunk = [(each, _checked_output(each)) for each in outputs]
    evaluator.work_ahead((compiled, checked) for _, checked in chunk for _, compiled, _ in rules)
    return [verdict for each, checked in chunk for verdict in _verdicts_on(rules, each, checked)]


def _verdicts_on(rules: Sequence[CompiledRule], each: OutputOfCase, checked: CheckedOutput) -> list[CodeVerdict]:
    reports = [(rule, evaluator.evaluate(compiled, checked), mark) for rule, compiled, mark in rules]
    no_json = next((rule.id for rule, report, _ in reports if _misses_json(rule, report, checked)), None)
    verdicts = []
    for rule, report, mark in reports:
        verdict = _verdict(rule, each, report, mark)
        if no_json is not None and rule.id != no_json and _could_not_look(rule, report, checked):
            reason = stored("the output holds no such JSON, and breaks {rule}, which demands it", rule=no_json)
            verdict = CodeVerdict(verdict.verdict.replace(status="unscored", unscored="after", reason=reason), ())
        verdicts.append(verdict)
    return verdicts


def _misses_json(rule: Rule, report: CheckReport, checked: CheckedOutput) -> bool:
    """Whether the output breaks a rule that demands JSON as a whole, by being none."""
    if report.status != "fail" or rule.when:
        return False
    demanded = any(
        check.kind == "is-json" and check.path is None and check.transform is None and result.status == "fail"
        for check, result in zip(rule.checks, report.results, strict=True)
    )
    return demanded and not _is_json(checked.text)


def _is_json(text: str) -> bool:
    with suppress(js_values.NotJson):
        js_values.strict_json(text)
        return True
    return False


def _could_not_look(rule: Rule, report: CheckReport, checked: CheckedOutput) -> bool:
    """Whether all that failed looked for JSON of a type of which the output holds none: one cause is one failure."""
    return report.status == "fail" and all(
        check.kind == "contains-json" and check.transform is None and not _holds_json_for(check, checked)
        for check, result in zip(rule.checks, report.results, strict=True)
        if result.status == "fail"
    )


def _holds_json_for(check: Check, checked: CheckedOutput) -> bool:
    """Whether the output holds an object or a list, whichever the schema is about."""
    schema = check.value
    if isinstance(schema, str):
        with suppress(js_values.NotJson):
            schema = js_values.strict_json(schema)
    python_type = {"object": dict, "array": list}.get(str(schema.get("type"))) if isinstance(schema, Mapping) else None
    return any(isinstance(value, python_type or (dict, list)) for value in checked.json_values)


def fingerprint(rule: Rule) -> str:
    """16 hex digits: the rule's checks and the engine's version."""
    return digest([CHECKS_VERSION, [check.model_dump(mode="json", by_alias=True) for check in rule.checks]], 16)


def _checked_output(each: OutputOfCase) -> CheckedOutput:
    output = each.output
    logprobs = [token.logprob for token in output.logprobs] if output.logprobs is not None else None
    return evaluator.checked_output(
        output.text,
        each.inputs,
        cost=output.cost_usd,
        latency_ms=output.latency_ms,
        logprobs=logprobs,
        finish_reason=output.finish_reason,
        prompt=each.prompt or None,
        expected=each.expected,
        answers=each.answers,
    )


def _verdict(rule: Rule, each: OutputOfCase, report: CheckReport, rule_fingerprint: str) -> CodeVerdict:
    from promptpex.core.records import Verdict

    judges = {answer.judge: answer.fingerprint for answer in each.answers.values()} if asks(rule.checks) else {}
    verdict = Verdict(
        case=each.output.case,
        model=each.output.model,
        repeat=each.output.repeat,
        rule=rule.id,
        status=report.status,
        reason=report.reason,
        unscored=report.unscored,
        source="".join(("check:", "+".join(_deciding(report)), *(f"@{judge}" for judge in judges))),
        fingerprint=digest([rule_fingerprint, *judges.values()], 16) if judges else rule_fingerprint,
    )
    return CodeVerdict(verdict, report.questions)


def _deciding(report: CheckReport) -> list[str]:
    """The kinds that made the verdict: those that failed, could not be decided, or all."""
    chosen: Sequence[CheckResult] = [result for result in report.results if result.status == report.status]
    return list(dict.fromkeys(result.kind for result in chosen or report.results))


def check_inputs(input_checks: Sequence[InputCheck], inputs: Mapping[str, object]) -> list[str]:
    """What is wrong with a case's inputs, one sentence each; empty when nothing is.

    The checks are on the value of the named variable; the other inputs are there for templates.

    Raises:
        CheckError: a check that cannot be used as written.
    """
    problems: list[str] = []
    for check in input_checks:
        compiled = compiler.compile_checks([check], where=f"the input check of {check.variable}")
        if check.variable not in inputs:
            problems.append(f"the input {check.variable} is missing")
            continue
        report = evaluator.evaluate(compiled, evaluator.checked_output(inputs[check.variable], inputs))
        if report.status == "fail":
            problems.append(f"the input {check.variable} breaks {about_input(report.reason)}")
        elif report.status == "unscored":
            problems.append(f"the input {check.variable} could not be checked by {about_input(report.reason)}")
    return problems
