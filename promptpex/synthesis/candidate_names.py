"""Names of criteria and candidates: free ones, and telling ones made of words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import count

LONGEST = 60
"""Characters of a name."""

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]+")


def slug(words: str) -> str:
    """The words as a name: small letters and digits, joined by underscores; empty where there are none."""
    return _NOT_IN_A_NAME.sub("_", words).strip("_")[:LONGEST].strip("_").lower()


def free_name(name: str, taken: Collection[str], mark: str = "_") -> str:
    """The name, with ``mark`` and a number behind it where it is taken: ``names_every_product_2``."""
    if name not in taken:
        return name
    return next(numbered for numbered in (f"{name}{mark}{number}" for number in count(2)) if numbered not in taken)


def free_ids(taken: Collection[str]) -> Iterator[str]:
    """The ids of criteria, c1, c2 and so on, without those that are taken."""
    return (name for name in map("c{}".format, count(1)) if name not in taken)
