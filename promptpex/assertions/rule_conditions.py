"""Which outputs a rule concerns: code holds its ``when`` against the inputs, before anything judges the outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from promptpex.assertions import compiler, evaluator
from promptpex.assertions.batch import CHUNK
from promptpex.assertions.time_limits import check_time, time_of
from promptpex.core.ids import digest
from promptpex.core.records import NOT_CONCERNED
from promptpex.core.translation import stored

if TYPE_CHECKING:
    from promptpex.assertions.compiler import Compiled
    from promptpex.core.records import InputCheck, Output, Rule, Status, Verdict

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

    Args:
        rules: those without ``when`` concern every output.
        outputs: those with an error are passed over.
        inputs_of: the inputs of an output's case.

    Raises:
        CheckError: a check that cannot be used as written.
    """
    usable = [output for output in outputs if output.error is None]
    unmet = unmet_conditions(rules, {output.case: inputs_of(output) for output in usable})
    marks = {rule.id: digest([check.to_dict() for check in rule.when], 16) for rule in rules if rule.when}
    return [
        _verdict(rule, output, *why, mark)
        for output in usable
        for rule, mark in marks.items()
        if (why := unmet[rule, output.case]) is not None
    ]


def unmet_conditions(rules: Sequence[Rule], cases: Mapping[str, Mapping[str, object]]) -> dict[tuple[str, str], Unmet]:
    """By the ids of a rule with ``when`` and of a case, why the rule does not concern the case, or cannot be said to.

    Args:
        rules: those without ``when`` are left out.
        cases: the inputs of each case, by its id.

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


def _verdict(rule: str, output: Output, reason: str, unscored: str | None, mark: str) -> Verdict:
    from promptpex.core.records import Verdict

    status: Status = NOT_CONCERNED if unscored is None else "unscored"
    return Verdict.of(output.key, rule, status, SOURCE, reason=reason, unscored=unscored, fingerprint=mark)
