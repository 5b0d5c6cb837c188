"""JSON with comments, as documents of other tools show it: ``//`` to the end of the line, and ``/* */``."""

from __future__ import annotations

import json
import re

_PART = re.compile(r'"(?:[^"\\\n]|\\.)*"|(//[^\n]*|/\*[\s\S]*?\*/)')
"""A string, or a comment; whichever begins first."""


def without_comments(text: str) -> str:
    """The text with blanks in place of comments, every line where it was; what is not JSON without them stays as it is,
    since the same signs mean something else in YAML.

    Args:
        text: of a file that may be JSON or YAML.
    """
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")) or not ("//" in text or "/*" in text):
        return text
    plain = _PART.sub(lambda part: part.group() if part.group(1) is None else _blank(part.group()), text)
    try:
        json.loads(plain.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return text
    return plain


def _blank(comment: str) -> str:
    return re.sub(r"[^\n]", " ", comment)
