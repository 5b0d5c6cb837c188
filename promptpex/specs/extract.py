"""Extraction: what a prompt promises, written down by the author model.

After PromptPex (arXiv 2503.05070v1, §3): intent, input specification, output rules, inverse rules.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import Prompt, Spec
from promptpex.core.stage_templates import render
from promptpex.llm.map_requests import map_requests
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.schemas import shortened
from promptpex.specs.describe_inputs import describe
from promptpex.specs.propose_rules import DEFAULTS, Extraction, add_inverses, propose_rules


class IntentReply(BaseModel):
    """What the prompt is for."""

    intent: Annotated[str, shortened(4000), Field(min_length=1)]


async def extract(
    author: RoleModel,
    prompt: Prompt,
    *,
    spec_for: str,
    options: Extraction = DEFAULTS,
    emit: Listener = ignore_events,
) -> Spec:
    """The spec of a prompt, as the author model reads it.

    Args:
        author: who writes it.
        prompt: the prompt under test.
        spec_for: the prompt's file name, as the spec should name it.
        options: limits and instructions.
        emit: is sent the events of the stages.

    Raises:
        ModelError: the author could not name a single rule. A missing intent, constraint or inverse is only noticed.
    """
    intent, inputs = await describe(author, prompt, options=options, emit=emit)
    intent = intent or await _intent(author, prompt, options, emit)
    rules = await propose_rules(author, prompt, options=options, emit=emit)
    return Spec(
        prompt=spec_for,
        prompt_fingerprint=prompt.fingerprint,
        intent=intent,
        inputs=inputs,
        rules=tuple(await add_inverses(author, intent, rules, options=options, emit=emit)),
    )


async def _intent(author: RoleModel, prompt: Prompt, options: Extraction, emit: Listener) -> str:
    """The intent, asked for by itself."""

    async def ask(stage: str) -> str:
        rendered = render(
            "specs/intent",
            prompt=prompt.text(),
            description=prompt.description,
            instructions=options.note("intent"),
        )
        return (await author.ask(rendered, IntentReply, stage=stage)).value.intent.strip()

    return (await map_requests("intent", author.label, ["intent"], ask, emit, default=""))[0]
