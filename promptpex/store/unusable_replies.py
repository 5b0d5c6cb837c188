"""Whether a stored reply was of any use."""

from __future__ import annotations

import json
from collections.abc import Iterable

from promptpex.core.records import Completion, Request
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
        """The ids of the useless ones."""
        return [row_id for row_id, request_id in self._useless.items() if request_id not in self._repaired]


def useless_replies(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    """The ids of the useless ones among rows of id, request and completion."""
    useless = UselessReplies()
    for row in rows:
        useless.add(*row)
    return useless.ids()
