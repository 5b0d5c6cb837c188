"""What an author is asked for new cases, and the shape of its reply.

What is the same in all requests for a suite stands first, so that providers which keep the beginning of a prompt read
it once: the prompt, its input spec, real inputs, what makes a good case. The aims come last.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from promptpex.cases.batches import Batch, Portion
from promptpex.cases.excerpts_for_author import CaseExcerpts
from promptpex.cases.input_spec_in_words import input_spec_text
from promptpex.cases.plan import TEMPLATE, Generation, Scenario
from promptpex.cases.retrieval_context import context_variable
from promptpex.codecs.json_text import refuse_constant
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.shared_passages import without_passages
from promptpex.codecs.text.wording import cut, plural
from promptpex.core.records import Case, Prompt, Spec, VariableSpec
from promptpex.core.stage_templates import Rendered, render
from promptpex.llm.schemas import REASON, list_up_to, one_of, readable, reply_model, shortened

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
    """The shape of the reply to a batch."""
    return reply_type(free_variables(prompt, batch.scenario), batch.count, _named_aims(batch))


def item_type(prompt: Prompt, batch: Batch) -> type[BaseModel]:
    """The shape of one case of that reply."""
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
    """A case on one line, behind the aim that it is for."""
    refused = f" (not usable: {cut(' '.join(case.invalid.split()), OTHER_CASE)})" if case.invalid is not None else ""
    return f"{case.rule}{'-inverse' if case.inverse else ''}: {values}{refused}"


def _scenario_text(scenario: Scenario | None) -> str:
    if scenario is None:
        return ""
    fixed = [f"{name} is always {json.dumps(value, ensure_ascii=False)}" for name, value in scenario.fixed.items()]
    return "\n".join([scenario.name, *scenario.constraints, *fixed])
