"""The Jinja environment that prompts are rendered in: no way out of the template, and no way to blow up.

Jinja's immutable sandbox keeps templates from Python's insides; it does not bound what they cost. Here a rendering has
a share of work: the size of what each filter, test, comparison and slice is given is taken off it before it is done,
and so is each turn of a loop. Strings and numbers may not grow without end, and what prompts have no use for (macros,
imports, recursion) is refused. A template that reaches a limit gets ``TemplateTooLarge``.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from jinja2 import Environment, StrictUndefined, Template, TemplateSyntaxError, Undefined, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

P = ParamSpec("P")
V = TypeVar("V")

MAX_OUTPUT = 5_000_000
"""Characters of one rendered message."""
MAX_STEPS = 200_000
"""Turns of all loops and calls of one rendering together."""
MAX_RANGE = 10_000
"""Numbers of one ``range``; the turns of all loops are limited by ``MAX_STEPS``."""
MAX_VALUE = 5_000_000
"""Characters of one value that a template makes, counted as ``size_of`` counts them."""
MAX_NUMBER_BITS = 4096
"""Bits of a whole number: one of 1,233 digits."""
MAX_WORK = 100_000_000
"""Characters that filters, methods, comparisons and slices of one rendering may be given together."""

MAX_TOKENS = 50_000
"""Names, signs and values that the tags of a template may have; compiling takes time in proportion, and some seconds
for so many."""
ITEM = 20
"""What an item of a list or an object counts, in characters, on top of its own size."""
TURN = 250
"""What a turn of a loop, or a call of a macro, counts, in characters."""
SECONDS = 5.0
"""The longest that one rendering may take, whatever it counts."""

# fmt: off
_FILTERS = (
    "abs", "batch", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first", "float",
    "forceescape", "groupby", "indent", "int", "items", "join", "last", "length", "list", "lower",
    "map", "max", "min", "reject", "rejectattr", "replace", "reverse", "round", "safe", "select", "selectattr",
    "slice", "sort", "string", "striptags", "sum", "title", "tojson", "trim", "truncate", "unique", "upper",
    "wordcount", "wordwrap",
)
_METHODS: dict[type, frozenset[str]] = {
    str: frozenset((
        "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdigit", "islower",
        "isnumeric", "isspace", "istitle", "isupper", "lower", "lstrip", "partition", "removeprefix", "removesuffix",
        "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase",
        "title", "upper",
    )),
    dict: frozenset({"items", "keys", "values", "get"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
}
# fmt: on
_REFUSED: tuple[tuple[type[nodes.Node], str], ...] = (
    (nodes.Macro, "macros"),
    (nodes.CallBlock, "call blocks"),
    (nodes.Import, "imports"),
    (nodes.FromImport, "imports"),
    (nodes.Include, "includes"),
    (nodes.Extends, "inheritance"),
    (nodes.Block, "blocks"),
    (nodes.FilterBlock, "filter blocks"),
)


TIMES = {"sort": 16.0, "dictsort": 16.0, "groupby": 16.0, "unique": 4.0, "urlencode": 8.0, "dump": 4.0, "tojson": 4.0}
"""Filters that do more with a character than look at it."""


class TemplateTooLarge(Exception):
    """A template that loops too long or makes too much text; the sentence says which limit it reached."""


class TooMuchWork(TemplateTooLarge):
    """A rendering that has used up its share, or a template with too much in it to be compiled."""


class Work:
    """A share: characters and turns that are left, and when the time is over."""

    __slots__ = ("characters", "deadline", "left", "turns")

    def __init__(self, characters: int, seconds: float | None = None) -> None:
        self.characters = self.left = characters
        self.turns = MAX_STEPS
        self.deadline = time.monotonic() + (SECONDS if seconds is None else seconds)

    def spend(self, amount: float) -> None:
        if amount > self.left:
            self.left = 0
            raise TooMuchWork(f"it works on more than {self.characters:,} characters")
        self.left -= int(amount)
        if time.monotonic() > self.deadline:
            raise TooMuchWork("it takes too long")

    def step(self) -> None:
        self.turns -= 1
        if self.turns < 0:
            raise TemplateTooLarge(f"the template loops more than {MAX_STEPS} times")


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
    """Takes off the open share; nothing where none is open."""
    if (work := _share.get()) is not None:
        work.spend(amount)


def _step() -> None:
    if (work := _share.get()) is not None:
        work.step()


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
    """Spends the size of the values, ``times`` over; gives the first one back."""
    work = _share.get()
    if work is not None:
        for each in (value, *others):
            work.spend(times * (1 + size_of(each, work.left / times)))
    return value


def weighing(made: Callable[P, V]) -> Callable[P, V]:
    """The function, spending the size of what it is given before it begins."""

    @wraps(made)
    def counted(*given: P.args, **named: P.kwargs) -> V:
        weighed(*_data((*given, *named.values())))
        return made(*given, **named)

    return counted


def _data(given: Iterable[object]) -> list[object]:
    return [value for value in given if isinstance(value, str | list | tuple | Mapping)] or [""]


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


def bounded(value: V) -> V:
    _refuse_long(size_of(value, MAX_VALUE))
    if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
        raise TemplateTooLarge(f"the template makes a number of more than {MAX_NUMBER_BITS} bits")
    return value


def _spend_on_text(characters: int) -> None:
    """A text that a template makes counts twice: it is read once, and stays."""
    _refuse_long(characters)
    spend(2 * characters)


def _refuse_long(characters: int) -> None:
    if characters > MAX_VALUE:
        raise TemplateTooLarge(f"the template makes a value of more than {MAX_VALUE} characters")


def _counted(items: Iterable[object]) -> Iterator[object]:
    for item in items:
        _step()
        yield item


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise TemplateTooLarge(f"the template asks for a range of {len(numbers)} numbers; the limit is {MAX_RANGE}")
    return numbers


def _largest(arguments: Iterable[object]) -> int:
    sizes = (abs(item) if isinstance(item, int) else size_of(item, MAX_VALUE) for item in arguments if item is not None)
    return max(sizes, default=1)


def _guard(name: str, made: Callable[..., object]) -> Callable[..., object]:
    """The filter, refused when what it is given could make something huge, and its result measured."""

    def guarded(*args: object, **kwargs: object) -> object:
        _step()
        values = args[1:] if getattr(made, "jinja_pass_arg", None) else args
        value = _listed(values[0]) if values else ""
        most = size_of(value, MAX_VALUE) * max(1, _largest((*values[1:], *kwargs.values())))
        if most > MAX_VALUE * 10:
            raise TemplateTooLarge(f"the filter {name!r} would make too much text here")
        before = args[: len(args) - len(values)]
        weighed(value, times=TIMES.get(name, 1))
        if name == "wordwrap":
            _spend_on_words(value)
        result = made(*before, value, *values[1:], **kwargs)
        return bounded(_listed(result))

    guarded.__dict__.update(getattr(made, "__dict__", {}))
    return guarded


def _spend_on_words(value: object) -> None:
    longest = max(map(len, value.split()), default=0) if isinstance(value, str) else 0
    spend(longest * longest // 1000)


def _listed(value: object) -> object:
    if isinstance(value, Iterator):
        return list(_counted(value))
    return list(value) if isinstance(value, range) else value


def _finalize(value: object) -> object:
    """How a value stands in the text: a text as it is, anything else as JSON where JSON has it."""
    if isinstance(value, str | Undefined):
        return value
    bounded(value)
    if isinstance(value, dict | list | tuple | bool | int | float) or value is None:
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """Jinja for prompts: immutable sandbox, undefined variables are errors, costs bounded.

    Templates are compiled by ``compiled``, which counts the turns of their loops; ``from_string`` alone does not.
    """

    code_generator_class = _Weighing
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            keep_trailing_newline=True,
            cache_size=0,
            optimized=False,  # working out constants takes the cube of a tag's nesting
            undefined=StrictUndefined,
            autoescape=False,
            finalize=_finalize,
        )
        self.tests = {name: weighing(test) for name, test in dict[str, Any](self.tests).items()}
        self.globals = {"range": _range}
        permitted = {name: self.filters[name] for name in _FILTERS if name in self.filters}
        self.filters = {name: _guard(name, function) for name, function in permitted.items()}
        self.filters["sum"] = adding(self.filters["sum"])
        self.filters["_bounded"] = bounded

    def compiled(self, source: str) -> Template:
        """The template of this text, or a ``TemplateSyntaxError`` with its line.

        Raises:
            TooMuchWork: its tags hold more than ``MAX_TOKENS``.
        """
        refuse_long(source, self)
        tree = self.parse(source)
        _refuse_infinite(tree)
        _refuse_useless(tree)
        _bound_literals(tree)
        for loop in list(tree.find_all(nodes.For)):
            written = sum(len(text.data) for text in loop.find_all(nodes.TemplateData))
            turn = nodes.Call(nodes.EnvironmentAttribute("turn"), [nodes.Const(TURN + written)], [], None, None)
            loop.body.insert(0, nodes.ExprStmt(turn, lineno=loop.lineno))
        tree.set_environment(self)
        with share(MAX_WORK):  # what does not depend on variables is worked out now
            return self.from_string(tree)

    def turn(self, work: int) -> None:
        _step()
        spend(work)

    def weighed(self, value: object) -> object:
        return weighed(value)

    def joined(self, parts: Iterable[object]) -> str:
        """Called with what ``~`` joins, and with what a block or the whole template gave."""
        _step()
        texts = [str(part) for part in parts]
        size = sum(map(len, texts))
        _spend_on_text(size)
        spend(size)
        return "".join(texts)

    def concat(self, parts: Iterable[str]) -> str:
        return self.joined(parts)

    def wrap_str_format(self, value: object) -> None:
        """No ``str.format``: its widths make texts of any length; it is refused like other methods."""

    def is_safe_callable(self, obj: object) -> bool:
        return obj == self.turn or bool(super().is_safe_callable(obj))

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        for kind, names in _METHODS.items():
            if isinstance(obj, kind) and callable(value):
                return attr in names
        return super().is_safe_attribute(obj, attr, value)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> object:
        _step()
        weighed(getattr(obj, "__self__", None), *args)
        return bounded(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> object:
        _step()
        a, b = size_of(left, MAX_VALUE), size_of(right, MAX_VALUE)
        if operator == "*" and not isinstance(left, int | float):
            a, b = a * abs(int(right)), 0
        elif operator == "*" and not isinstance(right, int | float):
            a, b = b * abs(int(left)), 0
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            a = MAX_VALUE + 1 if left.bit_length() * abs(right) > MAX_NUMBER_BITS else 1
        elif operator == "%" and isinstance(left, str):
            raise SecurityError("text cannot be formatted with %; join it with ~")
        _spend_on_text(a + b)
        return bounded(super().call_binop(context, operator, left, right))


def _refuse_useless(tree: nodes.Template) -> None:
    for kind, name in _REFUSED:
        refused = tree.find(kind)
        if refused is not None:
            raise TemplateSyntaxError(f"{name} cannot be used in a prompt", refused.lineno)
    for loop in tree.find_all(nodes.For):
        if loop.recursive:
            raise TemplateSyntaxError("recursive loops cannot be used in a prompt", loop.lineno)


def _bound_literals(tree: nodes.Template) -> None:
    for parent in [tree, *tree.find_all(nodes.Node)]:
        for field, value in list(parent.iter_fields()):
            changed = [_wrapped(item) for item in value] if isinstance(value, list) else _wrapped(value)
            setattr(parent, field, changed)


def _wrapped(value: object) -> object:
    if isinstance(value, nodes.List | nodes.Dict | nodes.Tuple) and getattr(value, "ctx", "load") == "load":
        return nodes.Filter(value, "_bounded", [], [], None, None, lineno=value.lineno)
    return value


def run_template(template: Template, values: Mapping[str, object], *, work: int = MAX_WORK) -> str:
    """The text of a compiled template with these values, bounded in steps and size.

    Args:
        work: characters that its filters, methods, comparisons and slices may be given together.

    Raises:
        TemplateTooLarge, jinja2.TemplateError, or whatever Python's own operations raise on the values.
    """
    parts: list[str] = []
    size = 0
    try:
        with share(work):
            for part in template.generate(dict(values)):
                size += len(part)
                if size > MAX_OUTPUT:
                    raise TemplateTooLarge(f"the rendered prompt is longer than {MAX_OUTPUT} characters")
                parts.append(part)
    except TooMuchWork as over:
        raise TemplateTooLarge(f"the template cannot be rendered on these inputs: {over}") from None
    return "".join(parts)
