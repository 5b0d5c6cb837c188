"""Validity: whether a case is an input that the prompt has to cope with at all.

Code first: types, bounds, lengths and the input checks of the spec, and lint. The sentences of the input spec go to a
model, one request per case, a verdict per sentence (after PromptPex, arXiv 2503.05070v1, §4, test validity). A case
that nobody could decide is not known to be valid; it is never put aside for that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, create_model

from promptpex.cases.generate import generate
from promptpex.cases.input_types import type_problems
from promptpex.cases.lint import errors, lint
from promptpex.cases.plan import Generation, Plan, plan
from promptpex.codecs.input_text import inputs_text
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import INPUT_VARIABLE, WHOLE_INPUT, Case, Prompt, Rule, Spec, Suite
from promptpex.core.stage_templates import Rendered, render
from promptpex.llm.map_requests import map_requests
from promptpex.llm.role_model import RoleModel
from promptpex.llm.schemas import REASON

TEMPLATE = "cases/validity"
STAGE = "validity"


class ConstraintVerdict(BaseModel):
    """A model's word on one sentence of the input spec: the reason first."""

    reason: Annotated[str, REASON]
    verdict: Literal["keeps", "breaks", "unclear"]


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether one case is valid.

    Attributes:
        case: its id.
        status: ``valid``, ``invalid``, or ``unknown`` where a model was needed and none could be read or was sure.
        reasons: why it is not valid, or not known to be, a sentence each.
        source: ``code``, or ``judge:`` and the model's label.
    """

    case: str
    status: Literal["valid", "invalid", "unknown"]
    reasons: tuple[str, ...] = ()
    source: str = "code"


@dataclass(frozen=True, slots=True)
class RefinedSuite:
    """A suite after its rounds of validity.

    Attributes:
        suite: with ``invalid`` set on the generated cases that cannot be used; they stay in it.
        plan: what is still missing after the last round, within the limit of tries.
        findings: the validity of each case that was looked at, by its id.
    """

    suite: Suite
    plan: Plan
    findings: Mapping[str, Validity]


def code_problems(case: Case, prompt: Prompt, spec: Spec) -> list[str]:
    """What code finds wrong with a case's inputs under the input spec, a sentence each; empty when nothing.

    Raises:
        CheckError: an input check of the spec that cannot be used as written.
    """
    from promptpex.assertions import check_inputs

    problems = [f"{name} is missing" for name in prompt.variables if name not in case.inputs]
    for name, value in case.inputs.items():
        if name in spec.inputs:
            problems += type_problems(name, value, spec.inputs[name])
    present = [check for check in spec.input_checks if check.variable in case.inputs]
    return problems + [said for said in check_inputs(present, case.inputs) if "could not be checked" not in said]


async def validity(
    cases: Sequence[Case],
    prompt: Prompt,
    spec: Spec,
    *,
    judge: RoleModel | None = None,
    instructions: str = "",
    suite_language: str | None = None,
    emit: Listener = ignore_events,
) -> list[Validity]:
    """The validity of each case, in their order.

    Args:
        judge: who reads the sentences of the input spec; without one, code alone decides, and what it cannot decide
            is unknown.
        instructions: the owner's note for this stage.
        suite_language: as in ``lint``.

    Raises:
        CheckError: an input check of the spec that cannot be used as written.
        ModelError: of a kind that holds for the whole judge.
    """
    from promptpex.assertions import check_time

    with check_time():
        found = {case.id: _by_code(case, prompt, spec, suite_language) for case in cases}
    sentences = constraints_of(prompt, spec)
    open_cases = [case for case in cases if found[case.id].status == "valid"] if sentences else []
    if judge is None:
        why = ("no model has read the sentences of the input spec",)
        found.update({case.id: Validity(case.id, "unknown", why) for case in open_cases})
        return [found[case.id] for case in cases]
    source = f"judge:{judge.label}"
    judge_asked = judge

    async def ask(case: Case) -> Validity:
        rendered = request_text(spec, case, sentences, instructions)
        reply = await judge_asked.ask(rendered, reply_type(tuple(sentences)), stage=STAGE)
        return _judged(case, sentences, reply.value, source)

    unread = Validity("", "unknown", ("the judge could not be read",), source)
    judged = await map_requests(STAGE, judge.label, open_cases, ask, emit, default=unread)
    for case, one in zip(open_cases, judged, strict=True):
        found[case.id] = one if one.case else Validity(case.id, one.status, one.reasons, one.source)
    return [found[case.id] for case in cases]


def constraints_of(prompt: Prompt, spec: Spec) -> dict[str, str]:
    """The sentences of the input spec under the names that a judge answers by, each with the variable it is about."""
    sentences: list[str] = []
    for name in (*prompt.variables, WHOLE_INPUT):
        variable = spec.inputs.get(name)
        about = {WHOLE_INPUT: "all together", INPUT_VARIABLE: "the input"}.get(name, name)
        sentences += [f"({about}) {line}" for line in variable.constraints] if variable is not None else []
    return {f"c{number}": sentence for number, sentence in enumerate(sentences, 1)}


def request_text(spec: Spec, case: Case, sentences: Mapping[str, str], instructions: str = "") -> Rendered:
    """The rendered template that asks about one case."""
    return render(
        TEMPLATE,
        intent=spec.intent,
        rules=[Rule(id=name, rule=sentence) for name, sentence in sentences.items()],
        inputs=inputs_text(case.inputs),
        instructions=instructions,
    )


@lru_cache(maxsize=64)
def reply_type(names: tuple[str, ...]) -> type[BaseModel]:
    """The shape of a reply: exactly one verdict under each constraint's name."""
    fields: dict[str, Any] = dict.fromkeys(names, (ConstraintVerdict, ...))
    return create_model("ConstraintVerdicts", **fields)


def marked(suite: Suite, findings: Mapping[str, Validity]) -> Suite:
    """The suite with ``invalid`` set, and its reason, on the machine's cases that are not valid.

    Cases of people stay as they wrote them, whatever anybody thinks of them.
    """

    def mark(case: Case) -> Case:
        finding = findings.get(case.id)
        if finding is None or finding.status != "invalid" or case.origin != "generated" or case.invalid is not None:
            return case
        return case.replace(invalid="; ".join(finding.reasons), content=None)

    return suite.replace(cases=tuple(mark(case) for case in suite.cases))


async def mark_invalid(
    suite: Suite,
    prompt: Prompt,
    spec: Spec,
    *,
    only: Collection[str] | None = None,
    judge: RoleModel | None = None,
    instructions: str = "",
    suite_language: str | None = None,
    emit: Listener = ignore_events,
) -> tuple[Suite, list[Validity]]:
    """The suite with its unusable cases marked, and the validity of those that were looked at. Nothing is made anew.

    Args:
        only: ids of the cases to look at, such as the variants that expansion made; None = all usable ones.
        judge, instructions, suite_language, emit: as in ``validity``.
    """
    cases = [case for case in suite.usable() if only is None or case.id in only]
    checked = await validity(
        cases, prompt, spec, judge=judge, instructions=instructions, suite_language=suite_language, emit=emit
    )
    suite = marked(suite, {one.case: one for one in checked})
    _say(checked, suite, emit)
    return suite, checked


async def replace_invalid(
    author: RoleModel,
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    *,
    options: Generation,
    rounds: int,
    judge: RoleModel | None = None,
    instructions: str = "",
    suite_language: str | None = None,
    emit: Listener = ignore_events,
) -> RefinedSuite:
    """The suite with its unusable cases put aside and, up to ``rounds`` times, replaced by new ones.

    Args:
        author: who writes the replacements.
        suite: as generated.
        options: of the generation that made it.
        rounds: how often new cases are made in the place of invalid ones; 0 = only put aside.
        judge: who reads the sentences of the input spec; usually the author.
        instructions: the owner's note for the judge.
        suite_language: as in ``lint``.

    Raises:
        CheckError, ModelError: as ``validity``.
    """
    findings: dict[str, Validity] = {}
    tries = 0
    while True:
        fresh = [case.id for case in suite.usable() if case.id not in findings]
        suite, checked = await mark_invalid(
            suite,
            prompt,
            spec,
            only=fresh,
            judge=judge,
            instructions=instructions,
            suite_language=suite_language,
            emit=emit,
        )
        findings.update({one.case: one for one in checked})
        todo = limited(plan(prompt, spec, suite, author=author.label, options=options), tries=rounds)
        if tries >= rounds or todo.missing == 0:
            return RefinedSuite(suite, todo, findings)
        tries += 1
        suite = await generate(author, prompt, spec, todo, suite_for=suite.prompt, options=options, emit=emit)


def limited(todo: Plan, *, tries: int) -> Plan:
    """The plan without the targets that have spent their tries: a limit over all runs, not just this one.

    A target of ``count`` cases may put aside ``tries`` times as many; after that nothing is asked for it any more until
    its rule, the input spec or the settings change.
    """
    aside: dict[str, int] = {}
    for case in todo.keep:
        if case.invalid is not None and case.inputs_fingerprint is not None:
            aside[case.inputs_fingerprint] = aside.get(case.inputs_fingerprint, 0) + 1

    def room(inputs_fingerprint: str, count: int, missing: int) -> int:
        return max(0, min(missing, count * (tries + 1) - aside.get(inputs_fingerprint, 0)))

    make = [(target, room(target.inputs_fingerprint, target.count, missing)) for target, missing in todo.make]
    return Plan(todo.keep, todo.retire, tuple((target, count) for target, count in make if count > 0), todo.orphans)


def _by_code(case: Case, prompt: Prompt, spec: Spec, suite_language: str | None) -> Validity:
    found = errors(lint(case, prompt=prompt, spec=spec, suite_language=suite_language))
    reasons = [str(finding) for finding in found if finding.code not in ("wrong-type", "missing-variable")]
    reasons = [*code_problems(case, prompt, spec), *reasons]
    return Validity(case.id, "invalid" if reasons else "valid", tuple(reasons))


def _judged(case: Case, sentences: Mapping[str, str], reply: BaseModel, source: str) -> Validity:
    words: dict[str, list[str]] = {"keeps": [], "breaks": [], "unclear": []}
    for name, sentence in sentences.items():
        said: ConstraintVerdict = getattr(reply, name)
        words[said.verdict].append(f"{sentence} {said.reason.strip()}".strip())
    if words["breaks"]:
        return Validity(case.id, "invalid", tuple(words["breaks"]), source)
    return Validity(case.id, "unknown" if words["unclear"] else "valid", tuple(words["unclear"]), source)


def _say(checked: Sequence[Validity], suite: Suite, emit: Listener) -> None:
    bad = [one for one in checked if one.status == "invalid"]
    aside = {case.id for case in suite.cases if case.invalid is not None}
    mark_invalid = [one for one in bad if one.case in aside]
    if mark_invalid:
        emit(Notice(f"validity: {len(mark_invalid)} of {len(checked)} cases are put aside"))
    for one in bad:
        if one.case not in aside:
            emit(Notice(f"validity: your case {one.case} stays, but: {one.reasons[0]}", "warning"))
