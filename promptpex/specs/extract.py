"""Extraction: what a prompt promises, and what its inputs may hold, written down by the author model.

After PromptPex (arXiv 2503.05070v1, §3): intent, input specification, output rules, inverse rules. All variables are
asked about in one request, together with the intent; what its reply leaves out is asked about by itself. Types and
bounds come from the front matter's ``inputs``, in our words or those of JSON schema and Prompty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import PromptFileError
from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import ALSO_VALID, WHOLE_INPUT, Prompt, Spec, VariableSpec
from promptpex.core.stage_templates import Rendered, render
from promptpex.documents.record_problems import plain_message
from promptpex.llm.model_in_role import RoleModel, map_requests
from promptpex.llm.schemas import first, if_given, readable, shortened
from promptpex.promptfile.front_matter import TYPES
from promptpex.specs.propose_rules import DEFAULTS, Extraction, add_inverses, propose_rules, same_rule

FIELDS = {
    "values": ("values", "enum", "options", "enumValues"),
    "schema": ("schema", "json_schema", "jsonSchema"),
    "minimum": ("minimum", "min"),
    "maximum": ("maximum", "max"),
    "min_length": ("min_length", "minLength"),
    "max_length": ("max_length", "maxLength"),
}
"""Each field of a variable's spec with the names that front matter may give it."""


def declared(prompt: Prompt, name: str) -> VariableSpec:
    """What the front matter says of a variable; a text without bounds where it says nothing."""
    inputs = prompt.meta.get("inputs")
    about = inputs.get(name) if isinstance(inputs, Mapping) else None
    declaration = dict(about) if isinstance(about, Mapping) else {}
    fields: dict[str, Any] = {
        field: next(declaration[word] for word in words if declaration.get(word) is not None)
        for field, words in FIELDS.items()
        if any(declaration.get(word) is not None for word in words)
    }
    kind = declaration.get("type", declaration.get("kind"))
    fields["type"] = _type(kind, fields)
    if fields["type"] == "json" and "schema" not in fields and kind in ("object", "array"):
        fields["schema"] = {"type": kind}
    try:
        return VariableSpec.model_validate(fields)
    except ValidationError as failure:
        error = failure.errors(include_url=False)[0]
        place = ".".join(str(part) for part in error["loc"])
        raise PromptFileError(f"the input {name!r}: {place}: {plain_message(error)}", path=prompt.path) from None


def unread_declarations(prompt: Prompt) -> list[str]:
    """What the front matter says of the variables and nothing reads, in sentences: types and keys that look like slips.
    Others may be another tool's."""
    inputs = prompt.meta.get("inputs")
    abouts = inputs.items() if isinstance(inputs, Mapping) else ()
    return [
        sentence
        for name, about in abouts
        if isinstance(about, Mapping)
        for key, value in about.items()
        if (sentence := _unread(name, key, value))
    ]


def _unread(name: str, key: Any, value: Any) -> str | None:
    """Why this key of a declaration says nothing, where it looks like one that does."""
    if key in ("type", "kind"):
        near = "" if str(value).lower() in TYPES else did_you_mean(str(value), TYPES)
        return f"the input {name!r} is taken for a text: there is no type {str(value)[:40]!r}; {near}" if near else None
    near = "" if key in _KEYS else did_you_mean(str(key), _KEYS)
    return f"the input {name!r}: nothing reads the key {str(key)[:40]!r}; {near}" if near else None


_KEYS = frozenset(
    ("type", "kind", "description", "checks_only", *(word for words in FIELDS.values() for word in words))
)


def declarations(prompt: Prompt) -> str:
    """What the front matter says of the variables, a line each: its description, its type and bounds as JSON."""
    lines = []
    for name in prompt.variables:
        bounds = declared(prompt, name).to_dict()
        parts = [prompt.description_of(name), json.dumps(bounds, ensure_ascii=False) if bounds else ""]
        if any(parts):
            lines.append(f"{name}: {' '.join(filter(None, parts))}")
    return "\n".join(lines)


def _type(kind: Any, fields: Mapping[str, Any]) -> str:
    type_name = TYPES.get(kind.lower() if isinstance(kind, str) else "", "text")
    if type_name == "text" and isinstance(fields.get("values"), list | tuple):
        return "enum"
    return "json" if type_name == "text" and "schema" in fields else type_name


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
    """The intent of a prompt and its input spec; the intent is empty where the author does not tell it."""
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
    return line.casefold().startswith(ALSO_VALID.casefold())


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

    async def ask(stage: str) -> str:
        rendered = render(
            "specs/intent",
            prompt=prompt.text(),
            description=prompt.description,
            instructions=options.note("intent"),
        )
        return (await author.ask(rendered, IntentReply, stage=stage)).value.intent.strip()

    return (await map_requests("intent", author.label, ["intent"], ask, emit, default=""))[0]
