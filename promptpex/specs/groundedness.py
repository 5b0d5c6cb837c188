"""Groundedness: whether the prompt says what a rule says, which rules about ``source_quotes`` do not tell.

The words that a rule quotes come first: where enough of them stand in the prompt, code decides. The rest goes to a
judge, one request per rule (after PromptPex, arXiv 2503.05070v1, §4, groundedness of rules).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel

from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import Prompt, Rule
from promptpex.core.stage_templates import render
from promptpex.llm.map_requests import map_requests
from promptpex.llm.role_model import RoleModel
from promptpex.llm.schemas import REASON
from promptpex.specs import quote_match

TEMPLATE = "specs/grounded"
STAGE = "groundedness"
SHORTEST = 12
"""Characters without blanks that a quotation must have to settle anything; a script without letter case needs half."""

HOW: dict[quote_match.How, str] = {"exact": "quote", "near": "near-quote"}


class GroundedReply(BaseModel):
    """A judge's answer about one rule: the reason first."""

    reason: Annotated[str, REASON]
    verdict: Literal["yes", "no", "unclear"]


@dataclass(frozen=True, slots=True)
class Groundedness:
    """Whether the prompt supports one rule.

    Attributes:
        rule: its id.
        status: ``unknown`` where neither words nor a judge could tell.
        how: ``quote``, ``near-quote``, ``judge:`` with the model's label, or ``none``.
        reason: in words.
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
        instructions: the owner's note for the judge.

    Raises:
        ModelError: of a kind that holds for the whole judge.
    """
    text = prompt.text()
    decided = {rule.id: by_quote(rule, text) for rule in rules}
    undecided = [rule for rule in rules if decided[rule.id] is None]
    if role_model is not None:
        judge = role_model

        async def ask(rule: Rule) -> Groundedness:
            rendered = render(
                TEMPLATE, prompt=text, rule=rule.rule, source=rule.source or "", instructions=instructions
            )
            value = (await judge.ask(rendered, GroundedReply, stage=STAGE)).value
            status = "unknown" if value.verdict == "unclear" else value.verdict
            return Groundedness(rule.id, status, f"judge:{judge.label}", value.reason.strip())

        nothing: Groundedness | None = None
        judged = await map_requests(STAGE, judge.label, undecided, ask, emit, default=nothing)
        decided.update({rule.id: answer for rule, answer in zip(undecided, judged, strict=True)})
    how = "none" if role_model is None else f"judge:{role_model.label}"
    why = "its quoted words do not settle it" if role_model is None else "its answer could not be read"
    return [decided[rule.id] or Groundedness(rule.id, "unknown", how, why) for rule in rules]


def by_quote(rule: Rule, prompt_text: str) -> Groundedness | None:
    """What the quoted words say of a rule: that it is grounded, or nothing. They never say that it is not.

    A quotation may leave words out ("...") and may have a letter wrong; each part of it has to be in the prompt.
    """
    parts = quote_match.fragments(rule.source or "")
    if _weight("".join(parts)) < SHORTEST:
        return None
    how = quote_match.match_fragments(parts, quote_match.normalize(prompt_text))
    if how is None:
        return None
    nearly = ", nearly as quoted" if how == "near" else ""
    return Groundedness(rule.id, "yes", HOW[how], f"the words that it quotes are in the prompt{nearly}")


def _weight(text: str) -> int:
    """Letters and digits, those of scripts without letter case twice, since they say more each."""
    letters = [char for char in text if char.isalnum()]
    return sum(2 if char.isalpha() and char.upper() == char.lower() else 1 for char in letters)
