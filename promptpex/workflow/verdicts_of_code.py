"""What code says of outputs: conditions and checks of the rules, and what they leave for a judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpex.assertions import check_conditions
from promptpex.core.records import Output, Prompt, Rule, Suite, Verdict
from promptpex.engines import Engine
from promptpex.judging.questions import QuestionJudge
from promptpex.judging.verdict_precedence import closed_by_code, left_open
from promptpex.workflow.order import judging_order, serial_server
from promptpex.workflow.questions import outputs_with_cases, verdicts_with_answers
from promptpex.workflow.scoring import expected_outputs
from promptpex.workflow.session import Session

Inputs = Mapping[str, Mapping[str, Any]]
"""The inputs of each case, by its id."""


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
    prompt: Prompt,
    rules: Sequence[Rule],
    suite: Suite,
    outputs: Sequence[Output],
    judges: Sequence[QuestionJudge] = (),
    engine: Engine | None = None,
) -> VerdictsOfCode:
    """What code says of usable outputs, by the rules that are in force.

    Args:
        judges: the one that answers the questions of checks; without it they stay open.
        engine: where the checks run; None: where the session has them run.
    """
    inputs, expected = inputs_of_cases(suite), expected_outputs(suite, session.settings.match)
    unmet = check_conditions(rules, outputs, lambda output: inputs.get(output.case, {}))
    left_out = rules_of_outputs(unmet)
    with_cases = outputs_with_cases(prompt, rules, suite, outputs, expected)
    models = [judge.role_model.model for judge in judges]
    order = judging_order(outputs, suite.usable(), models, turns=1, seed=session.settings.seed, serial=serial_server)
    place = {outputs[asked[1]].key: number for number, asked in enumerate(order)}
    checked = await verdicts_with_answers(
        session, rules, with_cases, judges, lambda each: place.get(each.output.key, len(place)), engine
    )
    checked = [verdict for verdict in checked if verdict.rule not in left_out.get(verdict.key, ())]
    closed = closed_by_code(rules, checked)
    return VerdictsOfCode(rules, unmet, checked, [one for one in closed if one.rule not in left_out.get(one.key, ())])


def rules_of_outputs(verdicts: Iterable[Verdict]) -> RulesOfOutputs:
    """The rules that these verdicts are on, by the outputs."""
    rules: dict[tuple[str, str, int], set[str]] = {}
    for verdict in verdicts:
        rules.setdefault(verdict.key, set()).add(verdict.rule)
    return rules


def inputs_of_cases(suite: Suite) -> Inputs:
    """The inputs of all cases."""
    return {case.id: case.inputs for case in suite.cases}
