"""Sets of small numbers as the bits of an integer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence


def bits(members: int) -> Iterator[int]:
    """The numbers in the set, in order."""
    text = format(members, "b")[::-1]
    position = text.find("1")
    while position >= 0:
        yield position
        position = text.find("1", position + 1)


def as_bits(signs: str) -> int:
    """The positions of ``1`` in a text of ``0`` and ``1``."""
    return int(signs[::-1], 2) if signs else 0


def gathered(members: int, numbers: Sequence[int]) -> int:
    """Which of these numbers are in the set, by their places in the list."""
    signs = format(members, "b")[::-1]
    return as_bits("".join(signs[number] if number < len(signs) else "0" for number in numbers))


def union(sets: Sequence[int], chosen: Iterable[int]) -> int:
    """What is in at least one of the chosen sets."""
    joined = 0
    for number in chosen:
        joined |= sets[number]
    return joined


def membership_patterns(sets: Sequence[int], numbers: Iterable[int], width: int) -> Iterator[str]:
    """Which of the sets hold a number, for each of the numbers: a sign for each set, ``1`` where it holds the number.

    Args:
        width: more than the largest number of any set.
    """
    signs = "".join(format(members, f"0{width}b")[::-1] for members in sets)
    return (signs[number::width] for number in numbers)


def transposed(sets: Sequence[int], numbers: Iterable[int], width: int) -> dict[str, int]:
    """How many of the numbers have each of their ``patterns``."""
    return Counter(membership_patterns(sets, numbers, width))
