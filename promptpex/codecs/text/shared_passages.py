"""Passages that a text has word for word from another one, left out where the other one is shown as well."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

SHORTEST = 24
"""Words in a row that are worth leaving out; a sentence seldom has more."""
FIRST, LAST = 6, 3
"""Words of a passage that stay, so that a reader knows where it begins and ends."""
MARK = "[…]"
"""What stands for the words that are left out."""
_SEED = 5
_MOST_PLACES = 50
_WORD = re.compile(r"[^\W_]+")


def without_passages(text: str, source: str) -> str:
    """The text with ``MARK`` for the middle of every passage of at least ``SHORTEST`` words that stands in ``source``,
    whatever is between the words; in time about linear in both lengths."""
    words = list(_WORD.finditer(text))
    own_words = [word.group().casefold() for word in words]
    source_words = [word.group().casefold() for word in _WORD.finditer(source)]
    places = _places(source_words) if len(own_words) >= SHORTEST else {}
    pieces, at, end = [], 0, 0
    while at < len(own_words) and places:
        length = _shared(own_words, at, source_words, places.get(tuple(own_words[at : at + _SEED]), ()))
        if length >= SHORTEST:
            pieces += [text[end : words[at + FIRST - 1].end()], f" {MARK} "]
            end = words[at + length - LAST].start()
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
    """How many words from ``at`` on stand in a row at one of these places, at most."""
    return max((_run(mine, at, theirs, place) for place in places), default=0)


def _run(mine: Sequence[str], at: int, theirs: Sequence[str], place: int) -> int:
    length = 0
    while at + length < len(mine) and place + length < len(theirs) and mine[at + length] == theirs[place + length]:
        length += 1
    return length
