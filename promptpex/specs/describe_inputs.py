"""Input specs: what each variable of a prompt may hold, and what has to hold between them.

After PromptPex (arXiv 2503.05070v1, §3.1): what the prompt handles is valid, its corner cases too. All variables are
asked about in one request; those that its reply leaves out are asked about one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field

from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import ALSO_VALID, WHOLE_INPUT, Prompt, VariableSpec
from promptpex.core.stage_templates import Rendered, render
from promptpex.llm.map_requests import map_requests
from promptpex.llm.role_model import RoleModel
from promptpex.llm.schemas import first, readable, shortened
from promptpex.specs.input_declarations import declarations, declared
from promptpex.specs.propose_rules import DEFAULTS, Extraction, same_rule

MOST = 8
"""Sentences about one variable."""

Constraints = Annotated[list[Annotated[str, shortened(2000)]], first(MOST), Field(max_length=MOST)]


class InputsReply(BaseModel):
    """Constraints on one variable, or on all together."""

    constraints: Constraints


class VariableReply(InputsReply):
    """Constraints on one variable of several."""

    name: str


class AllInputsReply(BaseModel):
    """Constraints on each variable, and on all together."""

    inputs: Annotated[list[VariableReply], readable(VariableReply)]
    together: Constraints = []


async def input_specs(
    author: RoleModel,
    prompt: Prompt,
    wanted: Sequence[str],
    *,
    options: Extraction = DEFAULTS,
    emit: Listener = ignore_events,
) -> dict[str, VariableSpec]:
    """The input spec of these variables (``*`` = all together); what the author does not tell has no constraints.

    Types and bounds are those that the front matter declares.

    Raises:
        PromptFileError: a declaration that cannot be meant.
    """
    types = {name: declared(prompt, name) for name in wanted}
    question = _InputsQuestion(author, prompt, options)
    constraints: dict[str, tuple[str, ...]] = {}
    if len([name for name in wanted if name != WHOLE_INPUT]) > 1:
        nothing: dict[str, tuple[str, ...]] = {}
        (constraints,) = await map_requests(
            "inputs", author.label, [tuple(wanted)], question.all, emit, default=nothing
        )
    missing = [name for name in wanted if name not in constraints]
    unknown: tuple[str, ...] = ()
    replies = await map_requests("inputs", author.label, missing, question.one, emit, default=unknown)
    constraints |= dict(zip(missing, replies, strict=True))
    return {
        name: types[name].replace(constraints=constraints[name])
        for name in wanted
        if constraints[name] or name != WHOLE_INPUT
    }


@dataclass(frozen=True, slots=True)
class _InputsQuestion:
    """What stays the same in all requests about the inputs of a prompt."""

    author: RoleModel
    prompt: Prompt
    options: Extraction

    async def all(self, wanted: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """What the author says of these variables, as far as it says something of each."""
        reply = (await self.author.ask(self._rendered(""), AllInputsReply, stage="inputs")).value
        lines = {item.name: tidied(item.constraints) for item in reply.inputs if item.name in self.prompt.variables}
        return {**lines, **({WHOLE_INPUT: tidied(reply.together)} if WHOLE_INPUT in wanted else {})}

    async def one(self, variable: str) -> tuple[str, ...]:
        """What the author says of one variable, or of all together."""
        reply = await self.author.ask(self._rendered(variable), InputsReply, stage="inputs")
        return tidied(reply.value.constraints)

    def _rendered(self, variable: str) -> Rendered:
        prompt = self.prompt
        return render(
            "specs/inputs",
            prompt=prompt.text(),
            description=prompt.description,
            declared=declarations(prompt),
            samples="\n\n".join(self.options.samples),
            variable=variable,
            variables=prompt.variables,
            whole=WHOLE_INPUT,
            implicit=prompt.implicit_input,
            instructions=self.options.note("inputs"),
        )


def tidied(lines: Sequence[str]) -> tuple[str, ...]:
    """The sentences, each once, without blanks around them; what is also valid is gathered in one that comes last."""
    unique = {same_rule(line): line.strip() for line in reversed(lines) if line.strip()}
    kept = list(reversed(unique.values()))
    also = [line[len(ALSO_VALID) :].strip() for line in kept if is_also_valid(line)]
    rest = [line for line in kept if not is_also_valid(line)]
    return (*rest, *([f"{ALSO_VALID} {' '.join(also)}"] if any(also) else []))


def is_also_valid(line: str) -> bool:
    """Whether the sentence allows something rather than asking for it."""
    return line.casefold().startswith(ALSO_VALID.casefold())
