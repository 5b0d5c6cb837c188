"""Items in groups, as they are sent to others: bounded in number and in size, and nothing is lost where one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_groups(
    items: Iterable[T],
    most: Callable[[int], int],
    *,
    size: Callable[[T], int] = lambda _: 0,
    most_size: int = 0,
) -> Iterator[list[T]]:
    """The items in order, some at a time; where taking one fails, those before it and then the error.

    Args:
        most: how many items the group of this number has, from 0.
        size: of an item.
        most_size: the size beyond which a group ends.
    """
    group, total, number = list[T](), 0, 0
    failure: Exception | None = None
    try:
        for item in items:
            group.append(item)
            total += size(item)
            if len(group) >= most(number) or total > most_size:
                yield group
                group, total, number = [], 0, number + 1
    except Exception as error:
        failure = error
    if group:
        yield group
    if failure is not None:
        raise failure
