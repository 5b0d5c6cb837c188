"""Prompts and versions for tests."""

from __future__ import annotations

from promptpex.core.ids import text_digest
from promptpex.core.records import Message, PromptVersion


def version(name: str, system: str, *, user: str = "") -> PromptVersion:
    """A version with a system message, and a user message where one is given."""
    turns = [Message(role="system", content=system)]
    turns += [Message(role="user", content=user)] if user else []
    return PromptVersion(name=name, messages=tuple(turns), fingerprint=text_digest(system + user))
