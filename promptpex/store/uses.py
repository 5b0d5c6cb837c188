"""Whether a stored reply was of any use."""

from __future__ import annotations

import json
from typing import Any

from promptpex.codecs.replies import ReplyError, read_json_reply
from promptpex.errors import ModelError
from promptpex.llm.answers import usable
from promptpex.records import Completion


def of_no_use(request: str, completion: str) -> bool:
    """Whether a reply is empty, cut off, withheld, or no JSON of the form that its request asks for.

    Args:
        request, completion: as the store holds them; what cannot be read is of no use either.
    """
    try:
        text = usable(Completion.model_validate_json(completion), "")
        schema = json.loads(request).get("reply_schema")
        return schema is not None and not _fits(read_json_reply(text).value, schema)
    except (ModelError, ReplyError, ValueError, AttributeError, RecursionError):
        return True


def _fits(value: Any, schema: Any) -> bool:
    """Whether the value has what the schema asks for at its top; a bare list may stand for its only field."""
    wanted = schema.get("required", [])
    if isinstance(value, list):
        return len(schema.get("properties", {})) == 1
    return isinstance(value, dict) and all(name in value for name in wanted)
