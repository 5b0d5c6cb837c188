"""What templates of other people may cost: characters that they touch and make, and seconds.

Jinja's sandbox keeps a template from Python's insides and lets it work for ever. Whoever renders foreign templates
opens a share of ``Work`` and spends the size of what each filter, method, comparison and slice is given, before it is
done. ``Weighing`` writes the calls for what Jinja turns into Python's own operators.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from itertools import islice
from typing import Any

from jinja2 import Environment, nodes
from jinja2.compiler import CodeGenerator, Frame

ITEM = 20
"""What an item of a list or an object counts, in characters, beside its own size."""
SECONDS = 5.0
"""The longest that one rendering may take, whatever it counts."""


MAX_TOKENS = 50_000
"""Names, signs and values that the tags of a template may have; compiling takes time in proportion, and some seconds
for so many."""


class TooMuchWork(Exception):
    """A rendering that has used up its share, or a template with too much in it to be compiled."""


class Work:
    """A share: characters that are left, and when the time is over."""

    __slots__ = ("characters", "deadline", "left")

    def __init__(self, characters: int, seconds: float = SECONDS) -> None:
        self.characters = self.left = characters
        self.deadline = time.monotonic() + seconds

    def spend(self, amount: float) -> None:
        """Take so much off.

        Raises:
            TooMuchWork: there is not so much left, or the time is over.
        """
        if amount > self.left:
            self.left = 0
            raise TooMuchWork(f"it works on more than {self.characters:,} characters")
        self.left -= int(amount)
        if time.monotonic() > self.deadline:
            raise TooMuchWork("it takes too long")


_share: ContextVar[Work | None] = ContextVar("_share", default=None)


@contextmanager
def share(characters: int, seconds: float = SECONDS) -> Iterator[Work]:
    """One rendering's share of work."""
    work = Work(characters, seconds)
    before = _share.set(work)
    try:
        yield work
    finally:
        _share.reset(before)


def spend(amount: float) -> None:
    """Takes off the open share; nothing where none is open.

    Raises:
        TooMuchWork: nothing is left.
    """
    work = _share.get()
    if work is not None:
        work.spend(amount)


def size_of(value: Any, most: float) -> int:
    """Characters in a value, an item counting as ``ITEM`` more; counting ends after ``most``.

    What stands in it several times is counted each time, as whatever writes it meets it each time.
    """
    total, waiting = 0, [value]
    while waiting and total <= most:
        item = waiting.pop()
        if isinstance(item, str | bytes):
            total += len(item) + 1
            continue
        total += ITEM
        if isinstance(item, Mapping):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item
        elif isinstance(item, int):
            total += item.bit_length() // 8
    return total


def weighed(*values: Any, times: float = 1) -> Any:
    """Spends the size of the values, ``times`` over; gives the first one back.

    Raises:
        TooMuchWork: nothing is left.
    """
    work = _share.get()
    if work is not None:
        for value in values:
            work.spend(times * (1 + size_of(value, work.left / times)))
    return values[0]


def weighing(made: Callable[..., Any], times: float = 1) -> Callable[..., Any]:
    """The function, spending the size of what it is given before it begins."""

    @wraps(made)
    def counted(*given: Any, **named: Any) -> Any:
        weighed(*_data((*given, *named.values())), times=times)
        return made(*given, **named)

    return counted


def _data(given: Iterable[Any]) -> list[Any]:
    return [value for value in given if isinstance(value, str | list | tuple | Mapping)] or [""]


TIMES = {"sort": 16.0, "dictsort": 16.0, "groupby": 16.0, "unique": 4.0, "urlencode": 8.0, "dump": 4.0, "tojson": 4.0}
"""Filters that do more with a character than look at it."""


def adding(made: Callable[..., Any]) -> Callable[..., Any]:
    """The filter ``sum`` for numbers alone: lists added one to another are copied again and again."""

    @wraps(made)
    def added(*given: Any, **named: Any) -> Any:
        if not all(isinstance(value, int | float) for value in (*given[3:], named.get("start", 0))):
            raise TooMuchWork("its filter sum starts from what is no number")
        return made(*given, **named)

    return added


def refuse_long(source: str, environment: Environment) -> None:
    """Looks at a template before it is compiled.

    Raises:
        TooMuchWork: its tags hold more than ``MAX_TOKENS``.
        jinja2.TemplateSyntaxError: it cannot be read.
    """
    if len(source) <= MAX_TOKENS:
        return
    tokens = (kind for _, kind, _ in environment.lex(source) if kind not in ("data", "whitespace"))
    if next(islice(tokens, MAX_TOKENS, None), None) is not None:
        raise TooMuchWork(f"its tags hold more than {MAX_TOKENS:,} names and signs")


class Weighing(CodeGenerator):
    """Writes comparisons and slices so that they spend the size of what they work on.

    The environment needs a method ``weighed`` of one value, which gives it back.
    """

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:
        self.write("(")
        self._weigh(node.expr, frame)
        for operand in node.ops:
            self.write(f" {OPERATORS[operand.op]} ")
            self._weigh(operand.expr, frame)
        self.write(")")

    def _weigh(self, node: nodes.Expr, frame: Frame) -> None:
        self.write("environment.weighed(")
        self.visit(node, frame)
        self.write(")")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        if not isinstance(node.arg, nodes.Slice):
            super().visit_Getitem(node, frame)
            return
        self._weigh(node.node, frame)
        self.write("[")
        self.visit(node.arg, frame)
        self.write("]")


OPERATORS = {
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "gteq": ">=",
    "lt": "<",
    "lteq": "<=",
    "in": "in",
    "notin": "not in",
}
