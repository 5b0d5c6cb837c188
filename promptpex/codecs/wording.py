"""Counted things in sentences."""

from __future__ import annotations


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """``1 word``, ``2 words``; ``nouns`` is the plural where an s does not make it."""
    return f"{count} {noun}" if count == 1 else f"{count} {nouns or f'{noun}s'}"
