"""Whose an item of a file is, a person's or the machine's, and the id of one that says none.

One that says ``extracted`` or ``generated`` and whose ``content`` hash still fits is the machine's. One that says
``edited`` or ``added``, says nothing, or no longer fits its hash is a person's. ``synthesized`` rules are a choice that
a person has asked for: authors leave them alone, and only another choice (``by_hand``) replaces them.

A derived id has the first words of the text that it is made of, and eight digits of the hash of the whole:
``where-is-my-parcel-5c1f09ab``. Other code points that look the same (NFC and NFD) make another id: a model is sent
other bytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self, TypeVar

from promptpex.core.ids import digest, text_digest
from promptpex.core.sentences import normal_form

_WORDS_LENGTH = 20
_DIGITS = 8
_LETTERS = str.maketrans({"đ": "d", "Đ": "D", "ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "æ": "ae", "œ": "oe"})
"""Latin letters that no decomposition takes apart."""


def derived_id(value: Any, noun: str) -> str:
    """The id that an item gets from this value: a text, or values by name.

    Args:
        noun: what the id begins with where the value has no Latin word.
    """
    return f"{'-'.join(_first_words(value)) or noun}-{_hash(value)}"


def called(noun: str, name: str) -> str:
    return f"the {noun} has no id of its own; it is called {name}"


def _hash(value: Any) -> str:
    try:
        return digest(value, _DIGITS)
    except (TypeError, ValueError):
        return text_digest(repr(value), _DIGITS)


def _first_words(value: Any) -> Iterable[str]:
    """Words of its first text in the order of names, as many as are short together."""
    values = (
        [item for _, item in sorted(value.items(), key=lambda pair: str(pair[0]))]
        if isinstance(value, Mapping)
        else [value]
    )
    text = next((item for item in values if isinstance(item, str) and item.strip()), "")[:200]
    plain = normal_form("NFKD", text.translate(_LETTERS)).lower()
    words = re.findall(r"[a-z0-9]+", "".join(letter for letter in plain if not unicodedata.combining(letter)))
    length = 0
    for word in words:
        length += len(word) + 1
        if length > _WORDS_LENGTH + 1:
            return
        yield word


MACHINE = ("extracted", "generated")
HASHED = (*MACHINE, "synthesized")
"""Origins of items whose hash tells whether a person has changed them since."""


class Owned(Protocol):
    """An item that says whose it is; ``content`` is the hash of what the machine wrote."""

    measured: ClassVar[frozenset[str]]
    lasting: ClassVar[frozenset[str]]

    @property
    def id(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def content(self) -> str | None: ...
    def content_hash(self) -> str: ...
    def replace(self, **changes: Any) -> Self: ...


T = TypeVar("T", bound=Owned)


def owned_by_people(origin: str) -> bool:
    """Whether the machine must leave such an item alone."""
    return origin not in MACHINE


def edited(item: T, **changes: Any) -> T:
    """The item as a person has changed it: theirs from now on, if it was the machine's."""
    return item.replace(**changes, origin=item.origin if owned_by_people(item.origin) else "edited")


def claimed(item: T, written: Mapping[str, Any]) -> T:
    """The item with the origin it has in truth, given what its file says."""
    if written.get("origin") is None:
        return item.replace(origin="added")
    if item.origin in HASHED and item.content is not None and item.content != item.content_hash():
        return item.replace(origin="edited")
    return item


def sealed(item: T) -> T:
    """The item as the machine writes it: with the hash of its content, if it is the machine's."""
    return item.replace(content=item.content_hash()) if item.origin in HASHED else item


def _with_measured(mine: T, new: T) -> T:
    """A person's item with what the machine has measured of it since."""
    return _with(mine, {name: value for name in mine.measured if (value := getattr(new, name)) not in _NOTHING})


def _with_lasting(new: T, before: T | None) -> T:
    """An item as the machine has it now, with what was measured of it before and is not measured anew."""
    names = [name for name in new.lasting if getattr(new, name) in _NOTHING] if before is not None else []
    return _with(new, {name: getattr(before, name) for name in names})


def _with(item: T, values: Mapping[str, Any]) -> T:
    return item.replace(**values) if any(getattr(item, name) != value for name, value in values.items()) else item


_NOTHING = (None, ())


def merged(old: Sequence[T], new: Sequence[T], *, by_hand: bool) -> tuple[T, ...]:
    """The items that a file shall hold after an update, in the order of ``new``.

    People's own on file stay as they are, also those that ``new`` does not name, unless ``by_hand`` says that a person
    asked for the update. What the machine has measured of one (``measured``) is added to it.
    """
    on_file = {item.id: item for item in old}
    named = {item.id for item in new}
    result = []
    for item in new:
        before = on_file.get(item.id)
        stays = before is not None and not by_hand and owned_by_people(before.origin)
        if before is not None and stays:
            result.append(_with_measured(before, item))
        else:
            result.append(sealed(_with_lasting(item, before)))
    if by_hand:
        return tuple(result)
    return (*result, *(item for item in old if item.id not in named and owned_by_people(item.origin)))
