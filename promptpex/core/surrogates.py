"""Lone surrogates: halves of a character, which UTF-8, and so no file or request, can carry (Unicode 15, section 3.8).

Python's texts can hold them, and JSON can write them as an escape. One policy for each place:

- files that people write: refused, with the line (``has_surrogate``);
- JSON that we write: kept as JSON's own escape, which reads back the same (``escape_surrogates``);
- what is shown, or sent to a model: U+FFFD in the place of each (``replace_surrogates``);
- hashes: kept as they are (Python's ``surrogatepass``, in ``core.ids``).

It is in ``core`` since records need it.
"""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def has_surrogate(text: str) -> bool:
    return not text.isascii() and _SURROGATE.search(text) is not None


def escape_surrogates(json_text: str) -> str:
    if json_text.isascii():
        return json_text
    return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", json_text)


def replace_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone surrogate; two halves that make a character become it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if has_surrogate(text) else text
