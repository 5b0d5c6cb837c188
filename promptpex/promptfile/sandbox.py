"""The Jinja environment that prompts are rendered in: no way out of the template, and no way to blow up.

Jinja's immutable sandbox keeps templates from Python's insides; it does not bound what they cost. Here loops are
counted, strings and numbers may not grow without end, and what prompts have no use for (macros, imports, recursion)
is refused. A template that reaches a limit gets ``TemplateTooLarge``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptpex.core.jinja_limits import (
    TIMES,
    TooMuchWork,
    Weighing,
    adding,
    share,
    size_of,
    spend,
    weighed,
    weighing,
)

MAX_OUTPUT = 5_000_000
"""Characters of one rendered message."""
MAX_STEPS = 200_000
"""Turns of all loops and calls of one rendering together."""
MAX_RANGE = 10_000
MAX_VALUE = 5_000_000
"""Characters of one value that a template makes, counted as ``size_of`` counts them."""
MAX_NUMBER_BITS = 4096
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


def bounded(value: Any) -> Any:
    """The value, if it is of a bearable size."""
    if size_of(value, MAX_VALUE) > MAX_VALUE or (isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS):
        raise TemplateTooLarge(f"the template makes a value of more than {MAX_VALUE} characters")
    return value


def _counted(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        _step()
        yield item


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise TemplateTooLarge(f"the template asks for a range of {len(numbers)} numbers; the limit is {MAX_RANGE}")
    return numbers


def _largest(arguments: Iterable[Any]) -> int:
    sizes = (abs(item) if isinstance(item, int) else size_of(item, MAX_VALUE) for item in arguments if item is not None)
    return max(sizes, default=1)


def _guard(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, refused when what it is given could make something huge, and its result measured."""

    def guarded(*args: Any, **kwargs: Any) -> Any:
        _step()
        given = args[1:] if getattr(made, "jinja_pass_arg", None) else args
        value = _listed(given[0]) if given else ""
        most = size_of(value, MAX_VALUE) * max(1, _largest((*given[1:], *kwargs.values())))
        if most > MAX_VALUE * 10:
            raise TemplateTooLarge(f"the filter {name!r} would make too much text here")
        before = args[: len(args) - len(given)]
        weighed(value, times=TIMES.get(name, 1))
        if name == "wordwrap":
            _spend_on_words(value)
        result = made(*before, value, *given[1:], **kwargs)
        return bounded(_listed(result))

    guarded.__dict__.update(getattr(made, "__dict__", {}))
    return guarded


def _spend_on_words(value: Any) -> None:
    """A word longer than a line is copied once for each line that it fills."""
    longest = max(map(len, value.split()), default=0) if isinstance(value, str) else 0
    spend(longest * longest // 1000)


def _listed(value: Any) -> Any:
    """Generators as lists, counted, so that their size can be known."""
    if isinstance(value, Iterator):
        return list(_counted(value))
    return list(value) if isinstance(value, range) else value


def _finalize(value: Any) -> Any:
    """How a value stands in the text: a text as it is, anything else as JSON where JSON has it."""
    if isinstance(value, str | Undefined):
        return value
    bounded(value)
    if isinstance(value, dict | list | tuple | bool | int | float) or value is None:
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """Jinja for prompts: immutable sandbox, undefined variables are errors, costs bounded."""

    code_generator_class = Weighing
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            autoescape=False,
            keep_trailing_newline=True,
            finalize=_finalize,
            cache_size=0,
            optimized=False,  # working out constants takes the cube of a tag's nesting
        )
        self.globals = {"range": _range}
        kept = {name: self.filters[name] for name in _FILTERS if name in self.filters}
        self.filters = {name: _guard(name, made) for name, made in kept.items()}
        self.filters["sum"] = adding(self.filters["sum"])
        self.tests = {name: weighing(test) for name, test in dict[str, Any](self.tests).items()}
        self.filters["_counted"] = _counted
        self.filters["_bounded"] = bounded

    def weighed(self, value: Any) -> Any:
        """Called with what is compared and cut."""
        return weighed(value)

    def wrap_str_format(self, value: Any) -> None:
        """No ``str.format``: its widths make texts of any length; it is refused like other methods."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        for kind, names in _METHODS.items():
            if isinstance(obj, kind) and callable(value):
                return attr in names
        return super().is_safe_attribute(obj, attr, value)

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        _step()
        weighed(getattr(obj, "__self__", None), *args)
        return bounded(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
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
        if a + b > MAX_VALUE:
            raise TemplateTooLarge(f"the template makes a value of more than {MAX_VALUE} characters")
        return bounded(super().call_binop(context, operator, left, right))


def compile_template(source: str, env: PromptEnvironment) -> Any:
    """The compiled template, its loops counted and its literals bounded.

    Raises:
        TemplateSyntaxError: with its line, also for what prompts may not use.
    """
    tree = env.parse(source)
    for kind, name in _REFUSED:
        found = tree.find(kind)
        if found is not None:
            raise TemplateSyntaxError(f"{name} cannot be used in a prompt", found.lineno)
    for loop in tree.find_all(nodes.For):
        if loop.recursive:
            raise TemplateSyntaxError("recursive loops cannot be used in a prompt", loop.lineno)
    return env.from_string(_rewrite(tree, env))


def _rewrite(tree: nodes.Template, env: PromptEnvironment) -> nodes.Template:
    for parent in [tree, *tree.find_all(nodes.Node)]:
        for field, value in list(parent.iter_fields()):
            if isinstance(value, list):
                changed: Any = [_wrapped(item, parent, field) for item in value]
            else:
                changed = _wrapped(value, parent, field)
            setattr(parent, field, changed)
    tree.set_environment(env)
    return tree


def _wrapped(value: Any, parent: nodes.Node, field: str) -> Any:
    if isinstance(parent, nodes.For) and field == "iter":
        return _filter(value, "_counted")
    if isinstance(value, nodes.Concat):
        return _filter(nodes.List(value.nodes, lineno=value.lineno), "join")
    if isinstance(value, nodes.List | nodes.Dict | nodes.Tuple) and _is_read(value):
        return _filter(value, "_bounded")
    return value


def _is_read(value: nodes.Node) -> bool:
    return getattr(value, "ctx", "load") == "load" and not getattr(value, "_wrapped", False)


def _filter(value: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)


def run_template(template: Any, values: Mapping[str, Any]) -> str:
    """The text of a compiled template with these values, bounded in steps and size.

    Raises:
        TemplateTooLarge, jinja2.TemplateError, or whatever Python's own operations raise on the values.
    """
    token = _meter.set(_Meter())
    try:
        parts: list[str] = []
        size = 0
        with share(MAX_WORK):
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
