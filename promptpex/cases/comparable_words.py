"""The words of a text in a form that can be compared, in any language and script."""

from __future__ import annotations

import re
import unicodedata

from promptpex.core.ids import text_digest
from promptpex.core.sentences import normal_form, split


def folded(text: str) -> str:
    """The text's words alone, joined by single blanks: no case, no punctuation, no width variants (NFKC)."""
    return " ".join(words(text))


def words(text: str) -> list[str]:
    plain = normal_form("NFKC", text).casefold()
    return "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in plain).split()


def sentences(text: str) -> list[str]:
    """The text parted at line breaks and behind the marks that end a sentence, blanks trimmed, empty parts left out."""
    parts = (part.strip() for line in text.splitlines() for part in split(line, small_letters=True))
    return [part for part in parts if part]


def slug(name: str) -> str:
    """A name as it may stand in a case's id: itself where it can, else its ASCII letters and a hash of it."""
    if re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        return name
    ascii_part = normal_form("NFKD", name).encode("ascii", "ignore").decode()
    slug_text = re.sub(r"[^A-Za-z0-9_.]+", "-", ascii_part).strip("-")
    return f"{slug_text}-{text_digest(name, 6)}" if slug_text else text_digest(name, 6)
