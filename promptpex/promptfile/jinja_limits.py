"""What templates of other people may cost: characters that they touch and make, and seconds.

Jinja's sandbox keeps a template from Python's insides and does not limit what it costs. ``BudgetedEnvironment`` does:
``sandbox``, which renders prompts, opens a ``share`` of work, and the size of what each filter, test, comparison and
slice is given is taken off it before it is done, and so is each turn of a loop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from jinja2 import Environment, Template, TemplateSyntaxError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.sandbox import ImmutableSandboxedEnvironment

P = ParamSpec("P")
V = TypeVar("V")

ITEM = 20
"""What an item of a list or an object counts, in characters, on top of its own size."""
TURN = 250
"""What a turn of a loop, or a call of a macro, counts, in characters."""
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

    def __init__(self, characters: int, seconds: float | None = None) -> None:
        self.characters = self.left = characters
        self.deadline = time.monotonic() + (SECONDS if seconds is None else seconds)

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
def share(characters: int, seconds: float | None = None) -> Iterator[Work]:
    """One rendering's share of work, and of time: None = ``SECONDS``."""
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


def size_of(value: object, most: float) -> int:
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


def weighed(value: V, *others: object, times: float = 1) -> V:
    """Spends the size of the values, ``times`` over; gives the first one back.

    Raises:
        TooMuchWork: nothing is left.
    """
    work = _share.get()
    if work is not None:
        for each in (value, *others):
            work.spend(times * (1 + size_of(each, work.left / times)))
    return value


def weighing(made: Callable[P, V], times: float = 1) -> Callable[P, V]:
    """The function, spending the size of what it is given before it begins."""

    @wraps(made)
    def counted(*given: P.args, **named: P.kwargs) -> V:
        weighed(*_data((*given, *named.values())), times=times)
        return made(*given, **named)

    return counted


def _data(given: Iterable[object]) -> list[object]:
    return [value for value in given if isinstance(value, str | list | tuple | Mapping)] or [""]


TIMES = {"sort": 16.0, "dictsort": 16.0, "groupby": 16.0, "unique": 4.0, "urlencode": 8.0, "dump": 4.0, "tojson": 4.0}
"""Filters that do more with a character than look at it."""


def adding(made: Callable[P, V]) -> Callable[P, V]:
    """The filter ``sum`` for numbers alone: lists added one to another are copied again and again."""

    @wraps(made)
    def added(*given: P.args, **named: P.kwargs) -> V:
        if not all(isinstance(value, int | float) for value in (*given[3:], named.get("start", 0))):
            raise TooMuchWork("its filter sum starts from something that is not a number")
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


def _refuse_infinite(tree: nodes.Template) -> None:
    """Refuses ``1e999``: Jinja writes constants into Python source, which has no name for infinity."""
    for constant in tree.find_all(nodes.Const):
        if isinstance(constant.value, float) and math.isinf(constant.value):
            raise TemplateSyntaxError("a number is too large", constant.lineno)


_OPERATORS = {
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "gteq": ">=",
    "lt": "<",
    "lteq": "<=",
    "in": "in",
    "notin": "not in",
}
"""Jinja's names of comparisons, and Python's."""


class _Weighing(CodeGenerator):
    """Writes comparisons, slices and ``~`` as calls of the environment that spend the size of what they work on."""

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:
        self.write("(")
        self._weigh(node.expr, frame)
        for operand in node.ops:
            self.write(f" {_OPERATORS[operand.op]} ")
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

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.joined((")
        for argument in node.nodes:
            self.visit(argument, frame)
            self.write(", ")
        self.write("))")


class BudgetedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox whose templates spend what they cost: the base of every environment for foreign ones.

    Templates are compiled by ``compiled``, which counts the turns of their loops; ``from_string`` alone does not.

    Args:
        work: characters that compiling a template, and each rendering of it, may work on.
    """

    code_generator_class = _Weighing

    def __init__(self, work: int, **options: Any) -> None:
        super().__init__(
            keep_trailing_newline=True,
            cache_size=0,
            optimized=False,  # working out constants takes the cube of a tag's nesting
            **options,
        )
        self.work = work
        self.tests = {name: weighing(test) for name, test in dict[str, Any](self.tests).items()}

    def compiled(self, source: str) -> Template:
        """The template of this text.

        Raises:
            TooMuchWork: its tags hold more than ``MAX_TOKENS``.
            jinja2.TemplateSyntaxError: with its line.
        """
        refuse_long(source, self)
        tree = self.parse(source)
        _refuse_infinite(tree)
        self.prepare(tree)
        for repeated in list(tree.find_all(nodes.Node)):
            if isinstance(repeated, nodes.For | nodes.Macro | nodes.CallBlock):
                self._count_turns(repeated)
        tree.set_environment(self)
        with share(self.work):  # what does not depend on variables is worked out now
            return self.from_string(tree)

    def prepare(self, tree: nodes.Template) -> None:
        """Look at a template before it is compiled: refuse or change what stands in it."""

    def _count_turns(self, repeated: nodes.For | nodes.Macro | nodes.CallBlock) -> None:
        """Put a call of ``turn`` at the start of what may run many times."""
        written = sum(len(text.data) for text in repeated.find_all(nodes.TemplateData))
        turn = nodes.Call(nodes.EnvironmentAttribute("turn"), [nodes.Const(TURN + written)], [], None, None)
        repeated.body.insert(0, nodes.ExprStmt(turn, lineno=repeated.lineno))

    def turn(self, work: int) -> None:
        spend(work)

    def weighed(self, value: object) -> object:
        return weighed(value)

    def joined(self, parts: Iterable[object]) -> str:
        """Called with what ``~`` joins."""
        texts = [str(part) for part in parts]
        spend(sum(map(len, texts)))
        return "".join(texts)

    def concat(self, parts: Iterable[str]) -> str:
        """Called with what the body of a block, a macro or a whole template gave."""
        return self.joined(parts)

    def is_safe_callable(self, obj: object) -> bool:
        return obj == self.turn or bool(super().is_safe_callable(obj))
