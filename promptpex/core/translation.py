"""The texts that people read, in their language.

The English sentence is the key (GNU gettext): ``tr("{model} is clearly the best.", model=name)``. Keys are literals, so
that a test finds each in the code and in the templates and holds the catalogues to it. What English has of it needs no
catalogue. A catalogue is a file ``locale/LANGUAGE/LC_MESSAGES/promptpex.po``, read when somebody wants its language.

Some sentences are kept in files of data, in English, whatever the reader's language: the reason of a check, the notice
of a run. They are made by ``stored``, and ``from_data`` recognises them when they are shown.

The language belongs to the process (``speak``); a block of code, such as one that answers a request of a server, may
have another (``reading_in``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Protocol

ENGLISH = "en"
LOCALE = Path(__file__).parent.parent / "locale"
DOMAIN = "promptpex"


class Language(Protocol):
    """What a language says for the English keys."""

    @property
    def name(self) -> str:
        """Its tag (BCP 47), as in ``<html lang>``."""

    def text(self, message: str, context: str | None = None) -> str:
        """The translation of a sentence."""

    def plural(self, one: str, many: str, count: int) -> str:
        """The translation of a sentence that counts something."""

    def stored(self, text: str) -> str:
        """The translation of a text from a file of data; the text itself where no key makes it."""

    def digits(self, figure: str) -> str:
        """A figure with the decimal and group signs of the language."""

    def day(self, date: datetime, *, with_year: bool = True) -> str:
        """A date in the order of the language."""

    def __hash__(self) -> int:
        """There is one object per language."""


class English:
    """The language of the keys."""

    name = ENGLISH

    def text(self, message: str, context: str | None = None) -> str:
        return message

    def plural(self, one: str, many: str, count: int) -> str:
        return one if count == 1 else many

    def stored(self, text: str) -> str:
        return text

    def digits(self, figure: str) -> str:
        return figure

    def day(self, date: datetime, *, with_year: bool = True) -> str:
        return date.strftime("%Y-%m-%d" if with_year else "%m-%d")


_process: Language = English()
_block: ContextVar[Language | None] = ContextVar("promptpex_language", default=None)


def languages() -> tuple[str, ...]:
    return (ENGLISH, *sorted(file.parent.parent.name for file in LOCALE.glob(f"*/LC_MESSAGES/{DOMAIN}.po")))


@lru_cache(maxsize=8)
def language(name: str) -> Language:
    """A language by its name.

    Raises:
        ValueError: there is no such language; names those that exist.
    """
    if name not in languages():
        raise ValueError(f"there is no report language {name!r}; there are {', '.join(languages())}")
    if name == ENGLISH:
        return English()
    from promptpex.core.translation_catalogue import Catalogue

    return Catalogue(name, LOCALE / name / "LC_MESSAGES" / f"{DOMAIN}.po")


def speak(chosen: str) -> None:
    global _process
    _process = language(chosen)


@contextmanager
def reading_in(chosen: str | Language) -> Iterator[None]:
    """Until the end of the block texts are in this language, in this thread and in the tasks that it starts."""
    token = _block.set(language(chosen) if isinstance(chosen, str) else chosen)
    try:
        yield
    finally:
        _block.reset(token)


def spoken() -> Language:
    return _block.get() or _process


def tr(message: str, /, **values: object) -> str:
    """The sentence in the reader's language, with these values in the places that it names."""
    text = spoken().text(message)
    return text.format(**values) if values else text


def tr_n(one: str, many: str, count: int, /, **values: object) -> str:
    """The same for a sentence that counts: English has a form for one and a form for several; ``{count}`` is the
    number."""
    return spoken().plural(one, many, count).format(count=count, **values)


class Key(str):
    """A sentence or word that is named in one place and shown in another: ``REST = Key("...")``, ``REST.tr()``."""

    __slots__ = ()

    def tr(self, **values: object) -> str:
        text = spoken().text(str(self))
        return text.format(**values) if values else text


def shown(text: str) -> str:
    """A heading in the reader's language, where it is a key; a name stays as it is."""
    return text.tr() if isinstance(text, Key) else text


def stored(message: str, /, **values: object) -> str:
    """A text for a file of data: always English, and recognised by ``from_data`` when it is shown."""
    return message.format(**values) if values else message


def stored_n(one: str, many: str, count: int, /, **values: object) -> str:
    """The same for a text that counts; ``{count}`` is the number. Each of the two is a text of its own."""
    return stored(one if count == 1 else many, count=count, **values)


def from_data(text: str) -> str:
    """A text from a file of data in the reader's language, if ``stored`` has made it; what models and people wrote
    stays as it is."""
    return spoken().stored(text)


def digits(figure: str) -> str:
    return spoken().digits(figure)


def day(date: datetime, *, with_year: bool = True) -> str:
    return spoken().day(date, with_year=with_year)


def day_of(moment: str, *, with_year: bool = True) -> str:
    """The same of a moment as files have it (ISO 8601); anything else stays as it is, cut where its date ends."""
    try:
        return day(datetime.fromisoformat(moment[:10]), with_year=with_year)
    except ValueError:
        return moment[:10]
