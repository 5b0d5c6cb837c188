"""Groundedness: whether the prompt says what a rule says, which rules about ``source_quotes`` do not tell.

The words that a rule quotes come first: where enough of them stand in the prompt, code decides. The rest goes to a
judge, several rules in a request (after PromptPex, arXiv 2503.05070v1, §4, groundedness of rules); those that it leaves
out are asked about one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import BaseModel, create_model

from promptpex.codecs.text import comparing
from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import Prompt, Rule
from promptpex.core.stage_templates import render
from promptpex.core.translation import stored
from promptpex.llm.model_in_role import RoleModel, map_requests
from promptpex.llm.schemas import REASON, list_up_to, readable

TEMPLATE = "specs/grounded"
STAGE = "groundedness"
SHORTEST = 12
"""Characters without blanks that a quotation must have to settle anything; a script without letter case needs half."""

HOW: dict[comparing.How, str] = {"exact": "quote", "near": "near-quote"}
UNREAD = stored("its answer could not be read")


RULES_PER_REQUEST = 8
"""Rules that one request asks about."""


class ClaimReply(BaseModel):
    """A judge's answer about one rule: the reason first."""

    claim: str
    reason: Annotated[str, REASON]
    verdict: Literal["yes", "no", "unclear"]


@lru_cache(maxsize=32)
def groundedness_reply_type(count: int) -> type[BaseModel]:
    claims = list_up_to(ClaimReply, count, wanted=count)
    return create_model("GroundedReply", claims=(Annotated[claims, readable(ClaimReply)], ...))


@dataclass(frozen=True, slots=True)
class Groundedness:
    """Whether the prompt supports one rule.

    Attributes:
        status: ``unknown`` where neither words nor a judge could tell.
        how: ``quote``, ``near-quote``, ``judge:`` with the model's label, or ``none``.
    """

    rule: str
    status: Literal["yes", "no", "unknown"]
    how: str
    reason: str


async def grounded(
    role_model: RoleModel | None,
    prompt: Prompt,
    rules: Sequence[Rule],
    *,
    instructions: str = "",
    emit: Listener = ignore_events,
) -> list[Groundedness]:
    """The groundedness of each rule, in their order.

    Args:
        role_model: the judge for the rules that their quoted words do not settle; None = these are unknown.

    Raises:
        ModelError: of a kind that holds for the whole judge.
    """
    text = prompt.text()
    decided = {rule.id: by_quote(rule, text) for rule in rules}
    undecided = [rule for rule in rules if decided[rule.id] is None]
    if role_model is not None:
        decided |= await _judged(role_model, text, undecided, instructions, emit)
    how = "none" if role_model is None else f"judge:{role_model.label}"
    why = stored("its quoted words do not settle it") if role_model is None else UNREAD
    return [decided.get(rule.id) or Groundedness(rule.id, "unknown", how, why) for rule in rules]


async def _judged(
    judge: RoleModel, text: str, rules: Sequence[Rule], instructions: str, emit: Listener
) -> dict[str, Groundedness | None]:
    """What the judge says of each rule; None where it cannot be read."""

    async def ask(some: Sequence[Rule]) -> dict[str, Groundedness | None]:
        rendered = render(TEMPLATE, prompt=text, rules=some, count=len(some), instructions=instructions)
        value = (await judge.ask(rendered, groundedness_reply_type(len(some)), stage=STAGE)).value
        claims: list[ClaimReply] = value.claims  # type: ignore[attr-defined]
        answers = {claim.claim: claim for claim in claims}
        if len(some) == len(claims) == 1:
            answers = {some[0].id: claims[0]}
        return {rule.id: _answer(rule, answers[rule.id], judge.label) for rule in some if rule.id in answers}

    judged: dict[str, Groundedness | None] = {}
    for size in (RULES_PER_REQUEST, 1):
        left = [rule for rule in rules if rule.id not in judged]
        parts = [left[start : start + size] for start in range(0, len(left), size)]
        nothing: dict[str, Groundedness | None] = {}
        for answers in await map_requests(STAGE, judge.label, parts, ask, emit, default=nothing):
            judged |= answers
    return judged


def _answer(rule: Rule, claim: ClaimReply, label: str) -> Groundedness:
    status: Literal["yes", "no", "unknown"] = "unknown" if claim.verdict == "unclear" else claim.verdict
    return Groundedness(rule.id, status, f"judge:{label}", claim.reason.strip())


def by_quote(rule: Rule, prompt_text: str) -> Groundedness | None:
    """What the quoted words say of a rule: that it is grounded, or nothing. They never say that it is not.

    A quotation may leave words out ("...") and may have a letter wrong; each part of it has to be in the prompt.
    """
    parts = comparing.fragments(rule.source or "")
    if _weight("".join(parts)) < SHORTEST:
        return None
    how = comparing.match_fragments(parts, comparing.normalize(prompt_text))
    if how is None:
        return None
    why = stored("the words that it quotes are in the prompt")
    if how == "near":
        why = stored("the words that it quotes are in the prompt, nearly as quoted")
    return Groundedness(rule.id, "yes", HOW[how], why)


def _weight(text: str) -> int:
    """Letters and digits, those of scripts without letter case twice, since they say more each."""
    letters = [char for char in text if char.isalnum()]
    return sum(2 if char.isalpha() and char.upper() == char.lower() else 1 for char in letters)
