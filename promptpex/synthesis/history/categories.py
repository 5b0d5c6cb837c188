"""What changes of a prompt are about: SPADE's taxonomy, and authors who categorise deltas by it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator

from promptpex.codecs.text.comparing import fragments, match_fragments, normalize
from promptpex.core.errors import ModelError
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import CategorisedPhrase, Category, Change, Delta, Prompt
from promptpex.core.stage_templates import render
from promptpex.core.translation import stored, stored_n
from promptpex.llm.model_in_role import SMALLER_MAY_HELP, RoleModel, map_requests
from promptpex.llm.schemas import shortened
from promptpex.synthesis.proposing.replies import Item, ask_list

Group = Literal["structural", "content", "other"]
"""The first level."""

# Groups as reports show them; what other categories are called is a title.
stored("structural")
stored("content")
stored("other")


@dataclass(frozen=True, slots=True)
class CategoryInfo:
    """One category."""

    name: Category
    group: Group
    title: str
    meaning: str
    aliases: tuple[str, ...] = ()


TAXONOMY: tuple[CategoryInfo, ...] = (
    CategoryInfo(
        "response-format", "structural", stored("Response format"),
        "the shape of the answer: JSON, a list, Markdown, headings, one line, a fixed first or last part",
        ("response format instruction", "presentation format", "output format", "format", "formatting", "structure"),
    ),
    CategoryInfo(
        "example-demonstration", "structural", stored("Example"),
        "an example of an input with its answer, or of how an answer should look",
        ("example", "demonstration", "few shot", "few shot example"),
    ),
    CategoryInfo(
        "prompt-clarification", "structural", stored("Clarification"),
        "the same wish in other words: made clearer, shorter or more emphatic, without a new demand",
        ("prompt rephrasing", "prompt clarification rephrasing", "clarification", "rephrasing", "rewording"),
    ),
    CategoryInfo(
        "workflow-description", "content", stored("Workflow"),
        "how to get to the answer: steps and their order, what to do in which case, the role to play",
        ("workflow", "process", "steps", "procedure"),
    ),
    CategoryInfo(
        "data-integration", "content", stored("Data"),
        "what is fed in: a new variable, or what is to be done with one",
        ("data placeholders", "data placeholder", "data", "placeholder", "context", "input data"),
    ),
    CategoryInfo(
        "quantity", "content", stored("Quantity"),
        "how many or how long: words, items, sentences, a range, a limit",
        ("quantity instruction", "count", "counts", "length", "number"),
    ),
    CategoryInfo(
        "inclusion", "content", stored("Inclusion"),
        "what the answer has to hold: a fact, a word, a part, a reference to the input",
        ("inclusion instruction", "include", "includes", "required content"),
    ),
    CategoryInfo(
        "exclusion", "content", stored("Exclusion"),
        "what the answer must not hold or do: topics, words, claims, kinds of answers",
        ("exclusion instruction", "exclude", "excludes", "forbidden content", "avoidance"),
    ),
    CategoryInfo(
        "qualitative-criteria", "content", stored("Quality"),
        "how good the answer has to be in a respect that is no matter of yes or no by itself: tone, clarity, truth",
        ("qualitative assessment", "qualitative", "quality", "style", "tone"),
    ),
    CategoryInfo("other", "other", stored("Other"), "none of these", ("none", "miscellaneous")),
)  # fmt: skip
"""Every category, in the order in which they are shown."""

_BY_NAME = {info.name: info for info in TAXONOMY}


def _key(name: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", name).split()).casefold()


_BY_ANY_NAME: dict[str, Category] = {
    _key(name): info.name for info in TAXONOMY for name in (info.name, info.title, *info.aliases)
}


def info_of(category: Category) -> CategoryInfo:
    return _BY_NAME[category]


def category_of(name: object) -> Category:
    """The category of this name, in whatever spelling; ``other`` where there is none."""
    return _BY_ANY_NAME.get(_key(name), "other") if isinstance(name, str) else "other"


def in_lines() -> str:
    return "\n".join(f"- {info.name}: {info.meaning}" for info in TAXONOMY)


MOST_SENTENCES, MOST_CHARACTERS = 24, 6000
"""Of the changes in one request: what a careful reader goes through phrase by phrase."""

Reply = TypeVar("Reply")


@dataclass(frozen=True, slots=True)
class DeltaPart:
    """Some changes of one delta."""

    version: str
    changes: tuple[Change, ...]

    def text(self) -> str:
        return "\n".join(map(as_line, self.changes))

    def holds(self, source: str, *, tags: Iterable[str] = ("added", "removed")) -> bool:
        """Whether these words stand in the changes with these tags, a letter aside."""
        texts = [change.text for change in self.changes if change.tag in tags]
        return match_fragments(fragments(source), normalize(" ".join(texts))) is not None


Pack = Sequence[DeltaPart]
"""What one request asks about."""


def packs_of(deltas: Iterable[Delta]) -> list[Pack]:
    """The changes of these deltas in requests, none split that fits into one."""
    packs: list[list[DeltaPart]] = []
    for portion in (portion for delta in deltas for portion in _portions(delta)):
        if packs and _fits([*packs[-1], portion]):
            packs[-1].append(portion)
        else:
            packs.append([portion])
    return list(packs)


async def ask_packs(
    stage: str, label: str, packs: Sequence[Pack], ask: Callable[[Pack], Awaitable[Reply]], emit: Listener
) -> list[tuple[Pack, Reply]]:
    """What ``ask`` gives for each pack; where its reply is of no use, for its halves. What fails alone is noticed and
    left out.
    """

    async def halved(pack: Pack) -> list[tuple[Pack, Reply]]:
        try:
            return [(pack, await ask(pack))]
        except SMALLER_MAY_HELP as error:
            if len(pack) == 1:
                raise
            message = stored(
                "{stage}: an unusable reply ({reason}) is requested again in parts", stage=stage, reason=error.reason
            )
            emit(Notice(message))
        middle = len(pack) // 2
        results: list[tuple[Pack, Reply]] = []
        for half in (pack[:middle], pack[middle:]):
            try:
                results += await halved(half)
            except ModelError as error:
                if error.model_wide:
                    raise
                message = stored(
                    "{stage}: {label} gave no usable reply ({reason}): {part}",
                    stage=stage,
                    label=label,
                    reason=error.reason,
                    part=error,
                )
                emit(Notice(message, "warning"))
        return results

    nothing: list[tuple[Pack, Reply]] = []
    replies = await map_requests(stage, label, packs, halved, emit, default=nothing)
    return [each for some in replies for each in some]


def _portions(delta: Delta) -> list[DeltaPart]:
    parts: list[list[Change]] = []
    for change in delta.changes:
        if parts and _fits([DeltaPart("", (*parts[-1], change))]):
            parts[-1].append(change)
        else:
            parts.append([change])
    return [DeltaPart(delta.version, tuple(part)) for part in parts]


def _fits(portions: Sequence[DeltaPart]) -> bool:
    changes = [change for portion in portions for change in portion.changes]
    return len(changes) <= MOST_SENTENCES and sum(len(change.text) for change in changes) <= MOST_CHARACTERS


def as_line(change: Change) -> str:
    where = "" if change.role == "system" else f"({change.role} turn) "
    return f"{'+' if change.tag == 'added' else '-'} {where}{change.text}"


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
    """The author's list about some changes, which its template shows with the names d1, d2 and so on."""
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
    """The portion that a reply means: the one that it names if the words stand there, else the first where they do."""
    tags = ("added",) if added else ("added", "removed")
    named = [portion for number, portion in enumerate(pack, 1) if f"d{number}" == name.strip().casefold()]
    return next((portion for portion in (*named, *pack) if portion.holds(source, tags=tags)), None)


MOST_PHRASES = 1000
"""Phrases that are looked for; each takes one pass over the prompt."""
_SHORTEST = 2


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the prompt's text, with the categories that its words show; none for what lies between."""

    text: str
    categories: tuple[Category, ...] = ()


def tagged(text: str, deltas: Iterable[Delta]) -> tuple[Segment, ...]:
    """The text in pieces, which joined are the text; where phrases overlap, the one that begins first, the longer."""
    phrases = dict.fromkeys(phrase for delta in deltas for phrase in delta.categories)
    places: dict[tuple[int, int], dict[Category, None]] = {}
    for phrase in list(phrases)[:MOST_PHRASES]:
        for span in _places(text, phrase):
            places.setdefault(span, {})[phrase.category] = None
    segments: list[Segment] = []
    at = 0
    for (start, end), categories in sorted(places.items(), key=lambda item: (item[0][0], -item[0][1])):
        if start < at:
            continue
        segments += [Segment(text[at:start])] if start > at else []
        segments.append(Segment(text[start:end], tuple(categories)))
        at = end
    return (*segments, Segment(text[at:])) if at < len(text) else tuple(segments)


def as_text(segments: Iterable[Segment]) -> str:
    """The pieces as one text, each tagged one in square brackets with its categories behind it."""
    return "".join(
        f"[{segment.text}]({', '.join(segment.categories)})" if segment.categories else segment.text
        for segment in segments
    )


def _places(text: str, phrase: CategorisedPhrase) -> Iterator[tuple[int, int]]:
    words = phrase.source.split()
    if sum(map(len, words)) >= _SHORTEST:
        pattern = r"\s+".join(map(re.escape, words))
        yield from (match.span() for match in re.finditer(pattern, text, re.IGNORECASE))
