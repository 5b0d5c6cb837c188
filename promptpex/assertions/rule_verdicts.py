"""A spec's rules and input checks, decided by code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from promptpex.assertions import compiler, evaluator
from promptpex.assertions.batch import CHUNK
from promptpex.assertions.model import CheckedOutput, CheckReport, CheckResult, ExpectedOutput
from promptpex.assertions.time_limits import check_time, time_of
from promptpex.core.ids import digest

if TYPE_CHECKING:
    from promptpex.core.records import InputCheck, Output, Rule, Verdict

CHECKS_VERSION = "assertions-2"
"""The version of the checks; part of each verdict's fingerprint, raised when a kind decides otherwise than before."""


def check_rules(
    rules: Sequence[Rule],
    outputs: Sequence[Output],
    inputs_of: Callable[[Output], Mapping[str, object]],
    expected_of: Callable[[Output], ExpectedOutput | None] = lambda output: None,
) -> list[Verdict]:
    """Verdicts of code on the rules that have checks, for every usable output.

    A rule passes when all its checks pass, fails when one fails, and is unscored when one could not be decided.

    Args:
        rules: those without checks are passed over.
        outputs: those with an error are passed over; code has no verdict on them.
        inputs_of: the inputs of an output's case, for templates in values.
        expected_of: the expected output of an output's case, where it has one.

    Returns:
        in the order of the outputs, then of the rules.

    Raises:
        CheckError: a check that cannot be used as written.
    """
    with check_time(time_of(sum(len(rule.checks) for rule in rules))):
        return _checked(rules, outputs, lambda output: _checked_output(output, inputs_of(output), expected_of(output)))


def _checked(
    rules: Sequence[Rule], outputs: Sequence[Output], checked_output: Callable[[Output], CheckedOutput]
) -> list[Verdict]:
    made = [(rule, compiler.prepare(rule.checks)) for rule in rules if rule.checks]
    compiler.compile_patterns(compiled for _, compiled in made)
    compiled_rules = [(rule, compiler.require_usable(compiled, f"rule {rule.id}")) for rule, compiled in made]
    fingerprints = {rule.id: fingerprint(rule) for rule, _ in compiled_rules}
    usable = [output for output in outputs if output.error is None and output.text is not None]
    verdicts: list[Verdict] = []
    for start in range(0, len(usable), CHUNK):
        chunk = [(output, checked_output(output)) for output in usable[start : start + CHUNK]]
        evaluator.prefetch_matches((compiled, checked) for _, checked in chunk for _, compiled in compiled_rules)
        for output, checked in chunk:
            for rule, compiled in compiled_rules:
                verdicts.append(_verdict(rule, output, evaluator.evaluate(compiled, checked), fingerprints[rule.id]))
    return verdicts


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

    return Verdict(
        case=output.case,
        model=output.model,
        repeat=output.repeat,
        rule=rule.id,
        status=report.status,
        reason=report.reason,
        unscored=report.unscored,
        source="check:" + "+".join(_deciding(report)),
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
            problems.append(f"the input {check.variable} breaks {report.reason}")
        elif report.status == "unscored":
            problems.append(f"the input {check.variable} could not be checked by {report.reason}")
    return problems
