"""Input specs: what each variable of a prompt may hold, and what has to hold between them.

After PromptPex (arXiv 2503.05070v1, §3.1): what the prompt handles is valid, its corner cases too. All variables are
asked about in one request, together with the prompt's intent; what its reply leaves out is asked about by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from pydantic import BaseModel, Field

from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import ALSO_VALID, WHOLE_INPUT, Prompt, VariableSpec
from promptpex.core.stage_templates import Rendered, render
from promptpex.llm.map_requests import map_requests
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.schemas import first, if_given, readable, shortened
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


class WithIntent(BaseModel):
    """What the prompt is for, where that is asked with its inputs."""

    intent: Annotated[str, if_given(4000)] = ""


class InputsAndIntentReply(InputsReply, WithIntent):
    """What the prompt is for, and constraints on its one variable."""


class AllInputsAndIntentReply(AllInputsReply, WithIntent):
    """What the prompt is for, constraints on each variable, and on all together."""


async def describe(
    author: RoleModel, prompt: Prompt, *, options: Extraction = DEFAULTS, emit: Listener = ignore_events
) -> tuple[str, dict[str, VariableSpec]]:
    """The intent of a prompt and its input spec; the intent is empty where the author does not tell it.

    Raises:
        PromptFileError: a declaration that cannot be meant.
    """
    input_names = [*prompt.variables, *([WHOLE_INPUT] if len(prompt.variables) > 1 else [])]
    return await _InputsQuestion(author, prompt, options).described(input_names, emit, with_intent=True)


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
    return (await _InputsQuestion(author, prompt, options).described(wanted, emit, with_intent=False))[1]


Constrained = dict[str, tuple[str, ...]]
"""The sentences about each variable, by its name."""


@dataclass(frozen=True, slots=True)
class _InputsQuestion:
    """What stays the same in all requests about the inputs of a prompt."""

    author: RoleModel
    prompt: Prompt
    options: Extraction

    async def described(
        self, wanted: Sequence[str], emit: Listener, *, with_intent: bool
    ) -> tuple[str, dict[str, VariableSpec]]:
        """The intent, where it is asked for, and the specs: of all variables at once, of those left out one by one."""
        types = {name: declared(self.prompt, name) for name in wanted}
        several = len([name for name in wanted if name != WHOLE_INPUT]) > 1
        intent, constraints = "", Constrained()
        if several or (with_intent and wanted):
            nothing: tuple[str, Constrained] = ("", {})
            at_once = ["" if several else wanted[0]]
            ask = partial(self.ask, with_intent=with_intent)
            answers = await map_requests("inputs", self.author.label, at_once, ask, emit, default=nothing)
            intent, constraints = answers[0]
        missing = [name for name in wanted if name not in constraints]
        none: tuple[str, Constrained] = ("", {})
        for _, more in await map_requests("inputs", self.author.label, missing, self.ask, emit, default=none):
            constraints = {**constraints, **more}
        specs = {name: types[name].replace(constraints=constraints.get(name, ())) for name in wanted}
        return intent, {name: spec for name, spec in specs.items() if spec.constraints or name != WHOLE_INPUT}

    async def ask(self, variable: str, *, with_intent: bool = False) -> tuple[str, Constrained]:
        """What the author says of the intent and of one variable; of all variables for the empty name."""
        rendered = self._rendered(variable, with_intent)
        if variable:
            one: type[InputsReply] = InputsAndIntentReply if with_intent else InputsReply
            about_one = (await self.author.ask(rendered, one, stage="inputs")).value
            return _intent_of(about_one), {variable: tidied(about_one.constraints)}
        many: type[AllInputsReply] = AllInputsAndIntentReply if with_intent else AllInputsReply
        reply = (await self.author.ask(rendered, many, stage="inputs")).value
        lines = {item.name: tidied(item.constraints) for item in reply.inputs if item.name in self.prompt.variables}
        return _intent_of(reply), {**lines, WHOLE_INPUT: tidied(reply.together)}

    def _rendered(self, variable: str, with_intent: bool) -> Rendered:
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
            with_intent=with_intent,
            intent_note=self.options.note("intent") if with_intent else "",
            instructions=self.options.note("inputs"),
        )


def _intent_of(reply: BaseModel) -> str:
    return reply.intent.strip() if isinstance(reply, WithIntent) else ""


def tidied(lines: Sequence[str]) -> tuple[str, ...]:
    """The sentences, each once, without blanks around them; what is also valid is gathered in one that comes last."""
    unique = {same_rule(line): line.strip() for line in reversed(lines) if line.strip()}
    tidied_items = list(reversed(unique.values()))
    also = [line[len(ALSO_VALID) :].strip() for line in tidied_items if is_also_valid(line)]
    rest = [line for line in tidied_items if not is_also_valid(line)]
    return (*rest, *([f"{ALSO_VALID} {' '.join(also)}"] if any(also) else []))


def is_also_valid(line: str) -> bool:
    """Whether the sentence allows something rather than asking for it."""
    return line.casefold().startswith(ALSO_VALID.casefold())
