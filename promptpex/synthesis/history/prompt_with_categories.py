"""The prompt of today with the words that its history's categories rest on (arXiv 2401.03038, Figure 4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from promptpex.core.records import CategorisedPhrase, Category, Delta

MOST_PHRASES = 1000
"""Phrases that are looked for; each takes one pass over the prompt."""
_SHORTEST = 2


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the prompt's text, with the categories that its words show; none for what lies between."""

    text: str
    categories: tuple[Category, ...] = ()


def tagged(text: str, deltas: Iterable[Delta]) -> tuple[Segment, ...]:
    """The text in pieces, which joined are the text; where phrases overlap, the one that begins first, the longer."""
    phrases = dict.fromkeys(phrase for delta in deltas for phrase in delta.categories)
    places: dict[tuple[int, int], dict[Category, None]] = {}
    for phrase in list(phrases)[:MOST_PHRASES]:
        for span in _places(text, phrase):
            places.setdefault(span, {})[phrase.category] = None
    segments: list[Segment] = []
    at = 0
    for (start, end), categories in sorted(places.items(), key=lambda item: (item[0][0], -item[0][1])):
        if start < at:
            continue
        segments += [Segment(text[at:start])] if start > at else []
        segments.append(Segment(text[start:end], tuple(categories)))
        at = end
    return (*segments, Segment(text[at:])) if at < len(text) else tuple(segments)


def as_text(segments: Iterable[Segment]) -> str:
    """The pieces as one text, each tagged one in square brackets with its categories behind it."""
    return "".join(
        f"[{segment.text}]({', '.join(segment.categories)})" if segment.categories else segment.text
        for segment in segments
    )


def _places(text: str, phrase: CategorisedPhrase) -> Iterator[tuple[int, int]]:
    words = phrase.source.split()
    if sum(map(len, words)) >= _SHORTEST:
        pattern = r"\s+".join(map(re.escape, words))
        yield from (match.span() for match in re.finditer(pattern, text, re.IGNORECASE))
