"""Criteria: what has to be true of a good answer because of what a version added, by the author (section 3.2).

A sentence that an earlier version added already, in the same words, is not asked about again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field

from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.ids import text_digest
from promptpex.core.records import Criterion, Delta, Prompt
from promptpex.core.translation import stored_n
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.schemas import shortened
from promptpex.synthesis.candidate_names import free_ids
from promptpex.synthesis.history.categorise import AnyCategory, Source, ask_about, portion_of
from promptpex.synthesis.history.delta_batches import Pack, ask_packs, packs_of
from promptpex.synthesis.history.deltas import same_sentence

STAGE = "criteria"
MOST_KNOWN = 60
"""Criteria that the author is shown so as not to repeat them."""


class CriterionReply(BaseModel):
    """One criterion with the words that it rests on."""

    change: str = ""
    source: Source
    category: AnyCategory
    criterion: Annotated[str, shortened(1000), Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class NewCriteria:
    """What the author wrote down.

    Attributes:
        criteria: new ones, with ids that are free.
        asked: digests of the added sentences that need no asking again; of a reply that is all wrong, none.
    """

    criteria: tuple[Criterion, ...] = ()
    asked: tuple[str, ...] = ()


def sentence_digest(text: str) -> str:
    """What a sentence that was asked about is remembered by."""
    return text_digest(same_sentence(text), 12)


def unasked(deltas: Sequence[Delta], asked: Collection[str]) -> tuple[Delta, ...]:
    """The deltas without the added sentences that were asked about, here or before; those without new ones left out."""
    seen = set(asked)
    left: list[Delta] = []
    for delta in deltas:
        added = {change.text: sentence_digest(change.text) for change in delta.changes if change.tag == "added"}
        fresh = {text: digest for text, digest in added.items() if digest not in seen}
        seen.update(fresh.values())
        if fresh:
            shown_changes = [change for change in delta.changes if change.tag == "removed" or change.text in fresh]
            left.append(delta.replace(changes=tuple(shown_changes)))
    return tuple(left)


async def propose_criteria(
    author: RoleModel,
    prompt: Prompt,
    deltas: Sequence[Delta],
    *,
    known: Sequence[Criterion] = (),
    taken: Collection[str] = (),
    instructions: str = "",
    emit: Listener = ignore_events,
) -> NewCriteria:
    """Criteria for what these deltas added, as many as the author sees.

    One whose words were not added is left out, with a notice that counts them; so is one that repeats another.

    Args:
        deltas: as ``unasked`` gives them.
        known: criteria that there are.
        taken: ids that may not be given.
    """

    async def ask(pack: Pack) -> list[CriterionReply]:
        texts = [criterion.text for criterion in known[:MOST_KNOWN]]
        return await ask_about(
            author, prompt, pack, CriterionReply, stage=STAGE, instructions=instructions, known=texts
        )

    numbered = _GroundedCriteria(known, taken)
    asked_changes: list[str] = []
    for pack, replies in await ask_packs(STAGE, author.label, packs_of(deltas), ask, emit):
        usable = [numbered.add(pack, reply) for reply in replies]
        if any(usable) or not replies:
            asked_changes += _added(pack)
    if numbered.lost:
        message = stored_n(
            "{stage}: {count} criterion left out: the words it is based on were not added",
            "{stage}: {count} criteria left out: the words they are based on were not added",
            numbered.lost,
            stage=STAGE,
        )
        emit(Notice(message))
    return NewCriteria(tuple(numbered.criteria), tuple(dict.fromkeys(asked_changes)))


def _added(pack: Pack) -> list[str]:
    """The digests of the sentences that this pack asks about."""
    changes = [change for portion in pack for change in portion.changes]
    return [sentence_digest(change.text) for change in changes if change.tag == "added"]


class _GroundedCriteria:
    """Criteria of replies, each once, with free ids."""

    def __init__(self, known: Sequence[Criterion], taken: Collection[str]) -> None:
        self.criteria: list[Criterion] = []
        self.lost = 0
        self._ids = free_ids({criterion.id for criterion in known} | set(taken))
        self._texts = {same_sentence(criterion.text) for criterion in known}

    def add(self, pack: Pack, reply: CriterionReply) -> bool:
        """Takes a reply in unless it repeats another one; gives whether it rests on words that were added."""
        portion = portion_of(pack, reply.change, reply.source, added=True)
        text = " ".join(reply.criterion.split())
        if portion is None or not text:
            self.lost += 1
            return False
        if same_sentence(text) in self._texts:
            return True
        self._texts.add(same_sentence(text))
        criterion = Criterion(
            id=next(self._ids), text=text, category=reply.category, source=reply.source.strip(), version=portion.version
        )
        self.criteria.append(criterion)
        return True
