"""Ids of items that say none: made of what they hold, so that they stay the same wherever the items stand.

``where-is-my-parcel-5c1f09ab``: the first words of the text that the id is made of, and eight digits of the hash of the
whole. What makes the item another one, other inputs or another promise, makes its id another one too. So do other code
points that look the same (``é`` in one or in two, NFC and NFD): a model is sent other bytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from promptpex.core.ids import digest, text_digest
from promptpex.core.normal_forms import normal_form

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
    """What is said of an item that has such an id."""
    return f"the {noun} has no id of its own; it is called {name}"


def _hash(value: Any) -> str:
    try:
        return digest(value, _DIGITS)
    except (TypeError, ValueError):
        return text_digest(repr(value), _DIGITS)


def _name(pair: tuple[Any, Any]) -> str:
    return str(pair[0])


def _first_words(value: Any) -> Iterable[str]:
    """Words of its first text in the order of names, as many as are short together."""
    values = [item for _, item in sorted(value.items(), key=_name)] if isinstance(value, Mapping) else [value]
    text = next((item for item in values if isinstance(item, str) and item.strip()), "")[:200]
    plain = normal_form("NFKD", text.translate(_LETTERS)).lower()
    words = re.findall(r"[a-z0-9]+", "".join(letter for letter in plain if not unicodedata.combining(letter)))
    length = 0
    for word in words:
        length += len(word) + 1
        if length > _WORDS_LENGTH + 1:
            return
        yield word
