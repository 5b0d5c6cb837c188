"""A spec's rules, their conditions (``when``) and input checks, decided by code; and the questions that checks put."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from promptpex.assertions import compiler, evaluator
from promptpex.assertions.batch import CHUNK
from promptpex.assertions.compiler import RUBRIC
from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import CheckedOutput, CheckReport, CheckResult, ExpectedOutput, Unscorable
from promptpex.assertions.python import sandbox
from promptpex.assertions.time_limits import check_time, time_of
from promptpex.codecs.text.python_scan import count_asking
from promptpex.core.ids import digest
from promptpex.core.judge_questions import MAX_QUESTIONS, Answers
from promptpex.core.records import NOT_CONCERNED
from promptpex.core.translation import stored

if TYPE_CHECKING:
    from promptpex.assertions.compiler import Compiled
    from promptpex.core.records import Check, InputCheck, Output, Rule, Status, Verdict


def asks(checks: Iterable[Check]) -> bool:
    return questions_of(checks) > 0


def questions_of(checks: Iterable[Check]) -> int:
    """How many questions these checks put about one output.

    A ``question`` puts one; code as many as its text has calls of ``ask`` and ``ask_llm``, though it may skip some, and
    may make one more than once.
    """
    return sum(_questions(check) for check in checks)


def _questions(check: Check) -> int:
    kind = check.kind.removeprefix("not-")
    if check.asserts is not None:
        return questions_of(check.asserts)
    if kind in ("question", RUBRIC):
        return 1
    if kind != "python" or not isinstance(check.value, str):
        return 0
    return min(MAX_QUESTIONS, count_asking(check.value))


def sees_prompt(checks: Iterable[Check]) -> bool:
    return any(_sees_prompt(check) for check in checks)


def _sees_prompt(check: Check) -> bool:
    if check.asserts is not None:
        return sees_prompt(check.asserts)
    kind = check.kind.removeprefix("not-")
    if kind != "python" or not isinstance(check.value, str):
        return kind in ("question", RUBRIC, "javascript")
    try:
        program = sandbox.program_of(check.value)
    except Unscorable:
        return False
    return program.asks or "prompt" in program.parameters or "context" in program.parameters


SOURCE = "check:when"
"""The source of verdicts that rest on a rule's condition."""

Conditions = Sequence[tuple["InputCheck", "Compiled"]]
Unmet = tuple[str, str | None] | None
"""Why a rule does not concern a case, and the reason code where that could not be decided; None: it does."""


def check_conditions(
    rules: Sequence[Rule], outputs: Sequence[Output], inputs_of: Callable[[Output], Mapping[str, object]]
) -> list[Verdict]:
    """Verdicts on the outputs that rules do not concern; none on those that they do.

    ``not_concerned`` where a check of the rule's ``when`` fails; ``unscored`` where none fails and one could not be
    decided, or its input is missing.


    Raises:
        CheckError: a check that cannot be used as written.
    """
    usable = [output for output in outputs if output.error is None]
    unmet = unmet_conditions(rules, {output.case: inputs_of(output) for output in usable})
    marks = {rule.id: digest([check.to_dict() for check in rule.when], 16) for rule in rules if rule.when}
    return [
        _condition_verdict(rule, output, *why, mark)
        for output in usable
        for rule, mark in marks.items()
        if (why := unmet[rule, output.case]) is not None
    ]


def unmet_conditions(rules: Sequence[Rule], cases: Mapping[str, Mapping[str, object]]) -> dict[tuple[str, str], Unmet]:
    """By the ids of a rule with ``when`` and of a case, why the rule does not concern the case, or cannot be said to.


    Raises:
        CheckError: a check that cannot be used as written.
    """
    with check_time(time_of(sum(len(rule.when) for rule in rules))):
        conditional = {rule.id: _compiled(rule) for rule in rules if rule.when}
        return _unmet_by_case(conditional, cases) if conditional else {}


def _compiled(rule: Rule) -> Conditions:
    where = f"the condition of rule {rule.id}"
    return [(check, compiler.compile_checks([check], where=where)) for check in rule.when]


def _unmet_by_case(
    conditional: Mapping[str, Conditions], cases: Mapping[str, Mapping[str, object]]
) -> dict[tuple[str, str], Unmet]:
    """Why each rule does not concern each case, by their ids; the patterns of some cases are matched in one call."""
    unmet: dict[tuple[str, str], Unmet] = {}
    waiting = iter(cases.items())
    while chunk := list(islice(waiting, CHUNK)):
        evaluator.work_ahead(
            (compiled, evaluator.checked_output(inputs[check.variable], inputs))
            for _, inputs in chunk
            for conditions in conditional.values()
            for check, compiled in conditions
            if check.variable in inputs
        )
        for case, inputs in chunk:
            unmet |= {(rule, case): _unmet(conditions, inputs) for rule, conditions in conditional.items()}
    return unmet


def _unmet(conditions: Conditions, inputs: Mapping[str, object]) -> Unmet:
    """Why a rule with these conditions does not concern a case."""
    open_: Unmet = None
    for check, compiled in conditions:
        if check.variable not in inputs:
            open_ = open_ or (stored("the input {input} is missing", input=check.variable), "missing-input")
            continue
        report = evaluator.evaluate(compiled, evaluator.checked_output(inputs[check.variable], inputs))
        if report.status == "fail":
            reason = about_input(report.reason)
            words = stored("the rule's condition does not hold: the input {input} breaks {reason}")
            return words.format(input=check.variable, reason=reason), None
        if report.status == "unscored":
            reason = about_input(report.reason)
            words = stored("the input {input} could not be checked: {reason}")
            open_ = open_ or (words.format(input=check.variable, reason=reason), report.unscored)
    return open_


def about_input(reason: str) -> str:
    """The reason of a check that looked at an input: what it calls the output is that input."""
    return _OUTPUT.sub(rf"\1{IT}\2", reason, count=1)


OUTPUT, IT = stored("the output"), stored("it")
"""How a reason names what a check looked at (``core.catalogue`` knows both)."""
_OUTPUT = re.compile(r"^((?:(?:[^:‘\"]|\[\"[^\"]{1,80}\"\]){1,80}: ){0,4})the output('s)?\b")


def _condition_verdict(rule: str, output: Output, reason: str, unscored: str | None, mark: str) -> Verdict:
    from promptpex.core.records import Verdict

    status: Status = NOT_CONCERNED if unscored is None else "unscored"
    return Verdict.of(output.key, rule, status, SOURCE, reason=reason, unscored=unscored, fingerprint=mark)


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
    schema = check.value
    if isinstance(schema, str):
        with suppress(js_values.NotJson):
            schema = js_values.strict_json(schema)
    python_type = {"object": dict, "array": list}.get(str(schema.get("type"))) if isinstance(schema, Mapping) else None
    return any(isinstance(value, python_type or (dict, list)) for value in checked.json_values)


def fingerprint(rule: Rule) -> str:
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
