"""Sentences, in any script: those of running text (``split``), and those of a prompt (``sentences``).

Full stops of East Asian scripts, of Devanagari, Arabic, Ethiopic, Khmer and Burmese end a sentence as well. In a prompt
a wrapped paragraph is joined before it is split; a list item, a heading, a row of a table and a line of code count for
themselves.

Unicode's normal forms are taken here alone, in time linear in the length of a text (UAX #15).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

MOST_MARKS = 30
"""Combining marks in a row that are put in order; no script writes more (UAX #15, stream-safe text)."""

_LONG_RUN = re.compile(b"\x01{%d,}" % (MOST_MARKS + 1))


def normal_form(form: Form, text: str) -> str:
    """The text in this form, but for runs of more than ``MOST_MARKS`` combining marks, which stay as they are.

    Sorting such a run takes time quadratic in its length: with 80,000 of them Python's own function takes 20 s.
    """
    if text.isascii():
        return text
    marks = bytes(map(bool, map(unicodedata.combining, text)))
    pieces, end = [], 0
    for run in _LONG_RUN.finditer(marks):
        pieces += [unicodedata.normalize(form, text[end : run.start()]), text[run.start() : run.end()]]
        end = run.end()
    return "".join([*pieces, unicodedata.normalize(form, text[end:])])


_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_OWN_LINE = re.compile(
    r"\s*(?:[-*+•–—●○▪◦‣]\s|\d{1,3}[.)、]\s|[(（]?[0-9a-zA-Z一二三四五六七八九十]{1,2}[)）]\s?|#{1,6}\s|\||>|<[/\w!])"
)
_MARKER = re.compile(r"\s*(?:[-*+•–—●○▪◦‣]\s+|\d{1,3}[.)、]\s+|#{1,6}\s+|>\s*)")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-{2,})\s*\Z")
_STOPS = (".", "!", "?", "…", "。", "！", "？", "।")
_CLOSING = "\"'”’»）)]】』」*_`"
_END = re.compile(
    rf"(?:(?<![.!?…])[.!?…]++[{re.escape(_CLOSING)}]*+(?=\s)|[。！？｡؟۔।॥።។၊။]++[{re.escape(_CLOSING)}]*+)"
)
_SHORT = re.compile(
    r"(?:^|[\s(])(?:[A-Za-zÀ-ỹ]|e\.g|i\.e|etc|vs|cf|approx|no|fig|dr|mr|mrs|ms|st|prof|sr|jr|inc|ltd|co|al|vd|tp|ths?|gs|z\.b|d\.h|bzw)\.\Z",
    re.IGNORECASE,
)
_LONGEST_SHORT = 16
"""Characters before a full stop in which an abbreviation and what stands before it have room."""
_NUMBER = re.compile(r"[ .]*(\d+)[ .]*")
_AFTER = re.compile(rf"[ \t{re.escape(_CLOSING)}]*+")
_TAG = re.compile(r"(?=(\{[{%#]))")
_TAG_END = {"{{": "}}", "{%": "%}", "{#": "#}"}


def sentences(text: str, *, tags: bool = False) -> tuple[str, ...]:
    """The sentences of the text in order, white space made single, list marks left out.

    What holds no letter and no digit (rules, rows of signs) is not a sentence.

    Args:
        tags: whether the letters of template tags count, so that a bare variable is one as well.
    """
    parts = (" ".join(part.split()) for block, _ in _blocks(text) for part in split(block))
    return tuple(part for part in parts if any(map(str.isalnum, part if tags else _outside_tags(part))))


def headings(text: str) -> frozenset[str]:
    """The headings of the text, in Markdown, as ``sentences`` has them; one that ends like a sentence is one."""
    titles = (" ".join(block.split()) for block, heading in _blocks(text) if heading)
    return frozenset(title for title in titles if title and title.rstrip(_CLOSING)[-1:] not in _STOPS)


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def folded(text: str) -> str:
    return " ".join(normal_form("NFKC", text).split()).casefold()


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Paragraphs joined to one line each, and everything that stands on a line of its own; and whether each is a
    heading."""
    waiting: list[str] = []
    fence: str | None = None
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence is not None:
            closes = mark is not None and mark.group(1).startswith(fence)
            if closes:
                fence = None
            elif line.strip():
                yield line, False
            continue
        if waiting and _UNDERLINE.match(line):
            yield " ".join(waiting), True
            waiting = []
            continue
        alone = mark is not None or _OWN_LINE.match(line) is not None
        if waiting and (alone or not line.strip()):
            yield " ".join(waiting), False
            waiting = []
        if mark is not None:
            fence = mark.group(1)
        elif line.strip():
            mark = _MARKER.match(line)
            waiting.append(line[mark.end() :] if mark else line)
            if line.lstrip().startswith(("#", "|")):
                yield waiting.pop(), line.lstrip().startswith("#")
    if waiting:
        yield " ".join(waiting), False


def _outside_tags(text: str) -> str:
    """The text without its template tags; a tag that is not closed is text. Each end is looked for once."""
    if "{" not in text:
        return text
    outside: list[str] = []
    at, endless = 0, set[str]()
    for match in _TAG.finditer(text):
        end = _TAG_END[match.group(1)]
        if match.start() < at or end in endless:
            continue
        close = text.find(end, match.start() + 2)
        if close < 0:
            endless.add(end)
            continue
        outside.append(text[at : match.start()])
        at = close + 2
    return "".join((*outside, text[at:]))


def split(text: str, *, small_letters: bool = False, every_stop: bool = False) -> Iterator[str]:
    """The text cut behind the marks that end a sentence; the parts joined are the text.

    Args:
        small_letters: whether a sentence may begin with a small letter, as chats of people and models do; otherwise a
            full stop before one is taken for that of an abbreviation.
        every_stop: whether the full stops of abbreviations and of numbers at the start end a part as well.
    """
    start = 0
    number = _NUMBER.match(text)
    for match in _END.finditer(text):
        if not every_stop and match.group().startswith(".") and not _ends_here(text, match, number, small_letters):
            continue
        yield text[start : match.end()]
        start = match.end()
    yield text[start:]


def _ends_here(block: str, match: re.Match[str], number: re.Match[str] | None, small_letters: bool) -> bool:
    """Whether a full stop ends a sentence: not behind an abbreviation or a number at the start. Looks at a few
    characters around it, whatever the length of the block."""
    stop = match.start() + 1
    numbered = number is not None and number.start(1) < stop <= number.end()
    if numbered or _SHORT.search(block, max(0, stop - _LONGEST_SHORT), stop):
        return False
    if small_letters:
        return True
    after = _AFTER.match(block, match.end())
    rest = after.end() if after is not None else match.end()
    return not block[rest : rest + 1].islower()
