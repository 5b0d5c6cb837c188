"""Signs that a terminal obeys instead of showing them, and how foreign text is kept from using them.

Control characters of both sets (C0, C1: ISO 6429) move the cursor, set titles and colours; the directional ones
(Unicode Standard Annex 9) show a text in another order than it has.
"""

from __future__ import annotations

import re

_DIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
OBEYED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTIONAL}\ud800-\udfff]")
"""All of them but for newline and tab; halves of characters too, which nothing can show."""
_IN_JSON = re.compile(f"[\x7f-\x9f\u2028\u2029{_DIRECTIONAL}]")


def visible(text: str) -> str:
    """The text with each of these signs shown as U+FFFD; newlines and tabs stay."""
    return OBEYED.sub("\ufffd", text)


def escaped(json_text: str) -> str:
    """JSON that means the same, with these signs, and what some readers take for a line end, written as escapes."""
    if json_text.isascii() and "\x7f" not in json_text:
        return json_text
    return _IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", json_text)
