"""What is wrong between the checks of a spec's rules, its prompt and its cases: a run would leave outputs unscored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.assertions import named_variables, unmet_conditions
from promptpex.assertions.javascript.value_templates import EXPECTED
from promptpex.assertions.phrase_list_detection import guessed_phrases, is_exclusion
from promptpex.codecs.text.wording import named, plural, quoted
from promptpex.core.errors import CheckError
from promptpex.core.records import Check, InputCheck, Problem, Prompt, Rule, Severity, Spec, Suite
from promptpex.documents.editable_file import Reading
from promptpex.specs.file import examine


@dataclass(frozen=True, slots=True)
class _Written:
    """A check of a spec, and where it stands; ``rule`` is None for an input check."""

    rule: Rule | None
    what: str
    check: Check
    line: int | None

    @property
    def is_condition(self) -> bool:
        return self.rule is not None and isinstance(self.check, InputCheck)


def against_prompt(path: Path, reading: Reading[Spec], prompt: Prompt) -> list[Problem]:
    """Checks that name variables which the prompt does not take, and conditions that name the expected output."""
    problems: list[Problem] = []
    inputs = (*prompt.variables, *prompt.checks_only)
    takes = f"the prompt takes {', '.join(inputs)}"

    def add(written: _Written, message: str, severity: Severity, suggestion: str) -> None:
        problems.append(
            Problem(path=str(path), line=written.line, message=message, suggestion=suggestion, severity=severity)
        )

    for written in _written(reading):
        check = written.check
        if isinstance(check, InputCheck) and check.variable not in inputs:
            add(written, f"{written.what} names {check.variable!r}", "error", takes)
        for name in sorted(named_variables([check]) - {*inputs, EXPECTED} if written.rule else ()):
            add(written, f"a value in {written.what} names {name!r}, which is empty", "warning", takes)
        guessed = _guessed(written, prompt)
        if guessed:
            message = f"{written.what} looks for {plural(len(guessed), 'phrase')} that the prompt does not name"
            hint = f"an output that says {quoted(guessed[0])} in other words passes; a `question` asks for the meaning"
            add(written, message, "info", hint)
        if written.is_condition and _needs_expected(check, inputs):
            message = f"{written.what} names the expected output, which a condition cannot see: it can never be decided"
            add(written, message, "warning", "a condition looks at the inputs alone")
    return problems


def read_for_prompt(path: Path, prompt: Prompt) -> Spec:
    """The spec in this file, to be used with the prompt.

    Raises:
        SpecError: as ``read_spec``; also for a condition or an input check on a variable that the prompt does not
            take, which would leave every output unscored, or make every case invalid.
    """
    reading = examine(path)
    reading.require()
    return replace(reading, problems=tuple(against_prompt(path, reading, prompt))).require()


def _guessed(written: _Written, prompt: Prompt) -> tuple[str, ...]:
    """Phrases by whose absence a check takes an exclusion for kept, as far as the prompt and the rule do not name them.

    A rule that its checks decide in part is left to a judge where they pass. Patterns are passed over: most say what an
    output looks like.
    """
    rule, kind = written.rule, written.check.kind
    by_absence = kind == "python" or (kind.startswith("not-") and kind != "not-regex")
    if (
        rule is None
        or written.is_condition
        or rule.decides != "wholly"
        or not by_absence
        or not is_exclusion(rule.rule)
    ):
        return ()
    guessed = guessed_phrases(written.check, f"{prompt.text()} {rule.rule} {rule.inverse or ''}")
    return guessed if len(guessed) > 1 else ()


def against_cases(
    path: Path, reading: Reading[Spec], cases_path: Path, cases: Reading[Suite]
) -> tuple[list[Problem], list[Problem]]:
    """The problems of the spec, by rules, and those of the case file, by cases.

    Of the spec: conditions that can be decided for no case, or not for all, and checks that compare with an expected
    output where no case has one. Of the case file: cases for a rule that does not concern them.
    """
    suite = cases.record
    inputs = {case.id: case.inputs for case in suite.usable()}
    of_spec = _without_expected(path, reading, suite)
    try:
        unmet = unmet_conditions(reading.record.rules, inputs)
    except CheckError as failure:
        return [*of_spec, Problem(path=str(path), message=failure.message)], []
    for position, rule in enumerate(reading.record.rules):
        undecided = {case: why[0] for case in inputs if (why := unmet.get((rule.id, case))) and _is_open(why[1])}
        if undecided and not any(_needs_expected(check, _variables(suite)) for check in rule.when):
            line = reading.line("rules", position, "when")
            of_spec.append(_undecided(path, line, rule, undecided, len(inputs)))
    of_cases = [
        Problem.warning(
            cases_path,
            cases.lines.get(case.id),
            f"the case {case.id!r} is for the rule {case.rule!r}, which does not concern it: {why[0]}",
            "change its input, or the rule that it is for",
        )
        for case in suite.usable()
        if (why := unmet.get((case.rule or "", case.id))) is not None and why[1] is None
    ]
    return of_spec, of_cases


def _variables(suite: Suite) -> frozenset[str]:
    """The variables that any case of a suite has a value for."""
    return frozenset(name for case in suite.cases for name in case.inputs)


def _is_open(code: str | None) -> bool:
    """Whether a condition could not be decided; a missing input is a problem of its case, and said there."""
    return code not in (None, "missing-input")


def _undecided(path: Path, line: int | None, rule: Rule, reasons: Mapping[str, str], cases: int) -> Problem:
    which = "no case" if len(reasons) == cases else f"{plural(len(reasons), 'case')} ({named(list(reasons))})"
    verb = "can be decided for" if len(reasons) == cases else "cannot be decided for"
    return Problem.warning(
        path,
        line,
        f"the condition of the rule {rule.id!r} {verb} {which}: {next(iter(reasons.values()))}",
        "correct the condition, such as its path, or the inputs: outputs to them are unscored",
    )


def _without_expected(path: Path, reading: Reading[Spec], suite: Suite) -> list[Problem]:
    """The checks that compare with an expected output, where there are cases and none has one."""
    if not suite.usable() or any(case.expected is not None for case in suite.usable()):
        return []
    variables = _variables(suite)
    return [
        Problem.warning(
            path,
            written.line,
            f"{written.what} compares with the expected output, but no case has one: everything stays unscored",
            "give cases an 'expected', or change the check",
        )
        for written in _written(reading)
        if written.rule is not None and not written.is_condition and _needs_expected(written.check, variables)
    ]


def _needs_expected(check: Check, variables: Sequence[str] | frozenset[str]) -> bool:
    """Whether a check cannot be decided without the expected output; an input of that name stands for it."""
    if check.kind.removeprefix("not-") == EXPECTED:
        return True
    if EXPECTED not in variables and EXPECTED in named_variables([check.replace(asserts=None)]):
        return True
    return any(_needs_expected(part, variables) for part in check.asserts or ())


def _written(reading: Reading[Spec]) -> Iterator[_Written]:
    """All checks of a spec; of one that can be read whole, so that positions in the file are those in the record."""
    for index, check in enumerate(reading.record.input_checks):
        yield _Written(None, "an input check", check, reading.line("input_checks", index))
    for position, rule in enumerate(reading.record.rules):
        for index, test in enumerate(rule.checks):
            line = reading.line("rules", position, "checks", index)
            yield _Written(rule, f"a check of the rule {rule.id!r}", test, line)
        for index, condition in enumerate(rule.when):
            line = reading.line("rules", position, "when", index)
            yield _Written(rule, f"the condition of the rule {rule.id!r}", condition, line)
