"""A stored reply as JSON texts, what may be wrong with them, and copying the replies of one store into another.

Ids are gone through in their order, some at a time; the target says which of them it lacks, and those alone are read
and added. So a copy that was cut short, however it ended, goes on where it was when it is started again, and what
others add meanwhile does no harm. Replies that the target has stay as they are there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pydantic import ValidationError

from promptpex.core.ids import canonical
from promptpex.core.records import Completion, Request
from promptpex.core.response_store import ResponseStore, StoreEntry
from promptpex.core.translation import stored
from promptpex.llm.structured import is_useless, repaired_by


class UselessReplies:
    """Those of many replies that are empty, cut off, withheld, or not in the form that was asked for.

    One that a repair turn put right is of use, as long as that turn's reply is there.
    """

    def __init__(self) -> None:
        self._useless: dict[str, str] = {}
        self._repaired: set[str] = set()

    def add(self, row_id: str, asked: str | bytes, reply: str | bytes) -> None:
        """A reply as the store holds it: its id, request and completion; what cannot be read is of no use either."""
        try:
            request, completion = Request.model_validate(json.loads(asked)), Completion.model_validate_json(reply)
            if is_useless(request, completion):
                self._useless[row_id] = request.id
            elif (first := repaired_by(request)) is not None:
                self._repaired.add(first.id)
        except (ValueError, TypeError, AttributeError, RecursionError):
            self._useless[row_id] = ""

    def ids(self) -> list[str]:
        return [row_id for row_id, request_id in self._useless.items() if request_id not in self._repaired]


def useless_replies(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    useless = UselessReplies()
    for row in rows:
        useless.add(*row)
    return useless.ids()


def request_text(plain: dict[str, object]) -> str:
    """A request's JSON that UTF-8 can hold: escaped where it has lone surrogates."""
    text = canonical(plain)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return text


def wrong_with(request_id: str, scrubbed: bool | int, request: str | bytes, completion: str | bytes) -> str | None:
    """What is wrong with an entry; None when all is well."""
    try:
        Completion.model_validate_json(completion)
    except ValidationError:
        return stored("its answer cannot be read")
    try:
        request_record = Request.model_validate(json.loads(request))
    except (ValueError, TypeError, RecursionError):
        return stored("its request cannot be read")
    if not scrubbed and request_record.id != request_id:
        return stored("its request has another id")
    return None


def entry_of(row: tuple[str, float, bool | int, str | bytes, str | bytes]) -> StoreEntry | None:
    """An entry from its id, time, mark, request and completion; None where it cannot be read."""
    request_id, created_at, scrubbed, request, completion = row
    try:
        request_record = Request.model_validate(json.loads(request))
        answer = Completion.model_validate_json(completion)
    except (ValueError, TypeError, RecursionError):
        return None
    return StoreEntry(request_id, created_at, request_record, answer, bool(scrubbed))


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
