"""A stored reply as JSON texts, and what may be wrong with them."""

from __future__ import annotations

import json

from pydantic import ValidationError

from promptpex.core.ids import canonical
from promptpex.core.records import Completion, Request
from promptpex.core.response_store import StoreEntry
from promptpex.core.translation import stored


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
