"""Baseline: the test inputs that an author writes when it is shown the prompt and nothing else, in one request.

For comparison only (after PromptPex, arXiv 2503.05070v1, §4.2, the zero-shot generator): a suite of its own, whose
cases aim at no rule. What makes its cases poor, such as a preamble taken for a test, is part of what is compared.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, create_model

from promptpex.cases.new_cases_request import inputs_type, read_value
from promptpex.codecs.text.inputs_as_text import inputs_text
from promptpex.core.events import Listener, Notice, StepDone, ignore_events, stage_events
from promptpex.core.ids import digest
from promptpex.core.records import Case, Prompt, Spec, Suite
from promptpex.core.stage_templates import Rendered, fingerprint, render
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.schemas import list_up_to

TEMPLATE = str(Path(__file__).with_suffix(""))
STAGE = "baseline"
TOKENS_A_CASE = 200
"""Tokens of room in the reply for each case asked for; most inputs take fewer."""
MOST = 200
"""Cases that one request may ask for, which bounds the reply."""


async def baseline(
    author: RoleModel,
    prompt: Prompt,
    *,
    suite_for: str,
    count: int,
    spec: Spec | None = None,
    emit: Listener = ignore_events,
) -> Suite:
    """A suite of at most ``count`` cases (1 to 200) without rules, with the ids ``b1``, ``b2``, ...

    Args:
        spec: only for reading values of typed variables; the author does not see it.

    Raises:
        ValueError: ``count`` is out of range.
        ModelError: the author gave no usable reply.
    """
    if not 1 <= count <= MOST:
        raise ValueError(f"a baseline has 1 to {MOST} cases, not {count}")
    with stage_events(emit, STAGE, {author.label: 1}):
        reply = await _roomy(author, count).ask(
            request_text(prompt, count), reply_type(prompt.variables, count), stage=STAGE
        )
        emit(StepDone(STAGE, author.label))
    cases = _cases(reply.value, prompt, spec, author.label, count)
    if len(cases) < count:
        emit(Notice(f"baseline: {len(cases)} of {count} cases were made", "warning"))
    return Suite(prompt=suite_for, cases=tuple(cases))


def request_text(prompt: Prompt, count: int) -> Rendered:
    return render(TEMPLATE, prompt=prompt.text(), variables=prompt.variables, count=count)


@lru_cache(maxsize=64)
def reply_type(variables: tuple[str, ...], count: int) -> type[BaseModel]:
    """The shape of a reply: a list of at most ``count`` inputs, each with a text for each variable."""
    return create_model("Baseline", inputs=(list_up_to(inputs_type(variables), count, least=1), ...))


def _roomy(author: RoleModel, count: int) -> RoleModel:
    room = max(author.defaults.max_tokens or 0, count * TOKENS_A_CASE)
    return replace(author, defaults=author.defaults.model_copy(update={"max_tokens": room}))


def _cases(reply: BaseModel, prompt: Prompt, spec: Spec | None, author: str, count: int) -> list[Case]:
    inputs_fingerprint = digest(
        [prompt.fingerprint, prompt.variables, count, "", fingerprint(TEMPLATE), author, "baseline"], 16
    )
    typed = spec.inputs if spec is not None else {}
    seen: set[str] = set()
    cases: list[Case] = []
    for item in reply.inputs:  # type: ignore[attr-defined]
        values = item.model_dump(by_alias=True)
        inputs = {name: read_value(text, typed.get(name)) for name, text in values.items()}
        text = inputs_text(inputs)
        if len(cases) == count or text in seen or not any(value.strip() for value in values.values()):
            continue
        seen.add(text)
        cases.append(
            Case(id=f"b{len(cases) + 1}", inputs=inputs, inputs_fingerprint=inputs_fingerprint, origin="generated")
        )
    return cases
