"""What code says of outputs: conditions and checks of the rules, and what they leave for a judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpex.assertions import check_conditions
from promptpex.core.records import Output, OutputKey, Prompt, Rule, Suite, Verdict
from promptpex.judging.questions import QuestionJudge
from promptpex.judging.verdict_precedence import closed_by_code, left_open
from promptpex.workflow.execution.check_questions import RunChecks, outputs_with_cases, verdicts_with_answers
from promptpex.workflow.execution.expected_scores import expected_outputs
from promptpex.workflow.execution.order import judging_order, serial_server
from promptpex.workflow.session import Session

RulesOfOutputs = Mapping[tuple[str, str, int], Collection[str]]
"""Ids of rules, by the keys of outputs."""


@dataclass(frozen=True, slots=True)
class VerdictsOfCode:
    """What code says of outputs before a judge is asked.

    Attributes:
        rules: those in force.
        unmet: verdicts on rules that do not concern an output, or of which that cannot be told.
        checked: verdicts of the checks of all other rules.
        closed: unscored verdicts on rules that come after one which the output breaks, without those in ``unmet``.
    """

    rules: Sequence[Rule]
    unmet: Sequence[Verdict]
    checked: Sequence[Verdict]
    closed: Sequence[Verdict]

    @property
    def settled(self) -> RulesOfOutputs:
        """The rules that no judge has to be asked about, by the outputs."""
        return rules_of_outputs([*self.unmet, *self.closed])

    def weighable(self, asked: Collection[str]) -> list[Verdict]:
        """The verdicts of code as ``weigh`` takes them, where judges are asked about the rules ``asked``."""
        checked = {(verdict.key, verdict.rule) for verdict in self.checked} if self.closed else set()
        closed = [one for one in self.closed if one.rule in asked and (one.key, one.rule) not in checked]
        return [*self.unmet, *left_open(self.checked, self.rules, asked), *closed]


async def verdicts_of_code(
    session: Session,
    check: RunChecks,
    prompt: Prompt,
    rules: Sequence[Rule],
    suite: Suite,
    outputs: Sequence[Output],
    judges: Sequence[QuestionJudge] = (),
) -> VerdictsOfCode:
    """What code says of usable outputs, by the rules that are in force.

    Args:
        check: what runs the checks of these rules.
        judges: the one that answers the questions of checks; without it they stay open.
    """
    unmet = check_conditions(rules, outputs, lambda output: inputs_of(suite, output.case))
    left_out = rules_of_outputs(unmet)
    expected = expected_outputs(suite, session.settings.match, {output.case for output in outputs})
    with_cases = outputs_with_cases(prompt, rules, suite, outputs, expected)
    place = _places(session, suite, outputs, judges) if judges else {}
    checked = await verdicts_with_answers(
        session, check, with_cases, judges, lambda each: place.get(each.output.key, len(place))
    )
    checked = [verdict for verdict in checked if verdict.rule not in left_out.get(verdict.key, ())]
    closed = closed_by_code(rules, checked)
    return VerdictsOfCode(rules, unmet, checked, [one for one in closed if one.rule not in left_out.get(one.key, ())])


def _places(
    session: Session, suite: Suite, outputs: Sequence[Output], judges: Sequence[QuestionJudge]
) -> dict[OutputKey, int]:
    """When the questions about each output are asked: the lower, the sooner."""
    models, keys = [judge.role_model.model for judge in judges], [output.key for output in outputs]
    order = judging_order(keys, suite.usable(), models, turns=1, seed=session.settings.seed, serial=serial_server)
    return {keys[asked[1]]: number for number, asked in enumerate(order)}


def rules_of_outputs(verdicts: Iterable[Verdict]) -> RulesOfOutputs:
    """The rules that these verdicts are on, by the outputs."""
    rules: dict[tuple[str, str, int], set[str]] = {}
    for verdict in verdicts:
        rules.setdefault(verdict.key, set()).add(verdict.rule)
    return rules


def inputs_of(suite: Suite, case: str) -> Mapping[str, Any]:
    """The inputs of a case by its id; none where the suite has no such case."""
    case_record = suite.by_id.get(case)
    return {} if case_record is None else case_record.inputs
