"""What the changes of a prompt are about, by the author: categories with the words that show them (section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import CategorisedPhrase, Category, Delta, Prompt
from promptpex.core.stage_templates import render
from promptpex.core.translation import stored_n
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.schemas import shortened
from promptpex.synthesis.history.delta_batches import DeltaPart, Pack, ask_packs, packs_of
from promptpex.synthesis.history.taxonomy import category_of, in_lines
from promptpex.synthesis.proposing.replies import Item, ask_list

STAGE = "categories"
LIMIT = 60
"""Items of one reply."""

AnyCategory = Annotated[Category, BeforeValidator(category_of)]
"""A category of a reply, by whatever name."""
Source = Annotated[str, shortened(2000)]
"""Words of a change that a reply quotes."""


class PhraseReply(BaseModel):
    """Words of a change, and the category that they show."""

    change: str = ""
    source: Source
    category: AnyCategory


async def categorise(
    author: RoleModel,
    prompt: Prompt,
    deltas: Sequence[Delta],
    *,
    instructions: str = "",
    emit: Listener = ignore_events,
) -> tuple[Delta, ...]:
    """The deltas with their categories; those that have some keep them.

    A category whose words are not in the changes is left out, with a notice that counts them.
    """
    todo = [delta for delta in deltas if delta.changes and not delta.categories]

    async def ask(pack: Pack) -> list[PhraseReply]:
        return await ask_about(author, prompt, pack, PhraseReply, stage=STAGE, instructions=instructions)

    phrases: dict[str, dict[CategorisedPhrase, None]] = {}
    unanswered = 0
    for pack, replies in await ask_packs(STAGE, author.label, packs_of(todo), ask, emit):
        for reply in replies:
            portion = portion_of(pack, reply.change, reply.source)
            if portion is None:
                unanswered += 1
                continue
            phrase = CategorisedPhrase(category=reply.category, source=reply.source.strip())
            phrases.setdefault(portion.version, {})[phrase] = None
    if unanswered:
        message = stored_n(
            "{stage}: {count} phrase left out: its words are not in the changes",
            "{stage}: {count} phrases left out: their words are not in the changes",
            unanswered,
            stage=STAGE,
        )
        emit(Notice(message))
    return tuple(
        delta.replace(categories=tuple(phrases[delta.version])) if delta.version in phrases else delta
        for delta in deltas
    )


async def ask_about(
    author: RoleModel,
    prompt: Prompt,
    pack: Pack,
    item: type[Item],
    *,
    stage: str,
    instructions: str,
    known: Sequence[str] | None = None,
) -> list[Item]:
    """The author's list about some changes, which its template shows with the names d1, d2 and so on.

    Args:
        item: what the list is of.
        known: texts that are not to be repeated; None: the stage's template has no place for them.

    Raises:
        ModelError: there is no usable reply.
    """
    rendered = render(
        f"synthesis/{stage}",
        prompt=prompt.text(),
        description=prompt.description,
        items=[{"id": f"d{number}", "text": portion.text()} for number, portion in enumerate(pack, 1)],
        categories=in_lines(),
        limit=LIMIT,
        instructions=instructions,
        **({} if known is None else {"known": known}),
    )
    return (await ask_list(author, rendered, item, LIMIT, stage=stage, rescue=len(pack) == 1)).items


def portion_of(pack: Pack, name: str, source: str, *, added: bool = False) -> DeltaPart | None:
    """The portion that a reply means: the one that it names if the words stand there, else the first where they do.

    Args:
        added: whether only words that were added count.
    """
    tags = ("added",) if added else ("added", "removed")
    named = [portion for number, portion in enumerate(pack, 1) if f"d{number}" == name.strip().casefold()]
    return next((portion for portion in (*named, *pack) if portion.holds(source, tags=tags)), None)
