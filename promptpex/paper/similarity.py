"""How alike two outputs are, for spec agreement: the cosine of their word counts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+", re.UNICODE)


def word_cosine(first: str, second: str) -> float:
    """Cosine of the two texts' word counts, case folded, from 0 to 1; 1 for two texts without any word.

    Texts of scripts without blanks are counted by character.
    """
    a, b = _counts(first), _counts(second)
    if not a or not b:
        return 1.0 if a == b else 0.0
    dot = sum(count * b[word] for word, count in a.items())
    return dot / math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))


def _counts(text: str) -> Counter[str]:
    words = _WORD.findall(text.casefold())
    unspaced = [letter for word in words for letter in word] if _unspaced(words) else words
    return Counter(unspaced)


def _unspaced(words: Sequence[str]) -> bool:
    """Whether the words look like whole sentences, as in Chinese, Japanese or Thai."""
    foreign = [word for word in words if any(ord(letter) > 0x0E00 for letter in word)]
    return bool(foreign) and sum(map(len, foreign)) / len(foreign) > 6
