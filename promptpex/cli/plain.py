"""Foreign text on a terminal: shown, never obeyed."""

from __future__ import annotations

import unicodedata


def visible(text: str) -> str:
    """The text with control characters, but for newlines and tabs, shown as U+FFFD."""
    return "".join("\ufffd" if _controls(letter) else letter for letter in text)


def _controls(letter: str) -> bool:
    return letter not in "\n\t" and unicodedata.category(letter) in ("Cc", "Cs")
