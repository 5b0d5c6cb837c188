"""Expansion: from each case a longer, more realistic variant that still aims at the same rule; the original stays.

Incremental like generation: a variant depends on the case it grew from, the rule and the input spec; a variant whose
hash is stale is made again, one whose original is gone goes with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel

from promptpex.cases.comparable_words import folded
from promptpex.cases.input_specs import input_spec_text
from promptpex.cases.new_cases_request import by_number, inputs_type
from promptpex.cases.plan import VERSION
from promptpex.codecs.text.inputs_as_text import inputs_text, named_text, value_text
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.ids import digest
from promptpex.core.records import Case, Prompt, Rule, Spec, Suite
from promptpex.core.stage_templates import Rendered, render
from promptpex.core.translation import stored
from promptpex.llm.model_in_role import RoleModel, map_batches
from promptpex.llm.schemas import REASON, list_up_to, one_of, readable, reply_model

TEMPLATE = "cases/expand"
STAGE = "expand"
LONGEST_VALUE = 12_000
"""Characters that a model is asked to keep one value to: twice as many as when it is generated, since it grows."""
CASES_PER_REQUEST = 4
"""Cases that an author lengthens at once."""
TOKENS_A_VARIANT = 1000
"""Tokens of room in the reply for each variant asked for; most take fewer."""


@dataclass(frozen=True, slots=True)
class Expanding:
    """How cases are made longer.

    Attributes:
        times: how often a case may grow: 0 = never, 1 = once, 2 = its variant grows once more.
    """

    times: int = 1
    samples: tuple[str, ...] = ()
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Expansion:
    """What an expansion will do.

    Attributes:
        keep: variants that are still up to date.
        retire: variants that are stale, or whose case is gone.
        make: cases that lack their variant, with the hash it will carry.
    """

    keep: tuple[Case, ...]
    retire: tuple[Case, ...]
    make: tuple[tuple[Case, str], ...]


def plan_expansion(prompt: Prompt, spec: Spec, suite: Suite, *, how: Expanding) -> Expansion:
    """Which variants of ``suite`` stay, which go, and which cases get one next.

    The cases named in ``make`` are of one generation; those that will grow from them are planned after that.
    """
    grown: dict[str, list[Case]] = {}
    for case in suite.cases:
        if case.expanded_from is not None:
            grown.setdefault(case.expanded_from, []).append(case)
    keep: list[Case] = []
    make: list[tuple[Case, str]] = []
    level, generation = [case for case in suite.valid() if case.expanded_from is None], 0
    while level:
        following: list[Case] = []
        for case in level:
            rule = _rule(case, spec)
            if rule is None or not growing(case, prompt, spec):
                continue
            inputs_fingerprint = _inputs_fingerprint(case, rule, prompt, spec)
            own = [one for one in grown.get(case.id, ()) if _is_current(one, inputs_fingerprint)]
            keep += own
            following += [one for one in own if one.invalid is None][:1]
            if not own and case.aside is None and generation < how.times:
                make.append((case, inputs_fingerprint))
        level, generation = following, generation + 1
    kept_ids = {case.id for case in keep}
    all_grown = [case for case in suite.cases if case.expanded_from is not None]
    retire = [case for case in all_grown if case.id not in kept_ids and case.origin == "generated"]
    keep += [case for case in all_grown if case.id not in kept_ids and case.origin != "generated"]
    return Expansion(tuple(keep), tuple(retire), tuple(make))


async def expand(
    author: RoleModel,
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    *,
    how: Expanding = Expanding(),
    emit: Listener = ignore_events,
) -> Suite:
    """The suite with each case followed by its variants; what is up to date is not asked for again.

    A variant that is no longer than its original or has lost an id of it, or whose request fails, is left out with a
    notice. With ``times`` 0 none is added.

    Raises:
        ModelError: of a kind that holds for the whole author.
    """
    for _ in range(max(how.times, 1)):
        todo = plan_expansion(prompt, spec, suite, how=how)
        retired_ids = {case.id for case in todo.retire}
        suite = suite.replace(cases=tuple(case for case in suite.cases if case.id not in retired_ids))
        if not todo.make:
            break
        suite = await _grown(author, prompt, spec, suite, todo.make, how, emit)
    return suite


def growing(case: Case, prompt: Prompt, spec: Spec) -> tuple[str, ...]:
    """The variables of a case that can grow: running text, no value of a closed list, no data record, no single id."""
    free = (name for name in prompt.variables if isinstance(case.inputs.get(name), str))
    texts = [name for name in free if name not in spec.inputs or _is_text(spec, name)]
    return tuple(name for name in texts if _runs(case.inputs[name]))


def request_text(
    prompt: Prompt, spec: Spec, cases: Sequence[Case], names: tuple[str, ...], how: Expanding = Expanding()
) -> Rendered:
    """The rendered template that asks for the variants of cases in which the same variables ``names`` grow."""
    return render(
        TEMPLATE,
        prompt=prompt.text(),
        input_spec=input_spec_text(prompt, spec),
        samples="\n".join(how.samples),
        instructions=how.instructions,
        items=[{"id": name, "text": _shown(case, spec, names)} for name, case in by_number(cases).items()],
        variables=names,
        count=len(cases),
    )


@lru_cache(maxsize=64)
def reply_type(count: int, variables: tuple[str, ...]) -> type[BaseModel]:
    """The shape of a reply: for each case its name, the reasoning and a text for each growing variable."""
    variant = reply_model(
        "LongerInput",
        input=one_of([f"i{number}" for number in range(1, count + 1)]),
        reasoning=Annotated[str, REASON],
        inputs=inputs_type(variables, LONGEST_VALUE),
    )
    variants = list_up_to(variant, count, least=1, wanted=count)
    return reply_model("LongerInputs", variants=Annotated[variants, readable(variant)])


async def _grown(
    author: RoleModel,
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    make: Sequence[tuple[Case, str]],
    how: Expanding,
    emit: Listener,
) -> Suite:
    fingerprints = {case.id: inputs_fingerprint for case, inputs_fingerprint in make}
    variants: dict[str, Case] = {}
    for names, cases in _by_growing([case for case, _ in make], prompt, spec).items():

        async def ask(batch: Sequence[Case], names: tuple[str, ...] = names) -> list[Case | None]:
            rendered = request_text(prompt, spec, batch, names, how)
            reply = await _roomy(author, len(batch)).ask(rendered, reply_type(len(batch), names), stage=STAGE)
            answers = {one.input: one for one in reversed(reply.value.variants)}  # type: ignore[attr-defined]
            return [_variant(case, fingerprints[case.id], answers.get(name)) for name, case in by_number(batch).items()]

        nothing: Case | None = None
        replies = await map_batches(STAGE, author.label, cases, ask, emit, size=CASES_PER_REQUEST, default=nothing)
        variants |= {case.id: reply for case, reply in zip(cases, replies, strict=True) if reply is not None}
    if len(variants) < len(make):
        missing = len(make) - len(variants)
        emit(
            Notice(
                stored(
                    "expand: {count} of {number} cases did not grow; run generate again with --fresh, or name "
                    "another author",
                    count=missing,
                    number=len(make),
                ),
                "warning",
            )
        )
    return suite.replace(cases=tuple(_placed(suite.cases, variants)))


def _by_growing(cases: Sequence[Case], prompt: Prompt, spec: Spec) -> dict[tuple[str, ...], list[Case]]:
    """The cases by the variables that grow in them; a reply has the same ones for all."""
    groups: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault(growing(case, prompt, spec), []).append(case)
    return groups


def _shown(case: Case, spec: Spec, names: tuple[str, ...]) -> str:
    """A case as the author is shown it: its promise, what stays, and what is to grow."""
    rule = _rule(case, spec)
    assert rule is not None
    lines = [f"The promise: {rule.rule}"]
    lines += [f"It tempts a model into this failure: {rule.inverse}"] if case.inverse else []
    lines += [f"Why it is a good test: {case.reasoning}"] if case.reasoning else []
    others = {name: value for name, value in case.inputs.items() if name not in names}
    lines += [f"These parts stay as they are, and are not given back:\n{named_text(others)}"] if others else []
    return "\n".join([*lines, f"The input:\n{inputs_text({name: case.inputs[name] for name in names})}"])


def _roomy(author: RoleModel, count: int) -> RoleModel:
    room = max(author.defaults.max_tokens or 0, count * TOKENS_A_VARIANT)
    return replace(author, defaults=author.defaults.model_copy(update={"max_tokens": room}))


def _variant(case: Case, inputs_fingerprint: str, reply: Any) -> Case | None:
    """The variant that a reply gives; None where there is none, or it is no longer or has lost something."""
    if reply is None:
        return None
    values: Mapping[str, str] = reply.inputs.model_dump(by_alias=True)
    before = sum(len(case.inputs[name].strip()) for name in values)
    after = sum(len(value.strip()) for value in values.values())
    if after <= before or any(not value.strip() for value in values.values()):
        return None
    if all(folded(value) == folded(case.inputs[name]) for name, value in values.items()):
        return None
    if any(part not in values[name] for name in values for part in _exact_parts(case.inputs[name])):
        return None
    return Case(
        id="new",
        rule=case.rule,
        inverse=case.inverse,
        inputs={**case.inputs, **values},
        reasoning=reply.reasoning.strip(),
        scenario=case.scenario,
        answer_in_context=case.answer_in_context,
        inputs_fingerprint=inputs_fingerprint,
        expanded_from=case.id,
        origin="generated",
    )


def _placed(cases: Sequence[Case], variants: Mapping[str, Case]) -> list[Case]:
    taken_ids = {case.id for case in cases}
    placed: list[Case] = []
    for case in cases:
        placed.append(case)
        if case.id not in variants:
            continue
        name, number = f"{case.id}-long", 2
        while name in taken_ids:
            name, number = f"{case.id}-long{number}", number + 1
        taken_ids.add(name)
        placed.append(variants[case.id].replace(id=name))
    return placed


def _rule(case: Case, spec: Spec) -> Rule | None:
    rule = spec.rule(case.rule) if case.rule is not None else None
    return None if rule is None or rule.stale or (case.inverse and not rule.inverse) else rule


def _runs(text: str) -> bool:
    """Whether a text is running text rather than data: JSON, or one line of digits and signs."""
    if not any(char.isalpha() for char in text):
        return False
    try:
        return not isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return True


def _exact_parts(text: str) -> set[str]:
    """The parts of a text that a longer one has to have as well: long numbers, ids, dates, addresses."""
    parts = {part.strip(".,;:!?()[]\"'") for part in text.split()}
    return {part for part in parts if sum(map(str.isdigit, part)) >= 4 or "@" in part[1:-1] or "://" in part}


def _is_text(spec: Spec, name: str) -> bool:
    variable = spec.inputs[name]
    return variable.type == "text" and variable.values is None


def _is_current(variant: Case, inputs_fingerprint: str) -> bool:
    """Whether a variant belongs to its case as it is now; one of an earlier version is taken to."""
    known = variant.inputs_fingerprint or ""
    return variant.origin != "generated" or known == inputs_fingerprint or not known.startswith(VERSION)


def _inputs_fingerprint(case: Case, rule: Rule, prompt: Prompt, spec: Spec) -> str:
    return VERSION + digest(
        {
            "case": {name: value_text(value) for name, value in case.inputs.items()},
            "rule": [rule.id, rule.rule, rule.inverse if case.inverse else None],
            "inputs": {name: variable.to_dict() for name, variable in spec.inputs.items()},
            "variables": prompt.variables,
        },
        16,
    )
