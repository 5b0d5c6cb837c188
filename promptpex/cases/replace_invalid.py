"""Refinement: cases that are not valid are marked, and replaced by new ones up to a limit of tries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from promptpex.cases.generate import generate
from promptpex.cases.plan import Generation, Plan, plan
from promptpex.cases.validity import Validity, ValidityCheck, validity
from promptpex.core.events import Listener, Notice
from promptpex.core.records import Case, Suite
from promptpex.core.translation import stored, stored_n
from promptpex.llm.model_in_role import RoleModel


@dataclass(frozen=True, slots=True)
class RefinedSuite:
    """A suite after its rounds of validity.

    Attributes:
        suite: with ``invalid`` set on the generated cases that cannot be used; they stay in it.
        plan: what is still missing after the last round, within the limit of tries.
        findings: the validity of each case that was checked, by its id.
    """

    suite: Suite
    plan: Plan
    findings: Mapping[str, Validity]


def with_invalid(suite: Suite, findings: Mapping[str, Validity]) -> Suite:
    """The suite with ``invalid`` set, and its reason, on the machine's cases that are not valid.

    Cases of people stay as they wrote them, whatever a model thinks of them.
    """

    def mark(case: Case) -> Case:
        finding = findings.get(case.id)
        if finding is None or finding.status != "invalid" or case.origin != "generated" or case.invalid is not None:
            return case
        return case.replace(invalid="; ".join(finding.reasons), content=None)

    return suite.replace(cases=tuple(mark(case) for case in suite.cases))


async def mark_invalid(
    suite: Suite, how: ValidityCheck, *, only: Collection[str] | None = None
) -> tuple[Suite, list[Validity]]:
    """The suite with its unusable cases marked, and the validity of those that were checked. No case is replaced.

    Args:
        only: ids of the cases to check, such as the variants that expansion made; None = all usable ones.
    """
    cases = [case for case in suite.usable() if only is None or case.id in only]
    checked = await validity(cases, how)
    suite = with_invalid(suite, {finding.case: finding for finding in checked})
    _notify(checked, suite, how.emit)
    return suite, checked


async def replace_invalid(
    author: RoleModel, suite: Suite, how: ValidityCheck, *, options: Generation, rounds: int
) -> RefinedSuite:
    """The suite with its unusable cases marked and, up to ``rounds`` times, replaced by new ones.

    Args:
        author: writes the replacements.
        suite: as generated.
        options: of the generation that made it.
        rounds: how often new cases are made in the place of invalid ones; 0 = they are only marked.

    Raises:
        CheckError, ModelError: as ``validity``.
    """
    findings: dict[str, Validity] = {}
    tries = 0
    while True:
        unchecked = [case.id for case in suite.usable() if case.id not in findings]
        suite, checked = await mark_invalid(suite, how, only=unchecked)
        findings.update({finding.case: finding for finding in checked})
        todo = within_tries(plan(how.prompt, how.spec, suite, options=options), tries=rounds)
        if tries >= rounds or todo.missing == 0:
            return RefinedSuite(suite, todo, findings)
        tries += 1
        new = await generate(author, how.prompt, how.spec, todo, suite_for=suite.prompt, options=options, emit=how.emit)
        suite = new.replace(match=suite.match)


def within_tries(todo: Plan, *, tries: int) -> Plan:
    """The plan without the targets that have used up their tries: a limit over all runs, not just this one.

    A target of ``count`` cases may have ``tries`` times as many that are invalid; after that no more are asked for
    until its rule, the input spec or the settings change.
    """
    excluded: dict[str, int] = {}
    for case in todo.keep:
        if case.invalid is not None and case.inputs_fingerprint is not None:
            excluded[case.inputs_fingerprint] = excluded.get(case.inputs_fingerprint, 0) + 1

    def room(fingerprint: str, count: int, missing: int) -> int:
        return max(0, min(missing, count * (tries + 1) - excluded.get(fingerprint, 0)))

    make = [(target, room(target.inputs_fingerprint, target.count, missing)) for target, missing in todo.make]
    return Plan(todo.keep, todo.retire, tuple((target, count) for target, count in make if count > 0), todo.orphans)


def _notify(checked: Sequence[Validity], suite: Suite, emit: Listener) -> None:
    invalid = [finding for finding in checked if finding.status == "invalid"]
    excluded = {case.id for case in suite.cases if case.invalid is not None}
    marked = [finding for finding in invalid if finding.case in excluded]
    if marked:
        message = stored_n(
            "validity: {number} of {count} case excluded as invalid",
            "validity: {number} of {count} cases excluded as invalid",
            len(checked),
            number=len(marked),
        )
        emit(Notice(message))
    for finding in invalid:
        if finding.case not in excluded:
            emit(
                Notice(
                    stored(
                        "validity: your case {case} stays, but: {reason}", case=finding.case, reason=finding.reasons[0]
                    ),
                    "warning",
                )
            )
