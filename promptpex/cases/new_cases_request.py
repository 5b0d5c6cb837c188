"""What an author is asked for new cases: which aims go into one request, its text, and the shape of the reply.

What is the same in all requests for a suite stands first, so that providers which keep the beginning of a prompt read
it once. Rules stand together with their inverses, so that one author gives them different situations. Cases that exist
are shown on a line each, cut around what sets them apart.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from promptpex.cases.input_specs import input_spec_text
from promptpex.cases.plan import TEMPLATE, Generation, Scenario, Target, balance_answerable, context_variable
from promptpex.codecs.json_text import refuse_constant
from promptpex.codecs.text.comparing import without_passages
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut, plural
from promptpex.core.records import Case, Prompt, Spec, VariableSpec
from promptpex.core.sentences import on_one_line
from promptpex.core.stage_templates import Rendered, render
from promptpex.llm.schemas import REASON, list_up_to, one_of, readable, reply_model, shortened

LEAST_SHARE = 20
"""Characters that a value is shown of at least; a common beginning has to be as long to be left out."""
DEEPEST = 3
"""Levels of a JSON object that are looked into."""


class CaseExcerpts:
    """What sets each of some cases apart from the others."""

    def __init__(self, cases: Sequence[Case]) -> None:
        members = Counter(member for case in cases for member in _members(case.inputs))
        self._usual = {member for member, count in members.items() if count > len(cases) / 2 and count > 1}
        names = dict.fromkeys(name for case in cases for name in case.inputs)
        self._beginnings = {name: _common_beginning([case.inputs.get(name, "") for case in cases]) for name in names}

    def of(self, case: Case, room: int) -> str:
        """The values of a case in about ``room`` characters, those of several variables behind each other."""
        texts = [self._shown(name, value) for name, value in case.inputs.items()]
        shares = _shares([len(text) for text in texts], room)
        return " | ".join(cut(text, share) for text, share in zip(texts, shares, strict=True))

    def _shown(self, name: str, value: Any) -> str:
        record = _record(value)
        if record is None:
            text = _on_one_line(value)
            beginning = self._beginnings[name]
            return f"…{text[len(beginning) :]}" if beginning else text
        unusual = [(path, text) for path, text in _leaves(record) if (name, path, text) not in self._usual]
        return ", ".join(f"{path}: {text}" for path, text in unusual) or "{…}"


def _members(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, value in inputs.items():
        for path, text in _leaves(_record(value) or {}):
            yield name, path, text


def _record(value: Any) -> dict[str, Any] | None:
    """A value that is a JSON object, as it is or as its text; None for all others."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) and value else None


def _leaves(record: Mapping[str, Any], path: str = "", level: int = 1) -> Iterator[tuple[str, str]]:
    for name, value in record.items():
        if isinstance(value, dict) and value and level < DEEPEST:
            yield from _leaves(value, f"{path}{name}.", level + 1)
        else:
            yield f"{path}{name}", _on_one_line(value)


def _common_beginning(values: Sequence[Any]) -> str:
    """The words with which all values begin, where there are several and they are texts that have many in common."""
    if len(values) < 2 or not all(isinstance(value, str) and _record(value) is None for value in values):
        return ""
    texts = [_on_one_line(value) for value in values]
    first, last = min(texts), max(texts)
    alike = next((at for at, (one, two) in enumerate(zip(first, last, strict=False)) if one != two), len(first))
    beginning = first[: first.rfind(" ", 0, alike) + 1]
    return beginning if len(beginning) >= LEAST_SHARE else ""


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """How many characters each of several texts gets: short ones what they need, the others equal parts of the rest."""
    shares = [0] * len(lengths)
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
    for settled, index in enumerate(by_length):
        shares[index] = max(LEAST_SHARE, min(lengths[index], room // (len(lengths) - settled)))
        room = max(0, room - shares[index])
    return shares


def _on_one_line(value: Any) -> str:
    return on_one_line(value_text(value))


def by_number(cases: Sequence[Case]) -> dict[str, Case]:
    """The cases by the names that a request gives them, ``i1``, ``i2``: an id may say what the case is for."""
    return {f"i{number}": case for number, case in enumerate(cases, 1)}


MOST_CASES = 20
"""Cases that one request asks for; long generations derail at their end."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What one request asks for one target.

    Attributes:
        target: the rule or inverse, in its scenario.
        answerable: how many of them, the first ones, have the answer in their context; None: there is no context.
    """

    target: Target
    count: int
    answerable: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """One request: its parts are of one scenario.

    Attributes:
        parts: at least one; no two of the same rule and side.
        number: tells requests apart that ask for the same.
    """

    parts: tuple[Portion, ...]
    number: int = 0

    @property
    def count(self) -> int:
        return sum(part.count for part in self.parts)

    @property
    def scenario(self) -> Scenario | None:
        return self.parts[0].target.scenario

    def alone(self) -> list[Batch]:
        return [replace(self, parts=(part,)) for part in self.parts]


def batches(make: Iterable[tuple[Target, int]], rules_per_request: int) -> list[Batch]:
    """The requests for what is missing of each target.

    Args:
        make: targets with the number of missing cases.
        rules_per_request: rules, each with its inverse, that one request may cover. Fewer where they want more than
            ``MOST_CASES`` cases together; a target that wants more alone is asked for several times.
    """
    by_scenario: dict[tuple[str | None, bool], dict[str, list[Portion]]] = {}
    for target, missing in make:
        key = (target.scenario.name if target.scenario else None, target.extra)
        by_scenario.setdefault(key, {}).setdefault(target.rule.id, []).append(Portion(target, missing))
    return [batch for rules in by_scenario.values() for batch in _split(list(rules.values()), rules_per_request)]


def with_contexts(requests: Sequence[Batch], prompt: Prompt, spec: Spec, kept: Sequence[Case]) -> list[Batch]:
    """The requests with the share of their cases whose context holds the answer, where the author writes contexts."""
    context = context_variable(prompt, spec)

    def writing(batch: Batch) -> bool:
        return context is not None and not (batch.scenario and context in batch.scenario.fixed)

    parts = [part for batch in requests if writing(batch) for part in batch.parts]
    shares = iter(balance_answerable(kept, [(part.target.stem, part.count) for part in parts]))
    return [
        replace(batch, parts=tuple(replace(part, answerable=next(shares)) for part in batch.parts))
        if writing(batch)
        else batch
        for batch in requests
    ]


def _split(rules: list[list[Portion]], rules_per_request: int) -> Iterator[Batch]:
    size = ceil(len(rules) / ceil(len(rules) / rules_per_request))
    group: list[list[Portion]] = []
    for parts in rules:
        if group and (len(group) == size or _cases([*group, parts]) > MOST_CASES):
            yield from _requests(group)
            group = []
        group.append(parts)
    yield from _requests(group)


def _cases(rules: Iterable[Iterable[Portion]]) -> int:
    return sum(part.count for parts in rules for part in parts)


def _requests(group: list[list[Portion]]) -> Iterator[Batch]:
    parts = [part for parts in group for part in parts]
    if _cases(group) <= MOST_CASES:
        yield Batch(tuple(parts))
        return
    for part in parts:
        for number, start in enumerate(range(0, part.count, MOST_CASES)):
            yield Batch((replace(part, count=min(MOST_CASES, part.count - start)),), number)


LONGEST_VALUE = 6000
"""Characters that a model is asked to keep one value to, unless another limit is given."""
TOLERATED = 10
"""A value may be this many times as long before it is cut: a long one is still usable, an endless one is not."""
OWN_CASE, OTHER_CASE = 600, 160
"""Characters that are shown of an existing case: of the same aims, and of the others of the suite."""
OWN, OTHERS = 40, 24
"""Cases that are shown at most: the latest of the same aims, and of the others from all over the suite."""


def request_text(
    prompt: Prompt, spec: Spec, batch: Batch, options: Generation, existing: Sequence[Case] = ()
) -> Rendered:
    """The rendered template for the cases of one batch; ``existing`` cases are those of the whole suite so far."""
    has_halves = any(part.answerable is not None for part in batch.parts)
    text = prompt.text()
    return render(
        TEMPLATE,
        prompt=text,
        input_spec=input_spec_text(prompt, spec),
        samples="\n".join(options.samples),
        variables=free_variables(prompt, batch.scenario),
        variable=context_variable(prompt, spec) or "" if has_halves else "",
        language=options.language or "",
        instructions=options.instructions,
        scenario=_scenario_text(batch.scenario),
        aims=without_passages("\n".join(_aim(part) for part in batch.parts), text),
        several=len(batch.parts) > 1,
        count=batch.count,
        most=max(part.count for part in batch.parts),
        known=_known(batch, existing),
    )


def free_variables(prompt: Prompt, scenario: Scenario | None) -> tuple[str, ...]:
    """The variables that the author gives values for: all but those that the scenario fixes."""
    fixed = scenario.fixed if scenario else {}
    return tuple(name for name in prompt.variables if name not in fixed)


def reply_to(prompt: Prompt, batch: Batch) -> type[BaseModel]:
    return reply_type(free_variables(prompt, batch.scenario), batch.count, _named_aims(batch))


def item_type(prompt: Prompt, batch: Batch) -> type[BaseModel]:
    return case_type(free_variables(prompt, batch.scenario), _named_aims(batch))


@lru_cache(maxsize=256)
def inputs_type(variables: tuple[str, ...], longest: int = LONGEST_VALUE) -> type[BaseModel]:
    """An object with a text under each variable's name, asked for with at most ``longest`` characters."""
    text = Annotated[str, shortened(TOLERATED * longest)]
    fields: dict[str, Any] = {f"v{index}": (text, Field(alias=name)) for index, name in enumerate(variables)}
    return create_model("Inputs", __config__=ConfigDict(populate_by_name=True), **fields)


@lru_cache(maxsize=256)
def case_type(variables: tuple[str, ...], aims: tuple[str, ...] = ()) -> type[BaseModel]:
    """One case of a reply: the aim that it is for, where there are several, its reasoning, a text for each variable."""
    aim = {"aim": one_of(aims)} if aims else {}
    return reply_model("NewCase", **aim, reasoning=Annotated[str, REASON], inputs=inputs_type(variables))


@lru_cache(maxsize=256)
def reply_type(variables: tuple[str, ...], count: int, aims: tuple[str, ...] = ()) -> type[BaseModel]:
    """The shape of a reply: a list of at most ``count`` cases; those that cannot be read are left out of it."""
    item = case_type(variables, aims)
    return reply_model("NewCases", cases=Annotated[list_up_to(item, count, least=1, wanted=count), readable(item)])


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
        return json.loads(text, parse_constant=refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return text


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else refuse_constant(text)


def _named_aims(batch: Batch) -> tuple[str, ...]:
    """The aims between which each case of the reply has to choose; none where there is only one."""
    return tuple(part.target.aim for part in batch.parts) if len(batch.parts) > 1 else ()


def _aim(part: Portion) -> str:
    """A line that names an aim, how many inputs it is to get, and what it is."""
    target = part.target
    marks = [plural(part.count, "input"), "failure" if target.inverse else "promise"]
    if part.answerable is not None:
        marks.append(f"{part.answerable} with the answer")
    return f"{target.aim} ({', '.join(marks)}): {' '.join(target.text.split())}"


def _known(batch: Batch, existing: Sequence[Case]) -> list[str]:
    """Lines that show what there is already: the cases of the batch's aims, and a sample of the others."""
    aims = {(part.target.rule.id, part.target.inverse) for part in batch.parts}
    cases = [case for case in existing if case.expanded_from is None and case.rule is not None]
    others = [case for case in cases if (case.rule, case.inverse) not in aims and case.invalid is None]
    step = max(1, len(others) / OTHERS)
    sample = [others[int(index * step)] for index in range(min(OTHERS, len(others)))]
    own = [case for case in cases if (case.rule, case.inverse) in aims][-OWN:]
    excerpts = CaseExcerpts([*sample, *own])
    tagged_cases = [(case, OTHER_CASE) for case in sample] + [(case, OWN_CASE) for case in own]
    return [_line(case, excerpts.of(case, room)) for case, room in tagged_cases]


def _line(case: Case, values: str) -> str:
    refused = f" (not usable: {cut(' '.join(case.invalid.split()), OTHER_CASE)})" if case.invalid is not None else ""
    return f"{case.rule}{'-inverse' if case.inverse else ''}: {values}{refused}"


def _scenario_text(scenario: Scenario | None) -> str:
    if scenario is None:
        return ""
    fixed = [f"{name} is always {json.dumps(value, ensure_ascii=False)}" for name, value in scenario.fixed.items()]
    return "\n".join([scenario.name, *scenario.constraints, *fixed])
