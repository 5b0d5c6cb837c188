"""Generation: test cases for each rule and each inverse, made by the author model in small fresh requests.

After PromptPex (arXiv 2503.05070v1, §3.3). Differing from it: a few cases a request, a value for each variable, and
only what the plan says is missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from promptpex.cases.context_variables import balance_answerable, context_variable
from promptpex.cases.plan import TEMPLATE, Generation, Plan, Target
from promptpex.codecs.inputs_as_text import value_text
from promptpex.codecs.wording import plural
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import INPUT_VARIABLE, WHOLE_INPUT, Case, Prompt, Spec, Suite, VariableSpec
from promptpex.core.stage_templates import Rendered, render
from promptpex.llm.map_requests import map_requests
from promptpex.llm.role_model import RoleModel
from promptpex.llm.schemas import REASON, list_up_to, shortened

LONGEST_VALUE = 6000
"""Characters that a model is asked to keep one value to, unless another limit is given."""
TOLERATED = 10
"""A value may be this many times as long before it is cut: a long one is still usable, an endless one is not."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """One request: up to ``batch`` cases for one target; ``number`` tells the requests of a target apart.

    ``answerable`` of the cases, the first ones, have the answer in their context; None: the prompt has no context.
    """

    target: Target
    count: int
    number: int
    answerable: int | None = None


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

    A target whose request fails has fewer cases, with a notice; the next generation asks for these again.
    """
    batches = _with_contexts(list(_batches(plan, options.batch)), prompt, spec, plan)

    async def ask(batch: _Batch) -> list[Case]:
        existing = _existing(plan, batch.target)
        rendered = request_text(prompt, spec, batch.target, batch.count, existing, options, answerable=batch.answerable)
        reply = await author.ask(
            rendered, reply_type(free_variables(prompt, batch.target), batch.count), stage="cases", repeat=batch.number
        )
        return _recorded(_cases(reply.value, batch.target, spec), batch.answerable)

    nothing: list[Case] = []
    replies = await map_requests("cases", author.label, batches, ask, emit, default=nothing)
    made = _merged(plan, batches, replies)
    short = plan.missing - len(made)
    if short > 0:
        many = plural(plan.missing, "case")
        emit(Notice(f"cases: {short} of {many} could not be made; run generate again", "warning"))
    return Suite(prompt=suite_for, cases=_ordered(spec, [*plan.keep, *made]))


def keep_unreplaced(plan: Plan, suite: Suite, spec: Spec, emit: Listener = ignore_events) -> tuple[Suite, Plan]:
    """The suite with the retired cases that nothing has replaced back in it, and the plan as it was then carried out.

    A failing author must not make a suite smaller: a stale case goes only when its target has all its cases. One whose
    id has been given to a new case gets another.
    """
    taken = {case.id for case in suite.cases}
    back: list[Case] = []
    stayed: list[Case] = []
    for target, missing in plan.make:
        new = [
            case
            for case in suite.cases
            if case.inputs_fingerprint == target.inputs_fingerprint and case.expanded_from is None
        ]
        room = missing - sum(case.invalid is None and case not in plan.keep for case in new)
        stale = [case for case in plan.retire if case.invalid is None and _same_target(case, target)]
        for case in stale[: max(0, room)]:
            back.append(case if case.id not in taken else case.replace(id=_free_id(target.stem, taken)))
            taken.add(back[-1].id)
            stayed.append(case)
    if back:
        many = plural(len(back), "stale case stays", "stale cases stay")
        emit(Notice(f"{many}, since nothing came instead; run generate again", "warning"))
    retired = tuple(case for case in plan.retire if case not in stayed)
    kept = replace(plan, keep=(*plan.keep, *back), retire=retired)
    return suite.replace(cases=_ordered(spec, [*suite.cases, *back])), kept


def _same_target(case: Case, target: Target) -> bool:
    scenario = target.scenario.name if target.scenario else None
    return (case.rule, case.inverse, case.scenario) == (target.rule.id, target.inverse, scenario)


def request_text(
    prompt: Prompt,
    spec: Spec,
    target: Target,
    count: int,
    existing: Sequence[str],
    options: Generation,
    *,
    answerable: int | None = None,
) -> Rendered:
    """The rendered template for ``count`` cases of one target, ``answerable`` of which hold the answer."""
    return render(
        TEMPLATE,
        prompt=prompt.text(),
        input_spec=input_spec_text(prompt, spec),
        variables=free_variables(prompt, target),
        rule=target.rule.rule,
        aim=target.text,
        inverse=target.inverse,
        count=count,
        scenario=_scenario_text(target),
        samples="\n".join(options.samples),
        known=list(existing),
        variable=context_variable(prompt, spec) or "" if answerable is not None else "",
        holding=answerable or 0,
        language=options.language or "",
        instructions=options.instructions,
    )


def input_spec_text(prompt: Prompt, spec: Spec) -> str:
    """The input spec as text: a paragraph a variable, then what holds of all together."""
    parts = []
    for name in (*prompt.variables, WHOLE_INPUT):
        variable = spec.inputs.get(name)
        if variable is None:
            continue
        title = {WHOLE_INPUT: "All together", INPUT_VARIABLE: "The input"}.get(name, name)
        lines = [*variable.constraints, *typed_constraints(variable)]
        parts.append("\n".join([f"{title}:", *(f"- {line}" for line in lines)]))
    return "\n\n".join(parts) or "(nothing is written down about the input)"


def typed_constraints(variable: VariableSpec) -> list[str]:
    """What a variable's type and bounds ask for, in words."""
    lines = []
    if variable.type == "enum" or variable.values:
        lines.append("One of: " + ", ".join(json.dumps(value, ensure_ascii=False) for value in variable.values or ()))
    elif variable.type != "text":
        lines.append(f"Written as JSON of type {variable.type}.")
    if variable.schema_:
        lines.append(f"Valid under this JSON schema: {json.dumps(variable.schema_, ensure_ascii=False)}")
    bounds = (("At least", variable.minimum, ""), ("At most", variable.maximum, ""))
    lengths = (("At least", variable.min_length, " characters"), ("At most", variable.max_length, " characters"))
    lines += [f"{word} {bound}{unit}." for word, bound, unit in (*bounds, *lengths) if bound is not None]
    return lines


def free_variables(prompt: Prompt, target: Target) -> tuple[str, ...]:
    """The variables that the author gives values for: all but those that the scenario fixes."""
    fixed = target.scenario.fixed if target.scenario else {}
    return tuple(name for name in prompt.variables if name not in fixed)


@lru_cache(maxsize=256)
def inputs_type(variables: tuple[str, ...], longest: int = LONGEST_VALUE) -> type[BaseModel]:
    """An object with a text under each variable's name, asked for with at most ``longest`` characters."""
    text = Annotated[str, shortened(TOLERATED * longest)]
    fields: dict[str, Any] = {f"v{index}": (text, Field(alias=name)) for index, name in enumerate(variables)}
    return create_model("Inputs", __config__=ConfigDict(populate_by_name=True), **fields)


@lru_cache(maxsize=64)
def reply_type(variables: tuple[str, ...], count: int) -> type[BaseModel]:
    """The shape of a reply: a list of at most ``count`` cases, each with its reasoning and a text for each variable."""
    inputs = inputs_type(variables)
    case = create_model("NewCase", reasoning=(Annotated[str, REASON], ...), inputs=(inputs, ...))
    return create_model("NewCases", cases=(list_up_to(case, count, least=1), ...))


def read_value(text: str, variable: VariableSpec | None) -> Any:
    """A variable's value from the author's text, by the type that the spec gives.

    Of an enumeration the value that the text writes; of the other types the text read as JSON. A text without such a
    value stays a text, for lint to name.
    """
    if variable is None or (variable.type == "text" and variable.values is None):
        return text
    if variable.values is not None:
        written = {value_text(value): value for value in variable.values}
        return written.get(text, written.get(text.strip(), text))
    if variable.type in ("text", "enum"):
        return text
    try:
        return json.loads(text, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError):
        return text


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refused(text)


def _batches(plan: Plan, batch: int) -> Iterator[_Batch]:
    for target, missing in plan.make:
        for number, start in enumerate(range(0, missing, batch)):
            yield _Batch(target, min(batch, missing - start), number)


def _with_contexts(batches: list[_Batch], prompt: Prompt, spec: Spec, plan: Plan) -> list[_Batch]:
    """The requests with the share of their cases whose context holds the answer, where the author writes contexts."""
    context = context_variable(prompt, spec)
    writing = [batch for batch in batches if context in free_variables(prompt, batch.target)]
    if not writing:
        return batches
    shares = iter(balance_answerable(plan.keep, [(batch.target.stem, batch.count) for batch in writing]))
    return [replace(batch, answerable=next(shares)) if batch in writing else batch for batch in batches]


def _recorded(cases: list[Case], answerable: int | None) -> list[Case]:
    if answerable is None:
        return cases
    return [case.replace(answer_in_context=index < answerable) for index, case in enumerate(cases)]


def _existing(plan: Plan, target: Target) -> list[str]:
    cases = (case for case in plan.keep if case.rule == target.rule.id and case.inverse == target.inverse)
    return [json.dumps(case.inputs, ensure_ascii=False) for case in cases if case.expanded_from is None]


def _cases(reply: BaseModel, target: Target, spec: Spec) -> list[Case]:
    fixed: Mapping[str, Any] = target.scenario.fixed if target.scenario else {}
    cases = []
    for item in reply.cases:  # type: ignore[attr-defined]
        values = item.inputs.model_dump(by_alias=True)
        inputs = {name: read_value(text, spec.inputs.get(name)) for name, text in values.items()}
        cases.append(
            Case(
                id="new",
                rule=target.rule.id,
                inverse=target.inverse,
                inputs={**inputs, **fixed},
                reasoning=item.reasoning.strip(),
                scenario=target.scenario.name if target.scenario else None,
                inputs_fingerprint=target.inputs_fingerprint,
                origin="generated",
            )
        )
    return cases


def _merged(plan: Plan, batches: Sequence[_Batch], replies: Sequence[Sequence[Case]]) -> list[Case]:
    """The new cases that repeat no input, each target with at most what it misses, under ids that are free."""
    seen = {_same(case) for case in plan.keep}
    taken = {case.id for case in plan.keep}
    made: list[Case] = []
    room = {target.inputs_fingerprint: missing for target, missing in plan.make}
    for batch, cases in zip(batches, replies, strict=True):
        for case in cases:
            if (
                room[batch.target.inputs_fingerprint] < 1
                or _same(case) in seen
                or not any(map(str, case.inputs.values()))
            ):
                continue
            seen.add(_same(case))
            room[batch.target.inputs_fingerprint] -= 1
            made.append(case.replace(id=_free_id(batch.target.stem, taken)))
    return made


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


def _scenario_text(target: Target) -> str:
    if target.scenario is None:
        return ""
    fixed = [
        f"{name} is always {json.dumps(value, ensure_ascii=False)}" for name, value in target.scenario.fixed.items()
    ]
    return "\n".join([target.scenario.name, *target.scenario.constraints, *fixed])
