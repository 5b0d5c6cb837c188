"""What is wrong with a spec and its cases, beyond what reading each finds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from promptpex.assertions import check_inputs, named_variables, unmet_conditions
from promptpex.assertions.authored_checks import guessed_phrases, is_exclusion
from promptpex.assertions.javascript.value_templates import EXPECTED
from promptpex.cases.input_specs import type_problems
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import named, plural, quoted
from promptpex.core.errors import CheckError, PromptFileError
from promptpex.core.ids import canonical
from promptpex.core.records import Check, InputCheck, Problem, Prompt, Rule, Severity, Spec, Suite, VariableSpec
from promptpex.documents.editable_file import Reading
from promptpex.judging.judge_mode import has_condition
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
    """The spec in this file, to be used with the prompt."""
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


_JSON_KINDS = frozenset(("is-json", "contains-json"))
_JSON = re.compile(r"\bJSON\b")


def paths_without_json(path: Path, reading: Reading[Spec]) -> list[Problem]:
    """The rules whose checks have a ``path``, where no rule demands JSON (a warning) or they do not come ``after`` the
    one that does (an info); each time one problem, at the first of them.

    Args:
        path: the spec's file.
        reading: the spec, with its lines.
    """
    rules = {rule.id: rule for rule in reading.record.rules if not rule.stale}
    demanding = {rule.id for rule in rules.values() if _demands_json(rule)}
    looking = [rule.id for rule in rules.values() if _has_path(rule.checks) and not _follows(rule, rules, demanding)]
    if not looking:
        return []
    which = f"the rule {looking[0]!r} looks" if len(looking) == 1 else f"the rules {named(looking)} look"
    severity: Severity = "info" if demanding else "warning"
    if demanding:
        first = next(rule for rule in rules if rule in demanding)
        message = f"{which} at values of a JSON output, also of one that breaks {first}, which demands JSON"
        suggestion = (
            f"add `after: {first}`: such an output then fails {first} alone, and no judge is asked about the rest"
        )
    else:
        message = (
            f"{which} at values of a JSON output, and no rule requires JSON: an output that is not JSON breaks nothing"
        )
        suggestion = "add a rule with the check {kind: is-json}, and name it in these under 'after'"
    line = reading.lines.get(looking[0])
    return [Problem(path=str(path), line=line, message=message, suggestion=suggestion, severity=severity)]


def _follows(rule: Rule, rules: Mapping[str, Rule], demanding: Collection[str]) -> bool:
    """Whether a rule demands JSON itself or comes after one that does, directly or not."""
    seen: set[str] = set()
    at: Rule | None = rule
    while at is not None and at.id not in seen:
        if at.id in demanding:
            return True
        seen.add(at.id)
        at = rules.get(at.after or "")
    return False


def _demands_json(rule: Rule) -> bool:
    """Whether every output that is not JSON breaks a rule: by its checks or, where a judge decides it, by its words."""
    if not rule.when and any(map(_is_whole_json, rule.checks)):
        return True
    return rule.needs_judge and not has_condition(rule) and _JSON.search(rule.rule) is not None


def _is_whole_json(check: Check) -> bool:
    whole = check.kind in _JSON_KINDS and check.path is None and check.transform is None and check.weight != 0
    return whole or (check.threshold is None and any(map(_is_whole_json, check.asserts or ())))


def _has_path(checks: Sequence[Check]) -> bool:
    return any(check.path is not None or _has_path(check.asserts or ()) for check in checks)


def problems_of_inputs(
    path: Path, spec: Spec | None, prompt: Prompt | None, reading: Reading[Suite]
) -> Iterator[Problem]:
    """The cases that break an input check, or a type, a bound or a list of values of a variable."""
    allowed = _allowed(spec, prompt)
    for case in reading.record.cases:
        if case.invalid is not None:
            continue
        try:
            wrong = check_inputs(spec.input_checks, case.inputs) if spec is not None else []
        except CheckError as failure:
            yield Problem(path=str(path), message=failure.message)
            return
        for name, value in case.inputs.items():
            for variable in allowed.get(name, ()):
                wrong += [sentence for sentence in _outside(name, value, variable) if sentence not in wrong]
        for sentence in wrong:
            line, message = reading.lines.get(case.id), f"the case {case.id!r}: {sentence}"
            yield Problem.warning(path, line, message, "change the input, or what is allowed")


def equal_inputs(path: Path, reading: Reading[Suite]) -> Iterator[Problem]:
    """A hint for each set of cases whose inputs are the same, at the second of them.

    They look like several and are one: a model is asked once, and its answer counts for each. Cases that aim at
    different rules are named too.
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for case in reading.record.cases:
        if case.invalid is None:
            alike[canonical(dict(case.inputs))].append(case.id)
    for ids in alike.values():
        if len(ids) > 1:
            message = f"the cases {named(ids)} have the same inputs: they are asked once and count {len(ids)} times"
            yield Problem.info(path, reading.lines.get(ids[1]), message, "change the inputs, or keep one of them")


def _allowed(spec: Spec | None, prompt: Prompt | None) -> dict[str, list[VariableSpec]]:
    """What spec and front matter say of each variable."""
    from promptpex.specs.extract import declared  # a run loads nothing that extracts

    allowed = {name: [variable] for name, variable in (spec.inputs.items() if spec is not None else ())}
    if prompt is None:
        return allowed
    for name in prompt.variables:
        with suppress(PromptFileError):  # said of the front matter already
            allowed.setdefault(name, []).append(declared(prompt, name))
    return allowed


def _outside(name: str, value: Any, variable: VariableSpec) -> list[str]:
    """What is wrong with a value. Text is what a variable holds of which nothing is said: any value will do for it, and
    a number or a truth value counts as the text that it writes."""
    if variable.type != "text" or isinstance(value, str):
        return type_problems(name, value, variable)
    return type_problems(name, value_text(value), variable) if isinstance(value, bool | int | float) else []
