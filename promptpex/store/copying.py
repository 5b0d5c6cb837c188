"""Copying the replies of one store into another, of whatever kind.

Ids are gone through in their order, some at a time; the target says which of them it lacks, and those alone are read
and added. So a copy that was cut short, however it ended, goes on where it was when it is started again, and what
others add meanwhile does no harm. Replies that the target has stay as they are there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from promptpex.core.response_store import ResponseStore

IDS_PER_PAGE = 500
ENTRIES_PER_TURN = 100
"""Replies in memory at a time."""

_ID = re.compile(r"[0-9a-f]{64}")
"""A request's id. A store of a stranger's may hold anything."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of the replies of the source: ``copied``, ``there`` in the target before, or ``unreadable``."""

    copied: int = 0
    there: int = 0
    unreadable: int = 0

    @property
    def seen(self) -> int:
        return self.copied + self.there + self.unreadable


async def copy_replies(
    source: ResponseStore, target: ResponseStore, on_progress: Callable[[Copied], None] = lambda copied: None
) -> Copied:
    """Copies what the target lacks.


    Raises:
        StoreError: one of the two cannot be read or written; what was copied until then is in the target.
    """
    copied, after = Copied(), ""
    while page := await source.ids(after, IDS_PER_PAGE):
        after = page[-1]
        ids = [each for each in page if _ID.fullmatch(each)]
        missing = await target.lacks(ids)
        copied = replace(
            copied,
            there=copied.there + len(ids) - len(missing),
            unreadable=copied.unreadable + len(page) - len(ids),
        )
        for at in range(0, len(missing), ENTRIES_PER_TURN):
            copied = await _some(source, target, missing[at : at + ENTRIES_PER_TURN], copied)
            on_progress(copied)
        on_progress(copied)
    return copied


async def _some(source: ResponseStore, target: ResponseStore, ids: list[str], copied: Copied) -> Copied:
    entries = await source.read(ids)
    new = await target.add(entries)
    return Copied(copied.copied + new, copied.there + len(entries) - new, copied.unreadable + len(ids) - len(entries))
