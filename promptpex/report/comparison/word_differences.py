"""Two versions of a text word by word: what both have, what is gone, and what is new."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

MOST_TEXT = 20_000
"""Characters of either text that are compared: the table of a comparison takes some 50 MB at most."""
MOST_SAME = 400
"""Characters that are the same in both and shown between two changes; of more, the beginning and the end."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of two texts: in ``both``, in the first alone (``gone``), or in the second alone (``new``).

    ``hidden``: so many characters of both are left out here.
    """

    kind: Literal["both", "gone", "new"]
    text: str
    hidden: int = 0


def word_differences(before: str, after: str) -> tuple[TextPiece, ...]:
    """The parts of two texts in their order, by a longest common subsequence of their words and signs; of long texts
    their beginnings."""
    return tuple(_shortened(_joined(before[:MOST_TEXT], after[:MOST_TEXT])))


Change = tuple[str, str]
"""What is gone, and what is new in its place."""


def _joined(before: str, after: str) -> list[str | Change]:
    """Texts of both, and the changes between them; changes with nothing but blanks between them are one."""
    parts: list[str | Change] = []
    for part in _parts(_WORD.findall(before), _WORD.findall(after)):
        if isinstance(part, str):
            parts.append(part)
            continue
        removed, new = part
        if len(parts) > 1 and isinstance(parts[-1], str) and not parts[-1].strip():
            blank = parts.pop()
            removed, new = f"{blank}{removed}", f"{blank}{new}"
        if parts and not isinstance(parts[-1], str):
            earlier = parts.pop()
            removed, new = f"{earlier[0]}{removed}", f"{earlier[1]}{new}"
        parts.append((removed, new))
    return parts


def _parts(old: list[str], new: list[str]) -> Iterator[str | Change]:
    from rapidfuzz.distance import LCSseq

    for part in LCSseq.opcodes(old, new):
        words = "".join(old[part.src_start : part.src_end])
        yield words if part.tag == "equal" else (words, "".join(new[part.dest_start : part.dest_end]))


def _shortened(parts: list[str | Change]) -> Iterator[TextPiece]:
    for place, part in enumerate(parts):
        if not isinstance(part, str):
            yield from (piece for piece in (TextPiece("gone", part[0]), TextPiece("new", part[1])) if piece.text)
        elif len(part) <= MOST_SAME or len(parts) == 1:
            yield TextPiece("both", part)
        else:
            half = MOST_SAME // 2
            first, last = part[:half] if place else "", part[-half:] if place < len(parts) - 1 else ""
            yield from [TextPiece("both", first)] if first else []
            yield TextPiece("both", last, hidden=len(part) - len(first) - len(last))
