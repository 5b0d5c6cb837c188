"""A spec's rules and input checks, decided by code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from promptpex.assertions import compiler, evaluator
from promptpex.assertions.batch import CHUNK
from promptpex.assertions.model import CheckedOutput, CheckReport, CheckResult, ExpectedOutput
from promptpex.assertions.rule_conditions import about_input
from promptpex.assertions.time_limits import check_time, time_of
from promptpex.core.ids import digest

if TYPE_CHECKING:
    from promptpex.core.records import InputCheck, Output, Rule, Verdict

CHECKS_VERSION = "assertions-2"
"""The version of the checks; part of each verdict's fingerprint, raised when a kind decides otherwise than before."""


OutputOfCase = tuple["Output", Mapping[str, object], ExpectedOutput | None]
"""An output; the inputs of its case, for templates in values; the expected output, where the case has one."""


def rule_chunks(
    outputs: Iterable[Output],
    inputs_of: Callable[[Output], Mapping[str, object]],
    expected_of: Callable[[Output], ExpectedOutput | None] = lambda output: None,
) -> Iterator[list[OutputOfCase]]:
    """The outputs with what their cases say, some at a time.

    Those with an error, on which code has no verdict, are left out.
    """
    usable = (output for output in outputs if output.error is None and output.text is not None)
    with_cases = ((output, inputs_of(output), expected_of(output)) for output in usable)
    while chunk := list(islice(with_cases, CHUNK)):
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
    async def open(self) -> AsyncIterator[Callable[[Sequence[OutputOfCase]], Awaitable[list[Verdict]]]]:
        """The function of a chunk.

        Raises:
            CheckError: a check that cannot be used as written.
        """
        time_of_all = time_of(sum(len(rule.checks) for rule in self.rules))
        with check_time(time_of_all):
            compiled = _compiled(self.rules)

        async def verdicts_on(outputs: Sequence[OutputOfCase]) -> list[Verdict]:
            with check_time(time_of_all):
                return _verdicts(compiled, outputs)

        yield verdicts_on


CompiledRule = tuple["Rule", compiler.Compiled, str]
"""A rule, its checks made ready, and their fingerprint."""


def _compiled(rules: Iterable[Rule]) -> list[CompiledRule]:
    prepared = [(rule, compiler.prepare(rule.checks)) for rule in rules if rule.checks]
    compiler.compile_patterns(made for _, made in prepared)
    return [(rule, compiler.require_usable(made, f"rule {rule.id}"), fingerprint(rule)) for rule, made in prepared]


def _verdicts(rules: Sequence[CompiledRule], outputs: Iterable[OutputOfCase]) -> list[Verdict]:
    """The verdicts on a chunk of outputs, whose patterns are matched in one call."""
    chunk = [(output, _checked_output(output, inputs, expected)) for output, inputs, expected in outputs]
    evaluator.work_ahead((compiled, checked) for _, checked in chunk for _, compiled, _ in rules)
    return [
        _verdict(rule, output, evaluator.evaluate(compiled, checked), rule_fingerprint)
        for output, checked in chunk
        for rule, compiled, rule_fingerprint in rules
    ]


def fingerprint(rule: Rule) -> str:
    """16 hex digits: the rule's checks and the engine's version."""
    return digest([CHECKS_VERSION, [check.model_dump(mode="json", by_alias=True) for check in rule.checks]], 16)


def _checked_output(output: Output, inputs: Mapping[str, object], expected: ExpectedOutput | None) -> CheckedOutput:
    logprobs = [token.logprob for token in output.logprobs] if output.logprobs is not None else None
    return evaluator.checked_output(
        output.text,
        inputs,
        cost=output.cost_usd,
        latency_ms=output.latency_ms,
        logprobs=logprobs,
        finish_reason=output.finish_reason,
        expected=expected,
    )


def _verdict(rule: Rule, output: Output, report: CheckReport, rule_fingerprint: str) -> Verdict:
    from promptpex.core.records import Verdict

    return Verdict.of(
        output.key,
        rule.id,
        report.status,
        "check:" + "+".join(_deciding(report)),
        reason=report.reason,
        unscored=report.unscored,
        fingerprint=rule_fingerprint,
    )


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
