"""A stored reply as JSON texts, and what may be wrong with them."""

from __future__ import annotations

import json

from pydantic import ValidationError

from promptpex.core.ids import canonical
from promptpex.core.records import Completion, Request
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
