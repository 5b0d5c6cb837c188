"""Deltas as authors are asked about them: large ones in portions, small ones several in a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from promptpex.codecs.text.comparing import fragments, match_fragments, normalize
from promptpex.core.errors import ModelError
from promptpex.core.events import Listener, Notice
from promptpex.core.records import Change, Delta
from promptpex.core.translation import stored
from promptpex.llm.map_requests import SMALLER_MAY_HELP, map_requests

MOST_SENTENCES, MOST_CHARACTERS = 24, 6000
"""Of the changes in one request: what a careful reader goes through phrase by phrase."""

Reply = TypeVar("Reply")


@dataclass(frozen=True, slots=True)
class DeltaPart:
    """Some changes of one delta.

    Attributes:
        version: the name of the version that made them.
        changes: in order.
    """

    version: str
    changes: tuple[Change, ...]

    def text(self) -> str:
        """The changes, one on a line, with their signs."""
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

    Raises:
        ModelError: of a kind that holds for the whole model.
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
    """A change with its sign, and its turn unless that is the system's."""
    where = "" if change.role == "system" else f"({change.role} turn) "
    return f"{'+' if change.tag == 'added' else '-'} {where}{change.text}"
