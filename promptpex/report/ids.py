"""Ids of rules and cases, and names of models, as reports show them: long ones shortened, and as anchors of a page."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

MOST_SHOWN = 36
"""Characters of an id that are shown; the page has the whole on hover, in the anchor and where it is unfolded."""

TAIL = 3
"""The part of what is shown, one in so many, that is the end of the id: numbers stand there."""


def shortened(name: str, most: int = MOST_SHOWN) -> str:
    """An id of at most ``most`` characters: of a longer one the beginning and the end, since ids that are made of
    sentences begin alike and differ in their last number."""
    if len(name) <= most:
        return name
    end = most // TAIL
    return f"{name[: most - end - 1]}…{name[-end:] if end else ''}"


def shortened_list(names: Iterable[str]) -> str:
    """Ids as a list, each shortened."""
    return ", ".join(map(shortened, names))


def is_long(names: str | Iterable[str]) -> bool:
    """Whether an id, or one of several, is shown shortened."""
    return any(len(name) > MOST_SHOWN for name in ([names] if isinstance(names, str) else names))


def anchor(kind: str, name: str) -> str:
    """The ``id`` of an element about a rule or a case: different for different ids, and without a blank, as HTML asks
    for (HTML Standard, 3.2.6 Global attributes)."""
    return f"{kind}-{quote(name, safe='', errors='replace')}"
