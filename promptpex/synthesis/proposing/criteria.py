"""Criteria: what has to be true of a good answer because of what a version added, by the author (section 3.2).

A sentence that an earlier version added already, in the same words, is not asked about again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from promptpex.codecs.text.wording import cut
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.ids import text_digest
from promptpex.core.records import OUTPUT_SUBJECT, Criterion, Delta, Means, Prompt
from promptpex.core.stage_templates import Rendered, render
from promptpex.core.translation import stored, stored_n
from promptpex.llm.model_in_role import RoleModel, map_requests
from promptpex.llm.schemas import list_up_to, shortened
from promptpex.synthesis.history.categories import AnyCategory, Pack, Source, ask_about, ask_packs, packs_of, portion_of
from promptpex.synthesis.history.versions import same_sentence
from promptpex.synthesis.proposing.graded_examples import GradedExamples
from promptpex.synthesis.proposing.replies import ask_list, free_ids, free_name, slug

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
    """What the author wrote down."""

    criteria: tuple[Criterion, ...] = ()
    asked: tuple[str, ...] = ()


def sentence_digest(text: str) -> str:
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


INFER = "infer"
NOTES = "notes"
MOST = 7
"""Criteria of a reply."""
MOST_BAD = 12
"""Bad outputs that a request for criteria from notes shows."""
LONGEST_CRITERION = 1_000

TITLES_TAKEN = frozenset({OUTPUT_SUBJECT})
"""Ids that no criterion may have: a grade on the whole output has it as its subject."""


def _as_type(value: object) -> object:
    """The kind of candidates that a reply means; anything else is left to both."""
    return value if value in ("code", "judge") else "both"


class SuggestedReply(BaseModel):
    """A criterion, whatever it comes from."""

    title: Annotated[str, shortened(200)] = ""
    criterion: Annotated[str, shortened(LONGEST_CRITERION), Field(min_length=1)]
    type: Annotated[Means, BeforeValidator(_as_type)] = "both"
    told_from: Literal["output", "input and output", "something else"] = "output"

    def evidence_fields(self, grades: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
        """What it rests on, as fields of a criterion."""
        return {}


class InferredReply(SuggestedReply):
    """A criterion that is inferred from a prompt."""

    source: Annotated[str, shortened(1000)] = ""

    def evidence_fields(self, grades: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
        return {"source": self.source.strip()}


class NoteReply(SuggestedReply):
    """A criterion behind notes."""

    answers: list_up_to(str, MOST_BAD)  # type: ignore[valid-type]

    def evidence_fields(self, grades: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
        return {"notes": tuple(dict.fromkeys(one for name in self.answers for one in grades.get(name.strip(), ())))}


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What came of asking."""

    criteria: tuple[Criterion, ...] = ()
    repeated: int = 0
    beyond: tuple[str, ...] = ()
    answered: bool = True

    def notice(self) -> str:
        """What was left out, in words; empty where nothing was."""
        parts = []
        if self.repeated:
            repeated = stored_n(
                "{count} suggestion repeated another one",
                "{count} suggestions repeated another one",
                self.repeated,
            )
            parts.append(repeated)
        if self.beyond:
            dropped_sentence = stored_n(
                "{count} suggestion that no output can show, such as: {example}",
                "{count} suggestions that no output can show, such as: {example}",
                len(self.beyond),
                example=cut(self.beyond[0], 120),
            )
            parts.append(dropped_sentence)
        return "; ".join(parts)


async def suggest_criteria(
    author: RoleModel,
    prompt: Prompt,
    graded: GradedExamples | None = None,
    *,
    known: Sequence[Criterion] = (),
    taken: Collection[str] = (),
    instructions: str = "",
    turn: int = 0,
    emit: Listener = ignore_events,
) -> Suggestions:
    """Criteria that the author infers from the prompt alone; with graded outputs those behind what people said of the
    bad ones, none where none is bad."""
    if graded is not None and not graded.bad:
        return Suggestions()
    stage, reply = (INFER, InferredReply) if graded is None else (NOTES, NoteReply)
    rendered = render(
        f"synthesis/{stage}",
        prompt=prompt.text(),
        description=prompt.description,
        known=[one.text for one in known[:MOST_KNOWN]],
        limit=MOST,
        instructions=instructions,
        **({} if graded is None else {"bad": graded.bad, "good": graded.good}),
    )

    async def ask(rendered: Rendered) -> Sequence[SuggestedReply]:
        return (await ask_list(author, rendered, reply, MOST, stage=stage, rescue=True, repeat=turn)).items

    (items,) = await map_requests(stage, author.label, [rendered], ask, emit, default=None)
    grades = {one.id: one.grades for one in graded.bad} if graded is not None else {}
    return _suggestions(items, known, taken, grades, emit)


def criterion_id(words: str, taken: Collection[str]) -> str:
    """An id for a criterion that is called so, which no other subject of grades has."""
    used = {*taken, *TITLES_TAKEN}
    return free_name(slug(words) or "criterion", used)


def _suggestions(
    items: Sequence[SuggestedReply] | None,
    known: Sequence[Criterion],
    taken: Collection[str],
    grades: Mapping[str, tuple[str, ...]],
    emit: Listener,
) -> Suggestions:
    """The criteria of a reply that are new and can be told from inputs and output; what is left out is said."""
    ids = {*taken, *(one.id for one in known)}
    texts = {same_sentence(one.text) for one in known}
    new_criteria: list[Criterion] = []
    dropped: list[str] = []
    repeated = 0
    for item in items or ():
        text = " ".join(item.criterion.split())
        if item.told_from == "something else":
            dropped.append(text)
        elif not text or same_sentence(text) in texts:
            repeated += 1
        else:
            name = criterion_id(item.title, ids)
            ids.add(name)
            texts.add(same_sentence(text))
            new_criteria.append(
                Criterion.model_validate({"id": name, "text": text, "by": item.type, **item.evidence_fields(grades)})
            )
    suggestions = Suggestions(tuple(new_criteria), repeated, tuple(dropped), answered=items is not None)
    if notice := suggestions.notice():
        emit(Notice(stored("criteria left out: {reason}", reason=notice)))
    return suggestions
