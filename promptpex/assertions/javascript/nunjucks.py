"""The template engine behind ``templates``: Jinja's sandbox with the arithmetic, texts and filters of nunjucks 3."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import Frame
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptpex.assertions.javascript import js_values
from promptpex.assertions.javascript.js_values import MISSING
from promptpex.core.jinja_limits import TIMES, Weighing, adding, spend, weighed, weighing


class TruthyList(list[Any]):
    """A list that is true even when empty, as in JavaScript."""

    def __bool__(self) -> bool:
        return True


class TruthyDict(dict[str, Any]):
    """An object that is true even when empty, as in JavaScript."""

    def __bool__(self) -> bool:
        return True


def wrapped(value: Any) -> Any:
    """A JSON value as the templates see it."""
    if isinstance(value, list | tuple):
        return TruthyList(wrapped(item) for item in value)
    if isinstance(value, Mapping):
        return TruthyDict((str(key), wrapped(value[key])) for key in js_values.ordered_keys(value))
    return value


WORK = 50_000_000
"""Characters that a rendering may work on in all; a turn of a loop counts as ``TURN``."""
TURN = 250


class Nothing(jinja2.ChainableUndefined):
    """An undefined value: empty as text, also deep; not a number in arithmetic; cannot be called."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class _Lines(Extension):
    """Refuses ``list.1``, which nunjucks does not know."""

    def filter_stream(self, stream: TokenStream) -> Iterable[Token]:
        before = None
        for token in stream:
            if before == "dot" and token.type in ("integer", "float"):
                raise jinja2.TemplateSyntaxError("a number after a dot; write list[0]", token.lineno)
            before = token.type
            yield token


class _Generator(Weighing):
    """Writes ``~`` as a joining of JavaScript texts, and weighs what is compared and cut."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.joined((")
        for argument in node.nodes:
            self.visit(argument, frame)
            self.write(", ")
        self.write("))")


class _Environment(ImmutableSandboxedEnvironment):
    """Loops, macros and whatever joins texts count what they do."""

    code_generator_class = _Generator

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        found: Iterable[Any] = template.find_all((nodes.For, nodes.Macro, nodes.CallBlock))
        for body in list(found):
            written = sum(len(text.data) for text in body.find_all(nodes.TemplateData))
            turn = nodes.Call(nodes.EnvironmentAttribute("turn"), [nodes.Const(TURN + written)], [], None, None)
            body.body.insert(0, nodes.ExprStmt(turn, lineno=body.lineno).set_environment(self))
        return template

    def turn(self, work: int) -> None:
        """Called at each turn of a loop and each call of a macro."""
        spend(work)

    def weighed(self, value: Any) -> Any:
        """Called with what is compared and cut."""
        return weighed(value)

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        weighed(left, right)
        found = arithmetic(operator, _plain(left), _plain(right))
        spend(len(found) if isinstance(found, str) else 1)
        return found

    def joined(self, parts: Iterable[Any]) -> str:
        texts = [_written(part) for part in parts]
        spend(sum(map(len, texts)))
        return "".join(texts)

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        found = member(obj, argument)
        return self.undefined(obj=obj, name=str(argument)) if found is MISSING else found

    def is_safe_callable(self, obj: Any) -> bool:
        known = obj == self.turn or obj in self.globals.values()
        return getattr(obj, "_callable_in_templates", False) or known or _is_macro(obj)


def _is_macro(obj: Any) -> bool:
    return isinstance(obj, jinja2.runtime.Macro)


def member(obj: Any, key: Any) -> Any:
    """``obj[key]`` for JSON values: own keys, indexes and ``length``; ``MISSING`` for everything else."""
    if isinstance(obj, jinja2.runtime.LoopContext):
        return getattr(obj, key, MISSING) if key in _LOOP else MISSING
    if isinstance(obj, Mapping):
        return obj.get(_text(key), MISSING)
    if not isinstance(obj, str | list):
        return MISSING
    if key == "length":
        return _length(obj)
    if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(obj):
        return obj[key]
    return MISSING


_LOOP = frozenset(("index", "index0", "revindex", "revindex0", "first", "last", "length"))


def _plain(value: Any) -> Any:
    return MISSING if isinstance(value, jinja2.Undefined) else value


def _written(value: Any) -> str:
    value = _plain(value)
    return "" if value is None or value is MISSING else _text(value)


def _text(value: Any) -> str:
    """The value as JavaScript's text. A list is counted first: it may hold itself doubled, again and again."""
    return js_values.text(weighed(value) if isinstance(value, list) else value)


def _finished(value: Any) -> str:
    """What ``{{ value }}`` writes."""
    text = _written(value)
    spend(len(text))
    return text


def arithmetic(operator: str, left: Any, right: Any) -> Any:
    """JavaScript's binary operators: ``+`` joins when one side is not a number, the others count."""
    if operator == "+" and (_joins(left) or _joins(right)):
        return js_values.text(left) + js_values.text(right)
    return _counted(operator, number(left), number(right))


def _joins(value: Any) -> bool:
    return isinstance(value, str | list | Mapping)


def number(value: Any) -> float:
    """``Number(value)``."""
    if isinstance(value, bool) or value is None:
        return int(bool(value))
    if isinstance(value, int | float):
        return value
    return math.nan if value is MISSING else js_values.to_number(js_values.text(value))


def _counted(operator: str, left: float, right: float) -> float:
    left, right = js_values.as_double(left), js_values.as_double(right)
    try:
        return _OPERATIONS[operator](left, right)
    except ZeroDivisionError:
        return math.nan if operator == "%" or left == 0 or math.isnan(left) else math.copysign(math.inf, left)
    except (OverflowError, ValueError):
        return math.inf if operator == "**" else math.nan


def _power(left: float, right: float) -> float:
    raised = left**right
    return raised if isinstance(raised, float) else math.nan


_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "//": lambda left, right: float(math.floor(left / right)),
    "%": math.fmod,
    "**": _power,
}


def _text_of(value: Any) -> str:
    return _written(value)


def _int(value: Any, default: Any = 0, base: int = 10) -> Any:
    found = _SIGNED.match(js_values.trim(_written(value)))
    try:
        return int(found.group().rstrip("+-"), base) if found else default
    except ValueError:
        return default


_SIGNED = re.compile(r"[+\-0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _float(value: Any, default: Any = 0) -> Any:
    found = _DECIMAL.match(js_values.trim(_written(value)))
    return float(found.group()) if found else default


def _round(value: Any, precision: Any = 0, method: str = "round") -> Any:
    places = int(number(_plain(precision)) or 0)
    factor = 10.0**places
    scaled = js_values.as_double(number(_plain(value))) * factor
    if not math.isfinite(scaled):
        return scaled
    whole = {"ceil": math.ceil, "floor": math.floor}.get(method, lambda given: math.floor(given + 0.5))(scaled)
    result = whole / factor
    return f"{result:.{places}f}" if places > 0 else result


def _dump(value: Any, spaces: Any = None) -> str:
    return js_values.compact_json(_plain(value))


def _join(value: Any, delimiter: Any = "", attribute: Any = None) -> str:
    items = value if isinstance(value, list) else []
    picked = [member(item, attribute) if attribute is not None else item for item in items]
    between, texts = _written(delimiter), [_written(item) for item in picked]
    spend(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _length(value: Any) -> int:
    value = _plain(value)
    if isinstance(value, str):
        return len(weighed(value)) + sum(character > "\uffff" for character in value)
    return len(value) if isinstance(value, list | Mapping) else 0


def _default(value: Any, default: Any = "", falsy: Any = False) -> Any:
    if falsy:
        return value if value else default
    return default if isinstance(value, jinja2.Undefined) else value


def _replace(value: Any, old: Any, new: Any, count: Any = -1) -> str:
    text, old, new = _written(value), _written(old), _written(new)
    spend(len(text) + text.count(old) * len(new))
    return text.replace(old, new, int(count))


def _capitalize(value: Any) -> str:
    lowered = _written(value).lower()
    return lowered[:1].upper() + lowered[1:]


def _title(value: Any) -> str:
    return " ".join(_capitalize(word) for word in _written(value).split(" "))


def _first(value: Any) -> Any:
    found = member(value, 0)
    return "" if found is MISSING else found


def _last(value: Any) -> Any:
    found = member(value, len(value) - 1) if isinstance(value, str | list) else MISSING
    return "" if found is MISSING else found


def _escape(value: Any) -> str:
    return html.escape(_written(value)).replace("&#x27;", "&#39;")


FILTERS: dict[str, Callable[..., Any]] = {
    "abs": lambda value: abs(number(_plain(value))),
    "capitalize": _capitalize,
    "d": _default,
    "default": _default,
    "dump": _dump,
    "e": _escape,
    "escape": _escape,
    "first": _first,
    "float": _float,
    "int": _int,
    "join": _join,
    "last": _last,
    "length": _length,
    "lower": lambda value: _written(value).lower(),
    "replace": _replace,
    "round": _round,
    "safe": _text_of,
    "string": _text_of,
    "title": _title,
    "trim": lambda value: js_values.trim(_written(value)),
    "upper": lambda value: _written(value).upper(),
}
"""Filters that differ from Jinja's, which the rest below are taken from."""

_SHARED = (
    "batch",
    "center",
    "dictsort",
    "forceescape",
    "groupby",
    "indent",
    "list",
    "reject",
    "rejectattr",
    "reverse",
    "select",
    "selectattr",
    "slice",
    "sort",
    "striptags",
    "sum",
    "truncate",
    "urlencode",
    "wordcount",
)


def _sized(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose operands, and numbers such as a width, are work to be spent before it begins."""

    @wraps(made)
    def filtered(*given: Any, **named: Any) -> Any:
        numbers = [abs(value) for value in (*given[1:], *named.values()) if isinstance(value, int | float)]
        lines = max((value.count("\n") + 1 for value in given if isinstance(value, str)), default=1)
        spend(sum(numbers) * lines)
        result = made(*given, **named)
        return TruthyList(_turned(result)) if isinstance(result, Iterator) else result

    return weighing(filtered, TIMES.get(name, 1))


def _turned(items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        spend(TURN)
        yield item


@cache
def environment() -> _Environment:
    """The one environment: no loader, no autoescape, trailing line feeds kept."""
    made = _Environment(
        undefined=Nothing,
        finalize=_finished,
        keep_trailing_newline=True,
        extensions=[_Lines],
        cache_size=0,
        optimized=False,  # working out constants takes the cube of a tag's nesting
    )
    shared = {name: _sized(name, made.filters[name]) for name in _SHARED}
    shared["sum"] = adding(shared["sum"])
    ours = {name: weighing(written, TIMES.get(name, 1)) for name, written in FILTERS.items()}
    made.filters = {**shared, **ours}
    made.tests = {name: weighing(test) for name, test in dict[str, Any](made.tests).items()}
    made.globals = {"range": jinja2.sandbox.safe_range}
    return made
