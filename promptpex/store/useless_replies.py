"""Whether a stored reply was of any use."""

from __future__ import annotations

import json
from collections.abc import Iterable

from promptpex.core.records import Completion, Request
from promptpex.llm.structured import is_useless, repaired_by


def useless_replies(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    """The ids of replies that are empty, cut off, withheld, or not in the form that was asked for.

    One that a repair turn put right is of use, as long as that turn's reply is there.

    Args:
        rows: id, request and completion, as the store holds them; what cannot be read is of no use either.
    """
    useless: dict[str, str] = {}
    repaired: set[str] = set()
    for row_id, asked, reply in rows:
        try:
            request, completion = Request.model_validate(json.loads(asked)), Completion.model_validate_json(reply)
            if is_useless(request, completion):
                useless[row_id] = request.id
            elif (first := repaired_by(request)) is not None:
                repaired.add(first.id)
        except (ValueError, TypeError, AttributeError, RecursionError):
            useless[row_id] = ""
    return [row_id for row_id, request_id in useless.items() if request_id not in repaired]
