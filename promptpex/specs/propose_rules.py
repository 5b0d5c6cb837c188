"""Rules: what a prompt promises of its output, each with the likeliest way to break it.

After PromptPex (arXiv 2503.05070v1, §3.2 and §3.3.2). Differing from it: a rule and its inverse come in one reply, so
many rules a request that no long generation derails, and each rule keeps the words it cites.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, create_model

from promptpex.codecs.model_json import whole_objects
from promptpex.core.errors import MalformedReply, TruncatedReply
from promptpex.core.events import Listener, Notice, StageEnded, StageStarted, StepDone, ignore_events
from promptpex.core.records import Prompt, Rule
from promptpex.core.stage_templates import render
from promptpex.core.translation import stored
from promptpex.llm.model_in_role import RoleModel, map_requests
from promptpex.llm.schemas import if_given, list_up_to, reads, shortened
from promptpex.specs.source_quotes import mark_misquoted, prompt_text

RULES_PER_REQUEST = 20
"""Rules that one request may bring: with their inverses they fit into the reply of an author."""
FEWER = 4
"""Into so many parts a request for rules is divided whose reply could not be read."""

Sentence = Annotated[str, shortened(4000), Field(min_length=1)]


class RuleReply(BaseModel):
    """One rule: the words it cites, what they promise, and what has to be seen to decide it."""

    source: Annotated[str, if_given(50_000)] = ""
    rule: Sentence
    needs: Annotated[
        Literal["output", "input"],
        BeforeValidator(lambda value: "input" if "input" in str(value).casefold() else "output"),
    ] = "output"


class FullRuleReply(RuleReply):
    """One rule with its inverse."""

    inverse: Annotated[str, if_given(4000)] = ""


More = Annotated[bool, BeforeValidator(lambda value: str(value).strip().casefold() in ("true", "yes"))]
"""Whether the prompt sets rules that the reply leaves out."""


@lru_cache(maxsize=32)
def rules_reply(limit: int, least: int = 1, *, inverses: bool = False) -> type[BaseModel]:
    """The shape of a reply with ``least`` to ``limit`` rules."""
    item = FullRuleReply if inverses else RuleReply
    return create_model("RulesReply", rules=(list_up_to(item, limit, least=least), ...), more=(More, False))


class InverseReply(BaseModel):
    """The opposite of one rule."""

    inverse: Sentence


@dataclass(frozen=True, slots=True)
class Extraction:
    """How to extract: at most ``max_rules`` rules; whether each gets its inverse, which only cases aimed at it need;
    the owner's instructions per stage (``rules``, ``intent``, ...); real inputs as examples."""

    max_rules: int = 20
    inverses: bool = True
    instructions: Mapping[str, str] = field(default_factory=dict)
    samples: Sequence[str] = ()

    def note(self, stage: str) -> str:
        return self.instructions.get(stage, "")


DEFAULTS = Extraction()


async def propose_rules(
    author: RoleModel,
    prompt: Prompt,
    *,
    known: Sequence[Rule] = (),
    uncited: Sequence[str] = (),
    taken: Collection[str] = (),
    options: Extraction = DEFAULTS,
    emit: Listener = ignore_events,
) -> list[Rule]:
    """Rules of the prompt that ``known`` does not have yet, with ids that are free.

    Where rules are known there may be nothing to add. No id in ``taken`` is given again: of a stale rule, or one
    that cases still name. A list that is full is said. What of a reply came whole is kept, and the rest asked for in
    smaller parts.

    Args:
        uncited: sentences of the prompt that no known rule cites.

    Raises:
        ModelError: the author could not name a single rule where none is known.
    """
    question = _RulesQuestion(author, prompt, uncited, options, emit)
    rules: list[Rule] = []
    part, requests = _Part(RULES_PER_REQUEST, options.inverses), 0
    while True:
        part = part.up_to(options.max_rules - len(rules))
        answer = await question.ask([*known, *rules], part)
        fresh = _numbered(answer.rules, [*known, *rules], taken)
        rules, requests = [*rules, *fresh], requests + 1
        part = answer.part
        is_last = len(rules) >= options.max_rules or requests >= ceil(options.max_rules / part.limit)
        if is_last or not (answer.more and (fresh or answer.cut)):
            _say_if_full(len(rules), options.max_rules, answer.more, emit)
            return mark_misquoted(rules, prompt_text(prompt))


@dataclass(frozen=True, slots=True)
class _Part:
    """What one request asks for: at most ``limit`` rules, with their inverses or without."""

    limit: int
    inverses: bool

    def up_to(self, most: int) -> _Part:
        return _Part(min(self.limit, most), self.inverses)

    def smaller(self, error: MalformedReply | TruncatedReply) -> _Part | None:
        """A request that is easier to answer than the one that gave ``error``; None where none would help."""
        if not self.inverses and (self.limit == 1 or isinstance(error, MalformedReply)):
            return None
        return _Part(max(1, self.limit // FEWER), inverses=False)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The rules of one reply; whether there may be more; whether it was cut; what was asked for in the end."""

    rules: Sequence[RuleReply]
    more: bool
    cut: bool
    part: _Part


@dataclass(frozen=True, slots=True)
class _RulesQuestion:
    """What stays the same in all requests for the rules of a prompt."""

    author: RoleModel
    prompt: Prompt
    uncited: Sequence[str]
    options: Extraction
    emit: Listener

    async def ask(self, known: Sequence[Rule], part: _Part) -> _Answer:
        """What the author answers, to a smaller request if it cannot answer this one."""
        self.emit(StageStarted("rules", 1, self.author.label))
        rendered = render(
            "specs/rules",
            prompt=self.prompt.text(),
            description=self.prompt.description,
            limit=part.limit,
            inverses=part.inverses,
            known=[rule.rule for rule in known],
            uncited=list(self.uncited),
            instructions=self.options.note("rules"),
        )
        shape = rules_reply(part.limit, 0 if known else 1, inverses=part.inverses)
        try:
            reply = (await self.author.ask(rendered, shape, stage="rules")).value
        except (MalformedReply, TruncatedReply) as error:
            self.emit(StepDone("rules", self.author.label, error.reason))
            self.emit(StageEnded("rules", self.author.label))
            return await self._in_parts(error, known, part)
        self.emit(StepDone("rules", self.author.label))
        self.emit(StageEnded("rules", self.author.label))
        rules: list[RuleReply] = reply.rules  # type: ignore[attr-defined]
        more = bool(reply.more) or len(rules) >= part.limit  # type: ignore[attr-defined]
        return _Answer(rules, more, cut=False, part=part)

    async def _in_parts(self, error: MalformedReply | TruncatedReply, known: Sequence[Rule], part: _Part) -> _Answer:
        """The rules that came whole; where there are none, the answer to a smaller request."""
        smaller = part.smaller(error)
        whole = [item for item in whole_objects(error.reply or "") if reads(FullRuleReply, item)]
        came = [FullRuleReply.model_validate(item) for item in whole[: part.limit]]
        if smaller is None and not came:
            raise error
        message = stored("rules: an unusable reply ({reason}) is requested again in parts", reason=error.reason)
        self.emit(Notice(message, "warning"))
        if came or smaller is None:
            return _Answer(came, more=True, cut=True, part=smaller or part)
        return await self.ask(known, smaller)


async def add_inverses(
    author: RoleModel,
    intent: str,
    rules: Sequence[Rule],
    *,
    options: Extraction = DEFAULTS,
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


def same_rule(text: str) -> str:
    """What the words of a rule are compared by: no case, no full stop, white space single."""
    return " ".join(text.split()).casefold().rstrip(".")


def _numbered(replies: Sequence[RuleReply], known: Sequence[Rule], ids: Collection[str]) -> list[Rule]:
    taken_ids = {rule.id for rule in known} | set(ids)
    seen = {same_rule(rule.rule) for rule in known}
    rules: list[Rule] = []
    number = 0
    for reply in replies:
        text = reply.rule.strip()
        if not text or same_rule(text) in seen:
            continue
        seen.add(same_rule(text))
        number += 1
        while f"r{number}" in taken_ids:
            number += 1
        inverse = reply.inverse.strip() if isinstance(reply, FullRuleReply) else ""
        rules.append(
            Rule(
                id=f"r{number}",
                rule=text,
                needs=reply.needs,
                inverse=inverse if same_rule(inverse) != same_rule(text) and inverse else None,
                source=reply.source.strip() or None,
                origin="extracted",
            )
        )
    return rules


def _say_if_full(count: int, most: int, more: bool, emit: Listener) -> None:
    if not more:
        return
    message = stored(
        "the author says that the prompt sets more rules; for more of them: `promptpex extract PROMPT --more-rules`, "
        "or a higher --max-rules"
    )
    if count >= most:
        message = stored(
            "the list of rules is full ({number}); for more of them: `promptpex extract PROMPT --more-rules`, or a "
            "higher --max-rules",
            number=most,
        )
    emit(Notice(message, "warning"))
