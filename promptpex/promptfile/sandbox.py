"""The Jinja environment that prompts are rendered in: no way out of the template, and no way to blow up.

Jinja's immutable sandbox keeps templates from Python's insides; it does not bound what they cost. Here loops are
counted, strings and numbers may not grow without end, and what prompts have no use for (macros, imports, recursion)
is refused. A template that reaches a limit gets ``TemplateTooLarge``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context

from promptpex.promptfile.jinja_limits import (
    TIMES,
    BudgetedEnvironment,
    TooMuchWork,
    adding,
    share,
    size_of,
    spend,
    weighed,
)

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


class TemplateTooLarge(Exception):
    """A template that loops too long or makes too much text; the sentence says which limit it reached."""


class _Meter:
    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def step(self, count: int = 1) -> None:
        self.left -= count
        if self.left < 0:
            raise TemplateTooLarge(f"the template loops more than {MAX_STEPS} times")


_meter: ContextVar[_Meter | None] = ContextVar("_meter", default=None)


def _step(count: int = 1) -> None:
    meter = _meter.get()
    if meter is not None:
        meter.step(count)


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


class PromptEnvironment(BudgetedEnvironment):
    """Jinja for prompts: immutable sandbox, undefined variables are errors, costs bounded."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(MAX_WORK, undefined=StrictUndefined, autoescape=False, finalize=_finalize)
        self.globals = {"range": _range}
        permitted = {name: self.filters[name] for name in _FILTERS if name in self.filters}
        self.filters = {name: _guard(name, function) for name, function in permitted.items()}
        self.filters["sum"] = adding(self.filters["sum"])
        self.filters["_bounded"] = bounded

    def prepare(self, tree: nodes.Template) -> None:
        """Refuses what prompts have no use for, and bounds the lists and objects that are written out.

        Raises:
            TemplateSyntaxError: with its line.
        """
        for kind, name in _REFUSED:
            refused = tree.find(kind)
            if refused is not None:
                raise TemplateSyntaxError(f"{name} cannot be used in a prompt", refused.lineno)
        for loop in tree.find_all(nodes.For):
            if loop.recursive:
                raise TemplateSyntaxError("recursive loops cannot be used in a prompt", loop.lineno)
        _bound_literals(tree)

    def turn(self, work: int) -> None:
        _step()
        super().turn(work)

    def joined(self, parts: Iterable[object]) -> str:
        """Called with what ``~`` joins."""
        _step()
        texts = [str(part) for part in parts]
        _spend_on_text(sum(map(len, texts)))
        return super().joined(texts)

    def wrap_str_format(self, value: object) -> None:
        """No ``str.format``: its widths make texts of any length; it is refused like other methods."""

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
    token = _meter.set(_Meter())
    try:
        parts: list[str] = []
        size = 0
        with share(work):
            for part in template.generate(dict(values)):
                size += len(part)
                if size > MAX_OUTPUT:
                    raise TemplateTooLarge(f"the rendered prompt is longer than {MAX_OUTPUT} characters")
                parts.append(part)
        return "".join(parts)
    except TooMuchWork as over:
        raise TemplateTooLarge(f"the template cannot be rendered on these inputs: {over}") from None
    finally:
        _meter.reset(token)
