"""Items in groups, as they are sent to others: bounded in number and in size, and nothing is lost where one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_groups(
    items: Iterable[T],
    most: int,
    *,
    size: Callable[[T], int] = lambda _: 0,
    most_size: int = 0,
) -> Iterator[list[T]]:
    """The items in order, some at a time; where taking one fails, those before it and then the error."""
    group, total = list[T](), 0
    failure: Exception | None = None
    try:
        for item in items:
            group.append(item)
            total += size(item)
            if len(group) >= most or total > most_size:
                yield group
                group, total = [], 0
    except Exception as error:
        failure = error
    if group:
        yield group
    if failure is not None:
        raise failure
