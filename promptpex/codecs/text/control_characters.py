"""What a terminal or a build server obeys instead of showing it, and how foreign text is kept from using it.

Control characters of both sets (C0, C1: ISO 6429) move the cursor, set titles and colours; the directional ones
(Unicode Standard Annex 9) show a text in another order than it has. Build servers take commands from what steps print:
lines that begin with ``::`` and a name, ``##[`` and ``##vso[`` (GitHub Actions, Azure Pipelines, TeamCity).
"""

from __future__ import annotations

import re

_DIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
OBEYED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTIONAL}\ud800-\udfff]")
"""All of them but for newline and tab; halves of characters too, which nothing can show."""
_IN_JSON = re.compile(f"[\x7f-\x9f\u2028\u2029{_DIRECTIONAL}]")


_LONG_WORD = 40
"""Letters after which a line may be folded inside of a word, so that its rest begins a line."""
_COMMAND = re.compile(rf"(?:(?<!\S)|(?<=\S{{{_LONG_WORD}}})):(?=:\w)|#(?=#(?:\[|vso\[|teamcity\[))", re.I)
_COMMAND_IN_DATA = re.compile(r"^[^\S\r\n]*:(?=:)|#(?=#(?:\[|vso\[|teamcity\[))", re.I | re.M)


def visible(text: str) -> str:
    """The text with each of these signs shown as U+FFFD and a blank inside of each command, wherever its lines are
    folded; newlines and tabs stay."""
    return _COMMAND.sub(r"\g<0> ", OBEYED.sub("\ufffd", text))


def unobeyed(data: str) -> str:
    """The same for data that are printed as they are: what lies inside a line stays, and so do its ends."""
    lines = data.split("\r\n")
    return "\r\n".join(_COMMAND_IN_DATA.sub(r"\g<0> ", OBEYED.sub("\ufffd", line)) for line in lines)


def escaped(json_text: str) -> str:
    """JSON that means the same, with these signs, and what some readers take for a line end, written as escapes."""
    if "##" in json_text:
        json_text = _COMMAND_IN_DATA.sub(r"\\u0023", json_text)
    if json_text.isascii() and "\x7f" not in json_text:
        return json_text
    return _IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", json_text)
