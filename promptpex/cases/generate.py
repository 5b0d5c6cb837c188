"""Generation: cases for each rule and each inverse, a few rules at a time, and new ones for those that are not valid.

After PromptPex (arXiv 2503.05070v1, §3.3). Differing from it: rules with their inverses in one request, a value for
each variable, only what the plan says is missing, and no situation twice: requests go out in waves, each as large as
all before it together, so that an author sees at least half of what else has been written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from promptpex.cases.duplicates import Situation, first_alike, situation_of
from promptpex.cases.new_cases_request import (
    Batch,
    batches,
    item_type,
    read_value,
    reply_to,
    request_text,
    with_contexts,
)
from promptpex.cases.plan import Generation, Plan, Target, plan
from promptpex.cases.validity import Validity, ValidityCheck, validity
from promptpex.codecs.model_json import whole_objects
from promptpex.core.errors import ModelError
from promptpex.core.events import Listener, Notice, StepDone, ignore_events, stage_events
from promptpex.core.records import Case, Prompt, Spec, Suite
from promptpex.core.translation import stored, stored_n
from promptpex.engines import run_all
from promptpex.llm.model_in_role import SMALLER_MAY_HELP, RoleModel
from promptpex.llm.schemas import reads

STAGE = "cases"
TOKENS_A_CASE = 300
"""Tokens of room in the reply for each case asked for; most take fewer."""
MOST_TOKENS = 4096
"""Tokens of room in all: some models refuse to be asked for more. What is cut off keeps its whole cases."""
_Aimed = tuple[Target, Case]
"""A new case and the target that it is for."""


async def generate(
    author: RoleModel,
    prompt: Prompt,
    spec: Spec,
    plan: Plan,
    *,
    suite_for: str,
    options: Generation = Generation(),
    emit: Listener = ignore_events,
) -> Suite:
    """The suite with what the plan keeps, and new cases for what it misses, in the spec's order.

    A request whose reply cannot be used is divided; what came short or told of a situation that another case has is
    asked for once more. A target that still has fewer cases gets a notice; the next generation asks for these again.

    Raises:
        ModelError: of a kind that holds for the whole author.
    """
    work = _Work(author, prompt, spec, options, emit, _NewCases(plan))
    await work.ask(batches(plan.make, options.rules_per_request))
    again = [(target, missing) for target, missing in work.new.missing() if target not in work.failed]
    await work.ask(replace(batch, number=batch.number + 1) for batch in batches(again, options.rules_per_request))
    generated = work.new.with_alike()
    short = plan.missing - len(generated)
    if short > 0:
        message = stored_n(
            "cases: {number} of {count} case could not be made; run generate again with --fresh, or name "
            "another author",
            "cases: {number} of {count} cases could not be made; run generate again with --fresh, or name "
            "another author",
            plan.missing,
            number=short,
        )
        emit(Notice(message, "warning"))
    return Suite(prompt=suite_for, cases=_ordered(spec, [*plan.keep, *generated]))


def keep_unreplaced(plan: Plan, suite: Suite, spec: Spec, emit: Listener = ignore_events) -> tuple[Suite, Plan]:
    """The suite with the retired cases that nothing has replaced back in it, and the plan as it was then carried out.

    A failing author must not make a suite smaller: a stale case goes only when its target has all its cases. One whose
    id has been given to a new case gets another.
    """
    taken_ids = {case.id for case in suite.cases}
    back: list[Case] = []
    stayed: list[Case] = []
    for target, missing in plan.make:
        new = [
            case
            for case in suite.cases
            if case.inputs_fingerprint == target.inputs_fingerprint and case.expanded_from is None
        ]
        room = missing - sum(case.invalid is None and case not in plan.keep for case in new)
        stale = [
            case for case in plan.retire if case.invalid is None and case not in stayed and _same_target(case, target)
        ]
        for case in stale[: max(0, room)]:
            back.append(case if case.id not in taken_ids else case.replace(id=_free_id(target.stem, taken_ids)))
            taken_ids.add(back[-1].id)
            stayed.append(case)
    if back:
        message = stored_n(
            "{count} stale case stays, since nothing replaced it",
            "{count} stale cases stay, since nothing replaced them",
            len(back),
        )
        emit(Notice(message, "warning"))
    retired = tuple(case for case in plan.retire if case not in stayed)
    new_plan = replace(plan, keep=(*plan.keep, *back), retire=retired)
    return suite.replace(cases=_ordered(spec, [*suite.cases, *back])), new_plan


def _same_target(case: Case, target: Target) -> bool:
    scenario = target.scenario.name if target.scenario else None
    return (case.rule, case.inverse, case.scenario) == (target.rule.id, target.inverse, scenario)


@dataclass(slots=True)
class _Work:
    """A generation under way.

    Attributes:
        failed: targets of single requests that gave no usable reply; they are not asked for again.
    """

    author: RoleModel
    prompt: Prompt
    spec: Spec
    options: Generation
    emit: Listener
    new: _NewCases
    failed: list[Target] = field(default_factory=list)

    async def ask(self, requests: Iterable[Batch]) -> None:
        """Asks for these batches and keeps what comes; one that is of no use is asked for part by part."""
        todo = with_contexts(list(requests), self.prompt, self.spec, self.new.cases())
        while todo:
            with stage_events(self.emit, STAGE, {self.author.label: len(todo)}):
                todo = [part for batch in await self._in_waves(todo) for part in batch.alone()]

    async def _in_waves(self, waiting: list[Batch]) -> list[Batch]:
        """Asks for the batches, each wave as large as all before it; those to be divided."""
        useless: list[Batch] = []
        wave = 1
        while waiting:
            now, waiting, existing = waiting[:wave], waiting[wave:], self.new.cases()
            replies = await run_all(self._reply, [(batch, existing) for batch in now])
            for batch, cases in zip(now, replies, strict=True):
                useless += [batch] if cases is None else []
                self.new.take(cases or ())
            wave *= 2
        return useless

    async def _reply(self, asked: tuple[Batch, Sequence[Case]]) -> list[_Aimed] | None:
        """The cases of a reply; None where it was of no use, and smaller requests may help."""
        batch, existing = asked
        rendered = request_text(self.prompt, self.spec, batch, self.options, existing)
        author = _roomy(self.author, batch.count)
        try:
            reply = await author.ask(rendered, reply_to(self.prompt, batch), stage=STAGE, repeat=batch.number)
        except ModelError as error:
            self.emit(StepDone(STAGE, self.author.label, error.reason))
            if error.model_wide:
                raise
            return self._rescued(batch, error)
        self.emit(StepDone(STAGE, self.author.label))
        return _cases(reply.value.cases, batch, self.spec)  # type: ignore[attr-defined]

    def _rescued(self, batch: Batch, error: ModelError) -> list[_Aimed] | None:
        """The whole cases of a broken reply; None where there are none, and smaller requests may help."""
        cases = _cases(_readable(item_type(self.prompt, batch), error.reply or ""), batch, self.spec)
        if cases:
            return cases
        if len(batch.parts) > 1 and isinstance(error, SMALLER_MAY_HELP):
            return None
        self.failed += [part.target for part in batch.parts]
        message = stored(
            "{stage}: {label} gave no usable reply ({reason}): {part}",
            stage=STAGE,
            label=self.author.label,
            reason=error.reason,
            part=error,
        )
        self.emit(Notice(message, "warning"))
        return []


class _NewCases:
    """The new cases so far, each target with at most what it misses, under ids that are free."""

    def __init__(self, plan: Plan) -> None:
        self._kept = plan.keep
        self._inputs = {_same(case) for case in plan.keep}
        self._situations: list[tuple[Case, Situation]] = [
            (case, situation_of(case.inputs)) for case in plan.keep if case.expanded_from is None
        ]
        self._taken = {case.id for case in plan.keep}
        self._room = {target.inputs_fingerprint: missing for target, missing in plan.make}
        self._targets = [target for target, _ in plan.make]
        self._made: list[Case] = []
        self._alike: list[tuple[Target, Case]] = []

    def cases(self) -> list[Case]:
        return [*self._kept, *self._made]

    def missing(self) -> list[tuple[Target, int]]:
        left = ((target, self._room[target.inputs_fingerprint]) for target in self._targets)
        return [(target, room) for target, room in left if room > 0]

    def take(self, cases: Iterable[_Aimed]) -> None:
        """Adds what a reply brought. A case in another's situation is kept back, in case nothing better comes."""
        for target, case in cases:
            if not self._wanted(target, case):
                continue
            if first_alike(case, self._situations) is not None:
                self._inputs.add(_same(case))
                self._alike.append((target, case))
            else:
                self._add(target, case)

    def with_alike(self) -> list[Case]:
        for target, case in self._alike:
            if self._room[target.inputs_fingerprint] > 0:
                self._add(target, case)
        return self._made

    def _wanted(self, target: Target, case: Case) -> bool:
        is_new = _same(case) not in self._inputs and any(map(str, case.inputs.values()))
        return is_new and self._room[target.inputs_fingerprint] > 0

    def _add(self, target: Target, case: Case) -> None:
        self._inputs.add(_same(case))
        self._situations.append((case, situation_of(case.inputs)))
        self._room[target.inputs_fingerprint] -= 1
        self._made.append(case.replace(id=_free_id(target.stem, self._taken)))


def _cases(items: Iterable[BaseModel], batch: Batch, spec: Spec) -> list[_Aimed]:
    """The cases of a reply, each with the target of its aim; an aim's first ones hold the answer, where that counts."""
    parts = {part.target.aim: part for part in batch.parts}
    of_aim: Counter[str] = Counter()
    cases = []
    for item in items:
        part = parts[getattr(item, "aim", batch.parts[0].target.aim)]
        target, index = part.target, of_aim[part.target.aim]
        of_aim[target.aim] += 1
        holds = None if part.answerable is None else index < part.answerable
        cases.append((target, _case(item, target, spec).replace(answer_in_context=holds)))
    return cases


def _case(item: Any, target: Target, spec: Spec) -> Case:
    fixed = target.scenario.fixed if target.scenario else {}
    values = item.inputs.model_dump(by_alias=True)
    inputs = {name: read_value(text, spec.inputs.get(name)) for name, text in values.items()}
    return Case(
        id="new",
        rule=target.rule.id,
        inverse=target.inverse,
        inputs={**inputs, **fixed},
        reasoning=item.reasoning.strip(),
        scenario=target.scenario.name if target.scenario else None,
        inputs_fingerprint=target.inputs_fingerprint,
        origin="generated",
    )


def _readable(item: type[BaseModel], text: str) -> list[BaseModel]:
    return [item.model_validate(each) for each in whole_objects(text) if reads(item, each)]


def _roomy(author: RoleModel, count: int) -> RoleModel:
    room = max(author.defaults.max_tokens or 0, min(MOST_TOKENS, count * TOKENS_A_CASE))
    return replace(author, defaults=author.defaults.model_copy(update={"max_tokens": room}))


def _same(case: Case) -> str:
    return " ".join(json.dumps(case.inputs, sort_keys=True, ensure_ascii=False).split()).casefold()


def _free_id(stem: str, taken: set[str]) -> str:
    number = 1
    while f"{stem}-{number}" in taken:
        number += 1
    taken.add(f"{stem}-{number}")
    return f"{stem}-{number}"


def _ordered(spec: Spec, cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases in the order of their rules, normal before inverse; what aims at no known rule comes last."""
    place = {rule.id: index for index, rule in enumerate(spec.rules)}
    return tuple(sorted(cases, key=lambda case: (place.get(case.rule or "", len(place)), case.inverse)))


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
