"""Counted things in sentences."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 8
"""Ids that a sentence names one by one."""


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """``1 word``, ``2 words``; ``nouns`` is the plural where an s does not make it."""
    return f"{count} {noun}" if count == 1 else f"{count} {nouns or f'{noun}s'}"


def named(ids: Sequence[str]) -> str:
    """``c1, c2``; of many the first few."""
    return ", ".join(ids[:NAMED]) + (", ..." if len(ids) > NAMED else "")
