"""Whether words that a rule quotes stand in a text: the one place that decides it.

A quotation may leave words out ("..."), and differ in case, width, line breaks, quotation marks and emphasis. Of words
it may have a letter wrong, as authors copy; another number, another short word or another order is another promise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from promptpex.specs.comparison_limit import Effort

How = Literal["exact", "near"]

NEAR = 80.0
"""Likeness (0..100) of a piece with some place of the text from which its words are compared one by one."""

_GAP = re.compile(r"\.{3,}|…|\[\.{3}\]|\[…\]")
_STOP = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_MARKS = re.compile(r"\\(?=[\"'])|[\"'“”„‘’‚«»「」『』*_`]")
"""A backslash before a quotation mark goes with it: prompts hold JSON, and authors answer in it."""


def match_fragments(parts: Sequence[str], inside: str, effort: Effort | None = None) -> How | None:
    """How the words of a source stand in a text: exactly, with a letter wrong, or not; None for no words.

    ``parts`` are made of the source by ``pieces``, ``inside`` of the text by ``bare``.

    Where ``effort`` has not enough left, a piece with a letter wrong is not found.
    """
    left = effort or Effort()
    if not parts:
        return None
    if all(part in inside for part in parts):
        return "exact"
    return "near" if all(part in inside or _nearly(part, inside, left) for part in parts) else None


def pieces(source: str) -> list[str]:
    """The pieces of a quotation, bare: what gaps part, and full stops, since a list mark may stand behind one."""
    parts = [piece for part in parts_of(source) for piece in _STOP.split(part)]
    return [part for part in map(bare, parts) if part]


def parts_of(source: str) -> list[str]:
    """The pieces of a quotation as they stand in it."""
    return [part.strip() for part in _GAP.split(source) if part.strip()]


def bare(text: str) -> str:
    """Words and signs without case, width, quotation marks, emphasis and line breaks."""
    plain = _MARKS.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(plain.split()).casefold().strip(" .,;:。、")


def _nearly(piece: str, inside: str, effort: Effort) -> bool:
    from rapidfuzz import fuzz

    if len(piece) > len(inside) or not effort.partial(len(piece), len(inside)):
        return False
    place = fuzz.partial_ratio_alignment(piece, inside, score_cutoff=NEAR)
    if place is None:
        return False
    start = inside.rfind(" ", 0, place.dest_start + 1) + 1
    end = inside.find(" ", max(place.dest_end - 1, start))
    found, wanted = inside[start : end if end >= 0 else len(inside)].split(), piece.split()
    windows = (found[shift : shift + len(wanted)] for shift in range(max(1, len(found) - len(wanted) + 1)))
    return any(len(window) == len(wanted) and all(map(_same_word, window, wanted)) for window in windows)


def _same_word(first: str, second: str) -> bool:
    """Whether one word is the other with a letter wrong; short words, numbers and unspaced scripts must be the same."""
    from rapidfuzz.distance import Levenshtein

    first, second = first.strip(".,;:!?()"), second.strip(".,;:!?()")
    if first == second:
        return True
    if min(len(first), len(second)) < 5 or not all(char.isalpha() and char.upper() != char for char in first + second):
        return False
    return Levenshtein.distance(first, second, score_cutoff=1) <= 1
