"""Writing systems: which scripts a text is in, by the Unicode property Script of its letters."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from typing import Any

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
    "Oriya": "or",
    "Sinhala": "si",
    "Thai": "th",
    "Lao": "lo",
    "Tibetan": "bo dz",
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
"""Scripts with the languages written in them today; one that is not listed is in Latin script."""

_PROPERTY = {"Kana": r"\p{Script=Hiragana}\p{Script=Katakana}"}
"""Scripts that are counted under another name than Unicode's."""

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
    """The script of a letter, ``Other`` for the rarer ones; empty for anything else: modifiers, ordinal signs and
    fullwidth forms, which occur in texts of any script, and letters of no script in particular.
    """
    match = _letter().fullmatch(char)
    return match.lastgroup or "" if match is not None else ""


@cache
def _letter() -> Any:
    import regex

    scripts = {name: _PROPERTY.get(name, rf"\p{{Script={name}}}") for name in (*_OF_LANGUAGE, "Bopomofo")}
    groups = [rf"(?P<{name}>[{members}])" for name, members in scripts.items()]
    no_script = r"\p{Lm}\p{Script=Common}\p{Script=Inherited}ªº\uFF21-\uFF3A\uFF41-\uFF5A"
    return regex.compile(rf"(?V1)(?=[\p{{L}}--[{no_script}]])(?:{'|'.join(groups)}|(?P<Other>.))", regex.DOTALL)


def of_language(tag: str) -> frozenset[str]:
    """The scripts that a language (a BCP 47 tag such as ``vi`` or ``pt-BR``) is written in; Latin if not known."""
    language = tag.replace("_", "-").split("-")[0].lower()
    scripts = frozenset(script for script, tags in _OF_LANGUAGE.items() if language in tags.split())
    return scripts or frozenset({"Latin"})


def wants_marks(tag: str) -> bool:
    """Whether a long text of this language has to have letters beyond ASCII."""
    return tag.replace("_", "-").split("-")[0].lower() in _MARKED


_ABOUT_LANGUAGES = re.compile(
    r"languag|lingual|translat|\b(?:english|german|french|spanish|portuguese|italian|dutch|polish|turkish|russian|"
    r"ukrainian|greek|arabic|hebrew|hindi|bengali|thai|vietnamese|indonesian|chinese|japanese|korean)\b|"
    r"sprach|übersetz|langue|tradu|idioma|lingua|língua|\btaal|vertaal|språk|język|язык|перевод|\bмов[аиою]|γλώσσ|"
    r"ngôn ngữ|dịch|\bdil(?:i|de|in)?\b|言語|翻訳|语言|語言|翻译|언어|번역|لغة|لغات|ترجم|भाषा",
    re.IGNORECASE,
)


def speaks_of_languages(text: str) -> bool:
    """Whether a sentence says something about languages, so that inputs in another one may be meant."""
    return _ABOUT_LANGUAGES.search(text) is not None


def share_in(text: str, scripts: frozenset[str]) -> float | None:
    """The share of the text's letters that are of these scripts; None for a text without letters."""
    counts = scripts_of(text)
    total = counts.total()
    return sum(counts[script] for script in scripts) / total if total else None
