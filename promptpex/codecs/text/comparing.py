"""Comparing texts: whether two are the same but for what seldom matters, quotations, and passages that are shown twice.

A quotation may leave words out ("..."), and differ in case, width, line breaks, quotation marks and emphasis. A word
may have one letter wrong, as happens when authors copy; another number, short word or order makes another promise.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from promptpex.core.sentences import normal_form, split

MAX_PAIRS = 8
"""Pairs of quotation marks around a text that are taken off at most."""

_PAIRS = {
    '"': '"', "'": "'", "`": "`", "*": "*", "_": "_", "“": "”", "‘": "’", "«": "»", "»": "«", "„": "“", "‚": "‘",
    "‹": "›", "「": "」", "『": "』", "〈": "〉", "《": "》",
}  # fmt: skip
_ENDS = ".,;:!?…。、，！？।"


def normalised(text: str) -> str:
    """A text without what seldom matters: case, the width of white space, quotation marks around it, punctuation that
    ends a sentence. What would leave nothing is left as it stands."""
    bare = " ".join(normal_form("NFC", text).split())
    for _ in range(MAX_PAIRS):
        stripped = bare.rstrip(_ENDS).rstrip()
        if len(stripped) > 1 and _PAIRS.get(stripped[0]) == stripped[-1]:
            stripped = stripped[1:-1].strip()
        if stripped in ("", bare):
            break
        bare = stripped
    return bare.casefold()


How = Literal["exact", "near"]

NEAR = 80.0
"""Similarity (0..100) of a fragment to some place of the text from which its words are compared one by one: one letter
wrong in each word of five or more leaves at least that."""

_GAP = re.compile(r"\.{3,}|…|\[\.{3}\]|\[…\]")
_MARKS = re.compile(r"\\(?=[\"'])|[\"'“”„‘’‚«»「」『』*_`]")
"""A backslash before a quotation mark goes with it: prompts hold JSON, and authors answer in it."""
_BREAKS = re.compile(r"\\[nrt](?![a-z])")
"""Line breaks that are escaped once too often."""


LONGEST_SEARCHED = 200_000
"""Characters in which the line of a quotation is looked for."""

STEPS = 2e10
"""Steps of about 0.2 ns for one question, such as all rules against a prompt: some seconds."""
_CALL = 5_000
_RATIO, _WORD = 20, 64
"""Steps of a call, of a pair of characters, and the bits that rapidfuzz compares at once."""


class ComparisonBudget:
    """Work that is left for the comparisons of one question, so that no prompt and no spec can hang a command.

    It is reckoned by the lengths of the texts, not by the clock: the same files give the same answer on every machine.
    """

    __slots__ = ("left",)

    def __init__(self, steps: float = STEPS) -> None:
        self.left = steps

    def allows(self, steps: float) -> bool:
        """Whether so much work may be done; if so, it is taken off. If not, nothing is."""
        if steps > self.left:
            return False
        self.left -= steps
        return True

    def ratio(self, first: int, second: int) -> bool:
        return self.allows(_CALL + _RATIO * first * second / _WORD)

    def partial(self, piece: int, whole: int) -> bool:
        """Whether the most similar place to ``piece`` may be looked for in a text of length ``whole``."""
        short, long = sorted((piece, whole))
        return self.allows(_CALL + (short + long) * (1 + short * short / _WORD))


def match_fragments(parts: Sequence[str], inside: str, budget: ComparisonBudget | None = None) -> How | None:
    """How a quotation occurs in a text: exactly, or with a letter wrong; None if it does not, or has no words.

    Args:
        parts: of the quotation, by ``fragments``.
        inside: the text, by ``normalize``.
        budget: what is left of it; without enough, a fragment with a letter wrong is not found.
    """
    left = budget or ComparisonBudget()
    if not parts:
        return None
    if all(part in inside for part in parts):
        return "exact"
    return "near" if all(part in inside or _nearly(part, inside, left) for part in parts) else None


def fragments(source: str) -> list[str]:
    """The fragments of a quotation, normalized: split at gaps, and at full stops, since a list mark may follow one."""
    parts = [piece for part in split_at_gaps(source) for piece in split(part, every_stop=True)]
    return [part for part in map(normalize, parts) if part]


def split_at_gaps(source: str) -> list[str]:
    """The parts of a quotation between its gaps ("..."), as they are written."""
    return [part.strip() for part in _GAP.split(source) if part.strip()]


def normalize(text: str) -> str:
    """Words and signs without case, width, quotation marks, emphasis and line breaks."""
    plain = _BREAKS.sub(" ", _MARKS.sub("", normal_form("NFKC", text)))
    return " ".join(plain.split()).casefold().strip(" .,;:。、")


def line_of(source: str, text: str) -> int | None:
    """The line of a text, from 1, at which a quotation begins; None where its words do not stand there to the letter.

    Args:
        text: of which no more than ``LONGEST_SEARCHED`` characters are looked at.
    """
    first, lines = next(iter(fragments(source)), ""), text[:LONGEST_SEARCHED].splitlines()
    if not first or first not in normalize("\n".join(lines)):
        return None
    end = bisect_left(range(len(lines)), True, key=lambda last: first in normalize("\n".join(lines[: last + 1])))
    begin = bisect_left(
        range(end + 1), True, key=lambda start: first not in normalize("\n".join(lines[start : end + 1]))
    )
    return max(begin, 1)


def _nearly(fragment: str, inside: str, budget: ComparisonBudget) -> bool:
    from rapidfuzz import fuzz

    if len(fragment) > len(inside) or not budget.partial(len(fragment), len(inside)):
        return False
    place = fuzz.partial_ratio_alignment(fragment, inside, score_cutoff=NEAR)
    if place is None:
        return False
    start = inside.rfind(" ", 0, place.dest_start + 1) + 1
    end = inside.find(" ", max(place.dest_end - 1, start))
    source_words, quoted_words = inside[start : end if end >= 0 else len(inside)].split(), fragment.split()
    windows = (
        source_words[shift : shift + len(quoted_words)]
        for shift in range(max(1, len(source_words) - len(quoted_words) + 1))
    )
    return any(len(window) == len(quoted_words) and all(map(_same_word, window, quoted_words)) for window in windows)


def _same_word(first: str, second: str) -> bool:
    """Whether one word is the other with a letter wrong; short words, numbers and unspaced scripts must be the same."""
    from rapidfuzz.distance import Levenshtein

    first, second = first.strip(".,;:!?()"), second.strip(".,;:!?()")
    if first == second:
        return True
    if min(len(first), len(second)) < 5 or not all(char.isalpha() and char.upper() != char for char in first + second):
        return False
    return Levenshtein.distance(first, second, score_cutoff=1) <= 1


SHORTEST = 24
"""Words in a row that are worth leaving out; a sentence seldom has more."""
FIRST_WORDS, LAST_WORDS = 6, 3
"""Words of a passage that stay, so that a reader knows where it begins and ends."""
MARK = "[…]"
"""What stands for the words that are left out."""
_SEED = 5
_MOST_PLACES = 50
_WORDS = re.compile(r"[^\W_]+")


def without_passages(text: str, source: str) -> str:
    """The text with ``MARK`` for the middle of every passage of at least ``SHORTEST`` words that stands in ``source``,
    whatever is between the words; in time about linear in both lengths."""
    words = list(_WORDS.finditer(text))
    own_words = [word.group().casefold() for word in words]
    source_words = [word.group().casefold() for word in _WORDS.finditer(source)]
    places = _places(source_words) if len(own_words) >= SHORTEST else {}
    pieces, at, end = [], 0, 0
    while at < len(own_words) and places:
        length = _shared(own_words, at, source_words, places.get(tuple(own_words[at : at + _SEED]), ()))
        if length >= SHORTEST:
            pieces += [text[end : words[at + FIRST_WORDS - 1].end()], f" {MARK} "]
            end = words[at + length - LAST_WORDS].start()
        at += max(1, length if length >= SHORTEST else 1)
    return "".join([*pieces, text[end:]])


def _places(words: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    """Where each run of ``_SEED`` words begins."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at in range(len(words) - _SEED + 1):
        starts = places[tuple(words[at : at + _SEED])]
        if len(starts) < _MOST_PLACES:
            starts.append(at)
    return places


def _shared(mine: Sequence[str], at: int, theirs: Sequence[str], places: Sequence[int]) -> int:
    return max((_run(mine, at, theirs, place) for place in places), default=0)


def _run(mine: Sequence[str], at: int, theirs: Sequence[str], place: int) -> int:
    length = 0
    while at + length < len(mine) and place + length < len(theirs) and mine[at + length] == theirs[place + length]:
        length += 1
    return length
