"""Scripts: which writing systems a text is in, read off the names that Unicode gives its letters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

_ONE = {"HIRAGANA": "Kana", "KATAKANA": "Kana", "CJK": "Han", "HALFWIDTH": "Kana", "IDEOGRAPHIC": "Han"}

_OF_LANGUAGE = {
    "Cyrillic": "ru uk be bg mk sr kk ky mn tg",
    "Greek": "el",
    "Arabic": "ar fa ur ps sd ug ckb",
    "Hebrew": "he yi",
    "Devanagari": "hi mr ne sa",
    "Bengali": "bn as",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Sinhala": "si",
    "Thai": "th",
    "Lao": "lo",
    "Khmer": "km",
    "Myanmar": "my",
    "Georgian": "ka",
    "Armenian": "hy",
    "Ethiopic": "am ti",
    "Hangul": "ko",
    "Han": "zh yue ja ko",
    "Kana": "ja",
    "Latin": "sr kk az uz ku",
}

_MARKED = frozenset(("vi", "cs", "sk", "pl", "tr", "hu", "ro", "lv", "lt", "is"))
"""Languages in Latin script in which no correct long text does without letters beyond ASCII."""


def scripts_of(text: str) -> Counter[str]:
    """How many letters of each script a text has. Japanese counts as Han and Kana."""
    counts: Counter[str] = Counter()
    for char, number in Counter(text).items():
        script = script_of(char)
        if script:
            counts[script] += number
    return counts


@lru_cache(maxsize=8192)
def script_of(char: str) -> str:
    """The script of a letter; empty for what is no letter, or a letter that belongs to no script in particular."""
    if unicodedata.category(char) not in ("Lu", "Ll", "Lt", "Lo"):
        return ""
    first = unicodedata.name(char, "").split(" ")[0].split("-")[0]
    if first in ("MATHEMATICAL", "FEMININE", "MASCULINE", "MICRO", "FULLWIDTH", "DOUBLE", "SCRIPT"):
        return ""
    return _ONE.get(first, first.capitalize())


def of_language(tag: str) -> frozenset[str]:
    """The scripts that a language (a BCP 47 tag such as ``vi`` or ``pt-BR``) is written in; Latin if not known."""
    language = tag.replace("_", "-").split("-")[0].lower()
    found = frozenset(script for script, tags in _OF_LANGUAGE.items() if language in tags.split())
    return found or frozenset({"Latin"})


def wants_marks(tag: str) -> bool:
    """Whether a long text of this language has to have letters beyond ASCII."""
    return tag.replace("_", "-").split("-")[0].lower() in _MARKED


def share_in(text: str, scripts: frozenset[str]) -> float | None:
    """The share of the text's letters that are of these scripts; None for a text without letters."""
    counts = scripts_of(text)
    total = counts.total()
    return sum(counts[script] for script in scripts) / total if total else None
