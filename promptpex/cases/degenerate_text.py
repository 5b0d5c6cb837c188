"""Degenerate text: a generation that has derailed. Signs that hold in any language; each is a reason in words.

The published tests of PromptPex end in such text: words of the right language, one behind the other, with hardly any
of the function words that hold sentences together. How common these are is learned from a text of the same language.
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections import Counter
from functools import lru_cache
from itertools import pairwise

from promptpex.cases.comparable_words import words
from promptpex.cases.writing_systems import script_of

# Under these limits the derailed tests among those published with PromptPex are named, and no others (tests/cases).
GARBAGE_SHARE = 0.02
"""Share of characters without meaning above which a text is garbage."""
RUN_OF_ONE_WORD = 8
"""Times that one word may follow on itself."""
LONG = 600
"""Bytes from which a text is long enough for its compression to mean something."""
DENSE = 0.10
"""Share of its size to which a text that says something does not compress."""
FUNCTION_WORD = 3
"""Letters that a function word (article, preposition, conjunction) has at most."""
SWITCHES = 6
"""Changes of script from word to word that make a mixture."""
_KINDS = {"Kana": "Han", "Hangul": "Han", "Bopomofo": "Han"}


def is_degenerate(text: str) -> str | None:
    """Why no one can have written this text, or None: garbage characters, endless repetition, mixed scripts."""
    return _garbage(text) or _repetition(text) or _mixture(text)


def lacks_function_words(text: str, like: str, *, limit: float = 1e-3) -> str | None:
    """Why a running text looks like words without sentences, or None.

    Args:
        text: the text; only stretches of at least 12 words without a punctuation mark are examined.
        like: a text of the same language, to learn how often a word has at most three letters, as function words do.
        limit: probability of so few short words under which the text is named.
    """
    usual = _usual(like)
    if usual is None:
        return None
    share, length = usual
    for part in re.split(r"[^\w\s'’-]|\n", text):
        stretch = _alphabetic(part)
        if len(stretch) < 12 or sum(map(len, stretch)) / len(stretch) < 1.5 * length:
            continue
        if _at_most(_short(stretch), len(stretch), share) < limit:
            return f"{len(stretch)} words in a row with {_short(stretch)} short ones among them"
    return None


@lru_cache(maxsize=16)
def _usual(like: str) -> tuple[float, float] | None:
    """The share of short words and the mean length of words in a text that many are held against; None: it has too few
    words."""
    usual = _alphabetic(like)
    return None if len(usual) < 40 else (_short(usual) / len(usual), sum(map(len, usual)) / len(usual))


def _garbage(text: str) -> str | None:
    odd = sum(1 for char in text if _is_garbage(char))
    return f"{odd} characters that mean nothing" if odd > 1 and odd > GARBAGE_SHARE * len(text) else None


def _is_garbage(char: str) -> bool:
    return char == "\ufffd" or (unicodedata.category(char) in ("Cc", "Cn", "Co", "Cs") and char not in "\t\n\r\f")


def _repetition(text: str) -> str | None:
    all_words = words(text)
    run, last = 0, ""
    for word in all_words:
        run, last = (run + 1 if word == last else 1), word
        if run >= RUN_OF_ONE_WORD and run * 2 >= len(all_words) and any(char.isalpha() for char in word):
            return f"the word {word[:40]!r} over and over"
    raw = text.encode("utf-8", "replace")
    if len(raw) >= LONG and len(zlib.compress(raw, 9)) < DENSE * len(raw) and any(char.isalpha() for char in text):
        return "the same stretch of text over and over"
    return None


def _mixture(text: str) -> str | None:
    kinds = [_kind(word) for word in text.split()]
    mixed = sum(1 for kind in kinds if len(kind) > 1)
    plain = [next(iter(kind)) for kind in kinds if len(kind) == 1]
    switches = sum(1 for before, after in pairwise(plain) if before != after)
    many = [script for script, count in Counter(plain).items() if count >= 2]
    if len(set(plain)) >= 4 and len(many) >= 3 and switches >= SWITCHES and switches * 4 >= len(plain):
        return f"{len(set(plain))} scripts by turns"
    if mixed >= 4 and mixed * 4 >= len(kinds):
        return f"{mixed} words that mix scripts"
    return None


def _kind(word: str) -> frozenset[str]:
    """The alphabets of one word; the scripts of China, Japan and Korea, which do not part words, count as one."""
    scripts = {script_of(char) for char in word} - {""}
    kinds = frozenset(_KINDS.get(script, script) for script in scripts)
    return frozenset({"Han"}) if "Han" in kinds else kinds


def _alphabetic(text: str) -> list[str]:
    return [
        word for word in words(text) if word.isalpha() and script_of(word[0]) not in ("Han", "Kana", "Hangul", "Thai")
    ]


def _short(some: list[str]) -> int:
    return sum(1 for word in some if len(word) <= FUNCTION_WORD)


def _at_most(count: int, total: int, share: float) -> float:
    """The probability of at most ``count`` hits in ``total`` trials that hit with probability ``share``."""
    return sum(math.comb(total, k) * share**k * (1 - share) ** (total - k) for k in range(count + 1))
