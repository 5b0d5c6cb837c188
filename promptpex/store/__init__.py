"""The response store: every reply is committed here before anything else happens with it."""

from __future__ import annotations

from promptpex.store.replies import Entry, Problem, ReplyStore, Stats

__all__ = ["Entry", "Problem", "ReplyStore", "Stats"]
