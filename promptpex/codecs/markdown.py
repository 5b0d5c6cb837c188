"""Foreign text in Markdown (CommonMark 0.31, GitHub's tables and links): it is shown as it is and makes nothing."""

from __future__ import annotations

import re

from promptpex.codecs.text.control_characters import visible

_SIGN = re.compile(r"[\\`*_\[\]<>|~&$#!]|:(?=//)|(?<=www)\.|@")
_BEGINNING = re.compile(r"^(?:[-+=](?=[-+=\s]|$)|\d{1,9}(?=[.)]))")
"""What begins a list, a heading or a rule where a line begins with it."""


def prose(text: str) -> str:
    """A text on one line, its signs escaped: no markup, HTML, link, mention or end of a table's cell comes of it."""
    line = visible(" ".join(text.split()))
    begun = _BEGINNING.match(line)
    if begun is None:
        return _escaped(line)
    sign = begun.group()
    head = f"{sign}\\{line[len(sign)]}" if sign.isdigit() else f"\\{sign}"
    return head + _escaped(line[len(sign) + sign.isdigit() :])


def block(text: str, info: str = "text") -> str:
    """A text of any lines as a fenced block, which nothing in it ends."""
    visible_text = visible(text.replace("\r\n", "\n").replace("\r", "\n"))
    longest = max((len(run) for run in re.findall(r"`+", visible_text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{visible_text}\n{fence}"


def _escaped(line: str) -> str:
    return _SIGN.sub(lambda sign: f"\\{sign.group()}", line)
