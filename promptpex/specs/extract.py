"""Extraction: what a prompt promises, written down by the author model.

After PromptPex (arXiv 2503.05070v1, §3): intent, input specification, output rules, inverse rules. Differing from it:
one request per variable and per inverse, so that no long generation derails, and each rule keeps the words it cites.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated

from pydantic import BaseModel, Field, create_model

from promptpex.core.events import Listener, Notice, StageEnded, StageStarted, StepDone, ignore_events
from promptpex.core.records import WHOLE_INPUT, Prompt, Rule, Spec, VariableSpec
from promptpex.core.stage_templates import render
from promptpex.llm.map_requests import map_requests
from promptpex.llm.role_model import RoleModel
from promptpex.llm.schemas import first, list_up_to, shortened
from promptpex.specs.input_declarations import declared

Sentence = Annotated[str, shortened(4000), Field(min_length=1)]


class IntentReply(BaseModel):
    """What the prompt is for."""

    intent: Sentence


class InputsReply(BaseModel):
    """Constraints on one variable, or on all together."""

    constraints: Annotated[list[Annotated[str, shortened(2000)]], first(6), Field(max_length=6)]


class RuleReply(BaseModel):
    """One rule and the words it cites."""

    rule: Sentence
    source: Annotated[str, shortened(50_000)]


@lru_cache(maxsize=32)
def rules_reply(limit: int, least: int = 1) -> type[BaseModel]:
    """The shape of a reply with ``least`` to ``limit`` rules."""
    return create_model("RulesReply", rules=(list_up_to(RuleReply, limit, least=least), ...))


class InverseReply(BaseModel):
    """The opposite of one rule."""

    inverse: Sentence


@dataclass(frozen=True, slots=True)
class Extraction:
    """How to extract: at most ``max_rules`` rules; whether each gets its inverse, which only cases aimed at it need;
    the owner's instructions per stage (``rules``, ``intent``, ...)."""

    max_rules: int = 10
    inverses: bool = True
    instructions: Mapping[str, str] = field(default_factory=dict)

    def note(self, stage: str) -> str:
        """The owner's instructions for a stage, or nothing."""
        return self.instructions.get(stage, "")


async def extract(
    author: RoleModel,
    prompt: Prompt,
    *,
    spec_for: str,
    options: Extraction = Extraction(),
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
    text = prompt.text()
    intent = await _intent(author, text, options, emit)
    wanted = [*prompt.variables, *([WHOLE_INPUT] if len(prompt.variables) > 1 else [])]
    inputs = await input_specs(author, prompt, wanted, options=options, emit=emit)
    rules = await propose_rules(author, text, intent, options=options, emit=emit)
    return Spec(
        prompt=spec_for,
        prompt_fingerprint=prompt.fingerprint,
        intent=intent,
        inputs=inputs,
        rules=tuple(await add_inverses(author, intent, rules, options=options, emit=emit)),
    )


async def propose_rules(
    author: RoleModel,
    prompt_text: str,
    intent: str,
    *,
    known: Sequence[Rule] = (),
    taken: Collection[str] = (),
    options: Extraction = Extraction(),
    emit: Listener = ignore_events,
) -> list[Rule]:
    """Rules of the prompt that ``known`` does not have yet, without inverses, with ids that are free.

    Where rules are known there may be nothing to add. No id in ``taken`` is given again: of a stale rule, or one
    that cases still name.
    """
    rendered = render(
        "specs/rules",
        prompt=prompt_text,
        intent=intent,
        limit=options.max_rules,
        known=[rule.rule for rule in known],
        instructions=options.note("rules"),
    )
    emit(StageStarted("rules", 1, author.label))
    shape = rules_reply(options.max_rules, 0 if known else 1)
    reply = await author.ask(rendered, shape, stage="rules")
    emit(StepDone("rules", author.label))
    emit(StageEnded("rules", author.label))
    named: Sequence[RuleReply] = reply.value.rules  # type: ignore[attr-defined]
    if len(named) >= options.max_rules:
        limit = f"the author named as many rules as it may ({options.max_rules}); the prompt may promise more"
        emit(
            Notice(f"{limit}: `promptpex validate` lists the sentences without a rule; or raise --max-rules", "warning")
        )
    return _numbered(named, known, taken)


async def add_inverses(
    author: RoleModel,
    intent: str,
    rules: Sequence[Rule],
    *,
    options: Extraction = Extraction(),
    emit: Listener = ignore_events,
) -> list[Rule]:
    """The rules, each that had no inverse with one, in a request of its own; one that fails stays without, and so do
    all where no inverses are wanted."""
    missing = [rule for rule in rules if not rule.inverse and options.inverses]

    async def ask(rule: Rule) -> str:
        rendered = render("specs/inverse", intent=intent, rule=rule.rule, instructions=options.note("inverse"))
        return (await author.ask(rendered, InverseReply, stage="inverse")).value.inverse.strip()

    inverses = await map_requests("inverse", author.label, missing, ask, emit, default="")
    by_rule = dict(zip((rule.id for rule in missing), inverses, strict=True))
    return [rule.replace(inverse=by_rule[rule.id] or None) if rule.id in by_rule else rule for rule in rules]


async def _intent(author: RoleModel, text: str, options: Extraction, emit: Listener) -> str:
    async def ask(stage: str) -> str:
        rendered = render("specs/intent", prompt=text, instructions=options.note("intent"))
        return (await author.ask(rendered, IntentReply, stage=stage)).value.intent.strip()

    return (await map_requests("intent", author.label, ["intent"], ask, emit, default=""))[0]


async def input_specs(
    author: RoleModel,
    prompt: Prompt,
    wanted: Sequence[str],
    *,
    options: Extraction = Extraction(),
    emit: Listener = ignore_events,
) -> dict[str, VariableSpec]:
    """The input spec of these variables (``*`` = all together), one request each; what fails has no constraints.

    Types and bounds are those that the front matter declares.

    Raises:
        PromptFileError: a declaration that cannot be meant.
    """
    types = {name: declared(prompt, name) for name in wanted}

    async def ask(variable: str) -> tuple[str, ...]:
        rendered = render(
            "specs/inputs",
            prompt=prompt.text(),
            variable=variable,
            variables=prompt.variables,
            whole=WHOLE_INPUT,
            implicit=prompt.implicit_input,
            instructions=options.note("inputs"),
        )
        reply = await author.ask(rendered, InputsReply, stage="inputs")
        return tuple(dict.fromkeys(stripped(reply.value.constraints)))

    nothing: tuple[str, ...] = ()
    constraints = await map_requests("inputs", author.label, wanted, ask, emit, default=nothing)
    lines_of = zip(wanted, constraints, strict=True)
    return {name: types[name].replace(constraints=lines) for name, lines in lines_of if lines or name != WHOLE_INPUT}


def stripped(lines: Sequence[str]) -> list[str]:
    """The lines without blanks around them, empty ones left out."""
    return [line.strip() for line in lines if line.strip()]


def _numbered(replies: Sequence[RuleReply], known: Sequence[Rule], ids: Collection[str]) -> list[Rule]:
    taken = {rule.id for rule in known} | set(ids)
    seen = {same_rule(rule.rule) for rule in known}
    rules: list[Rule] = []
    number = 0
    for reply in replies:
        text = reply.rule.strip()
        if not text or same_rule(text) in seen:
            continue
        seen.add(same_rule(text))
        number += 1
        while f"r{number}" in taken:
            number += 1
        rules.append(Rule(id=f"r{number}", rule=text, source=reply.source.strip() or None, origin="extracted"))
    return rules


def same_rule(text: str) -> str:
    """What the words of a rule are compared by: no case, no full stop, white space single."""
    return " ".join(text.split()).casefold().rstrip(".")
