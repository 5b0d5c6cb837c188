"""The sentences of a prompt, in any script: prose, lists, tables and code, each as people would count them.

A wrapped paragraph is joined before it is split; a list item, a heading, a row of a table and a block of code stand for
themselves. Full stops of East Asian scripts, of Devanagari, Arabic, Ethiopic, Khmer and Burmese end a sentence as well.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_OWN_LINE = re.compile(
    r"\s*(?:[-*+•–—●○▪◦‣]\s|\d{1,3}[.)、]\s|[(（]?[0-9a-zA-Z一二三四五六七八九十]{1,2}[)）]\s?|#{1,6}\s|\||>|<[/\w!])"
)
_MARKER = re.compile(r"\s*(?:[-*+•–—●○▪◦‣]\s+|\d{1,3}[.)、]\s+|#{1,6}\s+|>\s*)")
_CLOSING = "\"'”’»）)]】』」*_`"
_END = re.compile(rf"(?:[.!?…]+[{re.escape(_CLOSING)}]*(?=\s)|[。！？｡؟۔।॥።។၊။]+[{re.escape(_CLOSING)}]*)")
_SHORT = re.compile(
    r"(?:^|[\s(])(?:[A-Za-zÀ-ỹ]|e\.g|i\.e|etc|vs|cf|approx|no|fig|dr|mr|mrs|ms|st|prof|vd|tp|ths?|gs|z\.b|d\.h|bzw)\.\Z",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of the text in order, white space made single, list marks left out.

    What holds no letter and no digit outside of template tags (rules, bare variables) is no sentence.
    """
    found = (" ".join(part.split()) for block in _blocks(text) for part in _split(block))
    return tuple(part for part in found if any(char.isalnum() for char in _TEMPLATE.sub("", part)))


def folded(text: str) -> str:
    """The text as it is compared: one form per character (NFKC), white space single, case folded."""
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs joined to one line each, and everything that stands on a line of its own."""
    waiting: list[str] = []
    fence: str | None = None
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence is not None:
            closes = mark is not None and mark.group(1).startswith(fence)
            if closes:
                fence = None
            elif line.strip():
                yield line
            continue
        alone = mark is not None or _OWN_LINE.match(line) is not None
        if waiting and (alone or not line.strip()):
            yield " ".join(waiting)
            waiting = []
        if mark is not None:
            fence = mark.group(1)
        elif line.strip():
            waiting.append(_MARKER.sub("", line, count=1))
            if line.lstrip().startswith(("#", "|")):
                yield waiting.pop()
    if waiting:
        yield " ".join(waiting)


def _split(block: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(block):
        piece = block[start : match.end()]
        if match.group().startswith(".") and not _ends_here(block, match):
            continue
        yield piece
        start = match.end()
    yield block[start:]


def _ends_here(block: str, match: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence: not behind an abbreviation, not before a small letter."""
    before = block[: match.start() + 1]
    if _SHORT.search(before) or before.strip(" .").isdigit():
        return False
    rest = block[match.end() :].lstrip(" \t" + _CLOSING)
    return not rest or not rest[0].islower()
