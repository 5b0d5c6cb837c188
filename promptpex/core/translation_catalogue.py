"""A language other than English: a gettext catalogue (.po), and how the language writes numbers and dates (CLDR).

Babel reads both; it is loaded when somebody wants such a language.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache
from pathlib import Path

STORED = "stored"
"""The context (``msgctxt``) of texts that are kept in files of data in English."""
LONGEST = 1_000
"""Characters of a text from a file of data that is compared with keys; the reasons of checks are shorter."""
DEEPEST = 8
"""Keys within values of keys that are translated."""
OUTPUT, IT = "the output", "it"
"""How stored texts name what a check looks at, and how they do where it is an input that has just been named."""
_PLACE = re.compile(r"\{(\w+)\}")
_HEAD = re.compile(r"((?:[^\s:‘\"]|\[\"[^\"]{1,80}\"\]){1,80}): (?=.)")
"""The kind of a check, or the path of a value, before its reason."""
_QUOTED = r'"(?:[^"\\]|\\.)*+"'
_SHAPES = {
    "number": r"-?\d+(?:,\d{3})*+(?:\.\d+)?(?:e[+-]?\d+)?|-?inf|-?Infinity|nan|NaN",
    "quoted": rf"{_QUOTED}(?:, {_QUOTED})*+",
    "excerpt": r"‘[^\n]{0,700}’|nothing",
    "boolean": r"(?i:true|false)",
    "function": r"the code|\w{1,80}",
    "value": r"(?:['\"\[{\d-]|True|False|None).*?",
}
_NUMBERS = frozenset(("count", "failed", "least", "left_out", "limit", "most", "number", "passed", "score", "seconds"))
_NESTED = frozenset(
    (
        "excerpt",
        "function",
        "others",
        "outputs",
        "part",
        "questions",
        "reason",
        "remedy",
        "requests",
        "rules",
        "shown",
        "words",
    )
)
"""Places whose values are texts from files of data again; but for words in quotation marks, which are an output's."""


class Catalogue:
    """The texts of a language."""

    def __init__(self, name: str, file: Path) -> None:
        from babel import Locale
        from babel.messages.pofile import read_po

        with file.open("rb") as opened:
            read = read_po(opened, locale=name, abort_invalid=True)
        self.name = name
        self._locale = Locale.parse(name)
        self._form: Callable[[int], int] = gettext.c2py(read.plural_expr)
        self._texts: dict[tuple[str | None, str], tuple[str, ...]] = {}
        for message in read:
            forms = message.string if isinstance(message.string, tuple) else (message.string,)
            if message.id and all(forms) and not message.fuzzy:
                key = message.id if isinstance(message.id, str) else message.id[0]
                self._texts[message.context, key] = tuple(map(str, forms))
        whole = {key: forms[0] for (context, key), forms in self._texts.items() if context == STORED}
        self._words = {key: text for key, text in whole.items() if not _PLACE.search(key)}
        self._templates = tuple(
            _Template(key, text) for key, text in _most_words_first(whole) if key not in self._words
        )
        symbols = self._locale.number_symbols["latn"]
        self._signs = str.maketrans({".": symbols["decimal"], ",": symbols["group"]})

    def text(self, message: str, context: str | None = None) -> str:
        """The translation of a sentence; the sentence where it has none."""
        forms = self._texts.get((context, message))
        return forms[0] if forms else message

    def plural(self, one: str, many: str, count: int) -> str:
        forms = self._texts.get((None, one))
        if forms is None:
            return one if count == 1 else many
        return forms[min(self._form(count), len(forms) - 1)]

    def stored(self, text: str) -> str:
        """The translation of a text that a key with context ``stored`` has made; any other text as it is."""
        return self._of_data(text, DEEPEST)

    @lru_cache(maxsize=20_000)  # noqa: B019 - there is one object per language, for the life of the process
    def _of_data(self, text: str, depth: int) -> str:
        if text in self._words:
            return self._words[text]
        if text.startswith(IT) and (word := self._words.get(f"{OUTPUT}{text.removeprefix(IT)}")) is not None:
            return self._about_input(word)
        if not text or len(text) > LONGEST or depth == 0:
            return text
        return self._by_template(text, depth) or self._by_parts(text, depth)

    def _by_template(self, text: str, depth: int) -> str | None:
        """The translation of a text that a key with places has made; None where none has."""
        for template in self._templates:
            values = template.values(text)
            if values is not None:
                translated = template.text.format(
                    **{name: self._value(name, value, depth) for name, value in values.items()}
                )
                return translated if text.startswith(template.start) else self._about_input(translated)
        return None

    def _value(self, name: str, value: str, depth: int) -> str:
        if name in _NUMBERS:
            return self.digits(value)
        return self._of_data(value, depth - 1) if name in _NESTED and not value.startswith("‘") else value

    def _about_input(self, text: str) -> str:
        return text.replace(self._words.get(OUTPUT, OUTPUT), self._words.get(IT, IT), 1)

    def _by_parts(self, text: str, depth: int) -> str:
        if (head := _HEAD.match(text)) is not None:
            return f"{head[0]}{self._of_data(text[head.end() :], depth - 1)}"
        parts = text.split("; ")
        translated = [self._of_data(part, depth - 1) for part in parts] if len(parts) > 1 else parts
        whole = all(part != before for part, before in zip(translated, parts, strict=True))
        return "; ".join(translated) if whole else text

    def digits(self, figure: str) -> str:
        return figure.translate(self._signs)

    def day(self, date: datetime, *, with_year: bool = True) -> str:
        from babel.dates import format_skeleton

        return str(format_skeleton("yMd" if with_year else "Md", date, locale=self._locale))


class _Template:
    """A key with places for values, which recognises the texts that it has made.

    What stands in a place has the shape that the place's name says (``_SHAPES``); where there is none, it ends where
    the words after the place come first. The time is bounded by the length of the text, and of an excerpt in it.
    """

    def __init__(self, key: str, text: str) -> None:
        self.text = text
        self.start, *rest = _PLACE.split(key)
        pieces = zip(rest[0::2], rest[1::2], strict=True)
        begins = re.escape(self.start)
        if self.start.startswith(OUTPUT):
            begins = f"(?:{OUTPUT}|{IT}){re.escape(self.start.removeprefix(OUTPUT))}"
        self._pattern = re.compile(begins + "".join(_place(name, piece) for name, piece in pieces), re.S)

    def values(self, text: str) -> dict[str, str] | None:
        """What stands in the places; None where the key has not made the text."""
        match = self._pattern.fullmatch(text)
        return None if match is None else match.groupdict()


def _place(name: str, piece: str) -> str:
    kind = "number" if name in _NUMBERS else name.partition("_")[0]
    after = re.escape(piece)
    if kind in _SHAPES:
        return f"(?P<{name}>{_SHAPES[kind]}){after}"
    if name in _NESTED:
        return f"(?P<{name}>.+?){after}"
    return f"(?>(?P<{name}>.*?){after})" if after else f"(?P<{name}>.*)"


def _most_words_first(whole: dict[str, str]) -> Iterable[tuple[str, str]]:
    """The keys that say most by themselves come first, so that a short one does not take a longer one's text."""
    return sorted(whole.items(), key=lambda pair: (-len(_PLACE.sub("", pair[0])), pair[0]))
