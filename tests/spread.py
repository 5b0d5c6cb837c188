"""The order in which the processes of a test run take the tests (pytest-xdist's ``worksteal``).

Each process is given a part of the list and begins at its start; one that has nothing left takes over the end of
another's part. So what takes long stands at the start of a part, where it delays nobody at the end, and tests that
need the same costly thing (a Ray, a browser, the weights of a model) stand in one part: only one process makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import groupby, islice
from typing import TypeVar

import pytest

Test = TypeVar("Test")

COSTLY = ("ray", "shallow", "chromium_address", "repository")
"""Fixtures, once for a process, whose tests are kept together; ``ray`` is a mark as well, and ``repository`` the folder
of tests that read all files of the repository."""
TOGETHER_WITH = {"litellm": "shallow"}
"""Marks whose tests stand with those of a fixture, since some of them need it: importing litellm takes four seconds."""


def costly_fixture(test: pytest.Item) -> str | None:
    """Which of the costly fixtures a test needs."""
    if "repository" in test.path.parts:
        return "repository"
    named = getattr(test, "fixturenames", ())
    marked = (fixture for mark, fixture in TOGETHER_WITH.items() if test.get_closest_marker(mark))
    return next((name for name in COSTLY if name in named or test.get_closest_marker(name)), next(marked, None))


def is_slow(test: pytest.Item) -> bool:
    """Whether a test is marked so."""
    return any(test.get_closest_marker(name) for name in ("slow", "long"))


def spread(tests: Sequence[pytest.Item], processes: int) -> list[pytest.Item]:
    """The tests in the order that suits so many processes."""
    return in_parts(tests, processes, costly_fixture, is_slow, lambda test: test.path)


def in_parts(
    tests: Sequence[Test],
    processes: int,
    costly: Callable[[Test], str | None],
    slow: Callable[[Test], bool],
    file: Callable[[Test], Hashable],
) -> list[Test]:
    """As many parts, one after the other: what needs the same costly thing, files with slow tests, and all others.

    The tests of a file stay together, but for those that need something costly.
    """
    parts: list[list[Test]] = [[] for _ in range(processes)]
    for index, name in enumerate(COSTLY):
        parts[index % processes] += [test for test in tests if costly(test) == name]
    plain = [test for test in tests if costly(test) is None]
    files = [list(together) for _, together in groupby(plain, file)]
    with_slow = [together for together in files if any(map(slow, together))]
    for index, together in enumerate(with_slow):
        parts[-1 - index % processes] += together
    rest = iter([test for together in files if not any(map(slow, together)) for test in together])
    left = len(tests)
    for index, part in enumerate(parts):
        size = left // (processes - index)  # as worksteal cuts the list
        part += islice(rest, max(0, size - len(part)))
        left -= len(part)
    return [*(test for part in parts for test in part), *rest]
