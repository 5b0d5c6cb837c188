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

from promptpex.core.texts import STORED

LONGEST = 1_000
"""Characters of a text from a file of data that is compared with keys; the reasons of checks are shorter."""
DEEPEST = 6
"""Keys within values of keys that are translated."""
_PLACE = re.compile(r"\{(\w+)\}")


class Catalogue:
    """The texts of a language.

    Args:
        name: the tag of the language, one that CLDR knows.
        file: its catalogue.
    """

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
        """The translation of a sentence that counts something."""
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
        if not text or len(text) > LONGEST or depth == 0:
            return text
        for template in self._templates:
            values = template.values(text)
            if values is not None:
                return template.text.format(**{name: self._of_data(value, depth - 1) for name, value in values.items()})
        parts = text.split("; ")
        return "; ".join(self._of_data(part, depth - 1) for part in parts) if len(parts) > 1 else text

    def digits(self, figure: str) -> str:
        """A figure with the decimal and group signs of the language."""
        return figure.translate(self._signs)

    def day(self, date: datetime) -> str:
        """A date in the order of the language, with the year in full."""
        from babel.dates import format_skeleton

        return str(format_skeleton("yMd", date, locale=self._locale))


class _Template:
    """A key with places for values, which recognises the texts that it has made.

    Takes time in proportion to the text: each piece between two places is looked for once, from left to right.
    """

    def __init__(self, key: str, text: str) -> None:
        self.text = text
        first, *rest = _PLACE.split(key)
        self._first, self._names, self._pieces = first, rest[0::2], rest[1::2]

    def values(self, text: str) -> dict[str, str] | None:
        """What stands in the places; None where the key has not made the text."""
        if not text.startswith(self._first):
            return None
        values: dict[str, str] = {}
        at = len(self._first)
        for number, (name, piece) in enumerate(zip(self._names, self._pieces, strict=True), 1):
            last = number == len(self._names)
            end = len(text) - len(piece) if last else text.find(piece, at)
            if end < at or not text.startswith(piece, end) or values.setdefault(name, text[at:end]) != text[at:end]:
                return None
            at = end + len(piece)
        return values


def _most_words_first(whole: dict[str, str]) -> Iterable[tuple[str, str]]:
    """The keys that say most by themselves come first, so that a short one does not take a longer one's text."""
    return sorted(whole.items(), key=lambda pair: (-len(_PLACE.sub("", pair[0])), pair[0]))
