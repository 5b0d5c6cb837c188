"""A language in which every text of ours stands between ⟦ and ⟧, so that what is shown without them was not translated.

The marks leave out the places of values: a value is a text of ours with marks of its own, a figure, or data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from html.parser import HTMLParser
from typing import Any

from promptpex.core.translation import language
from promptpex.report.translated_values import WORDS

_PLACE = re.compile(r"(\{\w*[^}]*\})")
_MARKED = re.compile(r"⟦[^⟦⟧]*⟧")
_WORD = re.compile(r"[^\W\d_]{2,}")
READ = ("aria-label", "title", "data-label", "placeholder", "alt")
"""Attributes that are read to people."""


class Marked:
    """The language. Texts of data are marked where Vietnamese recognises them."""

    name = "en"

    def text(self, message: str, context: str | None = None) -> str:
        return "".join(part if _PLACE.fullmatch(part) else f"⟦{part}⟧" for part in _PLACE.split(message) if part)

    def plural(self, one: str, many: str, count: int) -> str:
        return self.text(one if count == 1 else many)

    def stored(self, text: str) -> str:
        return f"⟦{text}⟧" if language("vi").stored(text) != text else text

    def digits(self, figure: str) -> str:
        return figure

    def day(self, date: datetime, *, with_year: bool = True) -> str:
        return date.strftime("%Y-%m-%d")


def unmarked(text: str, data: Iterable[str]) -> str:
    """What stands neither between marks nor is data, if it has a word; else nothing."""
    rest, before = text, None
    while rest != before:
        rest, before = _MARKED.sub(" ", rest), rest
    for known in sorted(data, key=len, reverse=True):
        if known in rest:
            rest = re.sub(rf"(?<!\w){re.escape(known)}(?!\w)", " ", rest)
    return rest.strip() if _WORD.search(rest) else ""


def data_of(*values: Any) -> set[str]:
    """Every text of records, but for the words that reports translate."""
    return {text for value in values for text in _texts(value) if len(text) > 1 and text not in WORDS}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        yield from value.splitlines()
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for one in value:
            yield from _texts(one)
    elif hasattr(value, "to_dict"):
        yield from (text for one in value.to_dict().values() for text in _texts(one))


class ReadPage(HTMLParser):
    """The texts of a page that people read or have read to them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._inside: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._inside.append(tag)
        self.texts += [value for name, value in attrs if name in READ and value]

    def handle_endtag(self, tag: str) -> None:
        if self._inside and tag == self._inside[-1]:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside and data.strip():
            self.texts.append(data.strip())
