"""Requests as data that may be written down: plain, and without keys."""

from __future__ import annotations

from typing import Any

from promptpex.llm.secrets import scrub
from promptpex.records import Request


def readable(request: Request) -> tuple[dict[str, Any], bool]:
    """The request as JSON-ready data with keys taken out, and whether there were any.

    Each text is scrubbed by itself, so that the data stays sound; a request that held a key has lost its id.
    """
    plain = request.plain()
    clean = _scrubbed(plain)
    assert isinstance(clean, dict)
    return clean, clean != plain


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return scrub(value) if len(value) >= 8 else value
    if isinstance(value, dict):
        return {key: _scrubbed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_scrubbed(each) for each in value]
    return value
