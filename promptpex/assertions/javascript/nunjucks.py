"""The template engine behind ``templates``: Jinja's sandbox with the arithmetic, texts and filters of nunjucks 3."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, wraps

import jinja2
import jinja2.sandbox
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

from promptpex.assertions.javascript import js_values
from promptpex.assertions.javascript.js_values import MISSING
from promptpex.core.jinja_limits import TIMES, TURN, BudgetedEnvironment, adding, spend, weighed, weighing


class TruthyList(list[object]):
    """A list that is true even when empty, as in JavaScript."""

    def __bool__(self) -> bool:
        return True


class TruthyDict(dict[str, object]):
    """An object that is true even when empty, as in JavaScript."""

    def __bool__(self) -> bool:
        return True


def wrapped(value: object) -> object:
    """A JSON value as the templates see it."""
    if isinstance(value, list | tuple):
        return TruthyList(wrapped(item) for item in value)
    if isinstance(value, Mapping):
        return TruthyDict((str(key), wrapped(value[key])) for key in js_values.ordered_keys(value))
    return value


WORK = 50_000_000
"""Characters that a rendering may work on in all: a second or two."""


class JsUndefined(jinja2.ChainableUndefined):
    """An undefined value: empty as text, also deep; not a number in arithmetic; cannot be called."""

    __slots__ = ()

    def __iter__(self) -> Iterator[object]:
        return iter(())


class _RefuseDottedNumbers(Extension):
    """Refuses ``list.1``, which nunjucks does not know."""

    def filter_stream(self, stream: TokenStream) -> Iterable[Token]:
        before = None
        for token in stream:
            if before == "dot" and token.type in ("integer", "float"):
                raise jinja2.TemplateSyntaxError("a number after a dot; write list[0]", token.lineno)
            before = token.type
            yield token


class NunjucksEnvironment(BudgetedEnvironment):
    """No loader, no autoescape; names, operators and texts are JavaScript's."""

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

    def call_binop(self, context: object, operator: str, left: object, right: object) -> object:
        weighed(left, right)
        result = arithmetic(operator, _plain(left), _plain(right))
        spend(len(result) if isinstance(result, str) else 1)
        return result

    def joined(self, parts: Iterable[object]) -> str:
        texts = [_written(part) for part in parts]
        spend(sum(map(len, texts)))
        return "".join(texts)

    def getattr(self, obj: object, attribute: str) -> object:
        return self.getitem(obj, attribute)

    def getitem(self, obj: object, argument: object) -> object:
        value = member(obj, argument)
        return self.undefined(obj=obj, name=str(argument)) if value is MISSING else value

    def is_safe_callable(self, obj: object) -> bool:
        """The environment's own calls, ``range``, the functions of loops, and macros; no method of a value."""
        ours = obj == self.turn or obj in self.globals.values()
        return ours or isinstance(obj, jinja2.runtime.Macro)


def member(obj: object, key: object) -> object:
    """``obj[key]`` for JSON values: own keys, indexes and ``length``; ``MISSING`` for everything else.

    A text that is a JSON object has its keys, so that ``{{ order.status }}`` works where the input is a JSON text.
    """
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
    if isinstance(obj, str) and isinstance(key, str):
        spend(len(obj))
        return _object_in(obj).get(key, MISSING)
    return MISSING


@lru_cache(maxsize=8)
def _object_in(text: str) -> Mapping[str, object]:
    """The JSON object that a text is; an empty one where it is none."""
    try:
        value = js_values.strict_json(text) if text.lstrip().startswith("{") else None
    except js_values.NotJson:
        value = None
    return TruthyDict((name, wrapped(part)) for name, part in value.items()) if isinstance(value, dict) else {}


_LOOP = frozenset(("index", "index0", "revindex", "revindex0", "first", "last", "length"))


def _plain(value: object) -> object:
    return MISSING if isinstance(value, jinja2.Undefined) else value


def _written(value: object) -> str:
    value = _plain(value)
    return "" if value is None or value is MISSING else _text(value)


def _text(value: object) -> str:
    """The value as JavaScript's text. A list is counted first: it may hold itself doubled, again and again."""
    return js_values.text(weighed(value) if isinstance(value, list) else value)


def _finished(value: object) -> str:
    """What ``{{ value }}`` writes."""
    text = _written(value)
    spend(len(text))
    return text


def arithmetic(operator: str, left: object, right: object) -> object:
    """JavaScript's binary operators: ``+`` joins when one side is not a number, the others count."""
    if operator == "+" and (_joins(left) or _joins(right)):
        return js_values.text(left) + js_values.text(right)
    return _counted(operator, number(left), number(right))


def _joins(value: object) -> bool:
    return isinstance(value, str | list | Mapping)


def number(value: object) -> float:
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


def _text_of(value: object) -> str:
    return _written(value)


def _int(value: object, default: object = 0, base: int = 10) -> object:
    digits = _SIGNED.match(js_values.trim(_written(value)))
    try:
        return int(digits.group().rstrip("+-"), base) if digits else default
    except ValueError:
        return default


_SIGNED = re.compile(r"[+\-0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _float(value: object, default: object = 0) -> object:
    decimal = _DECIMAL.match(js_values.trim(_written(value)))
    return float(decimal.group()) if decimal else default


def _round(value: object, precision: object = 0, method: str = "round") -> object:
    places = int(number(_plain(precision)) or 0)
    factor = 10.0**places
    scaled = js_values.as_double(number(_plain(value))) * factor
    if not math.isfinite(scaled):
        return scaled
    whole = {"ceil": math.ceil, "floor": math.floor}.get(method, lambda given: math.floor(given + 0.5))(scaled)
    result = whole / factor
    return f"{result:.{places}f}" if places > 0 else result


def _dump(value: object, spaces: object = None) -> str:
    return js_values.compact_json(_plain(value))


def _join(value: object, delimiter: object = "", attribute: object = None) -> str:
    items = value if isinstance(value, list) else []
    picked = [member(item, attribute) if attribute is not None else item for item in items]
    between, texts = _written(delimiter), [_written(item) for item in picked]
    spend(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _length(value: object) -> int:
    value = _plain(value)
    if isinstance(value, str):
        return len(weighed(value)) + sum(character > "\uffff" for character in value)
    return len(value) if isinstance(value, list | Mapping) else 0


def _default(value: object, default: object = "", falsy: object = False) -> object:
    if falsy:
        return value if value else default
    return default if isinstance(value, jinja2.Undefined) else value


def _replace(value: object, old: object, new: object, count: int = -1) -> str:
    text, old, new = _written(value), _written(old), _written(new)
    spend(len(text) + text.count(old) * len(new))
    return text.replace(old, new, int(count))


def _capitalize(value: object) -> str:
    lowered = _written(value).lower()
    return lowered[:1].upper() + lowered[1:]


def _title(value: object) -> str:
    return " ".join(_capitalize(word) for word in _written(value).split(" "))


def _first(value: object) -> object:
    item = member(value, 0)
    return "" if item is MISSING else item


def _last(value: object) -> object:
    item = member(value, len(value) - 1) if isinstance(value, str | list) else MISSING
    return "" if item is MISSING else item


def _escape(value: object) -> str:
    return html.escape(_written(value)).replace("&#x27;", "&#39;")


FILTERS: dict[str, Callable[..., object]] = {
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


def _sized(name: str, made: Callable[..., object]) -> Callable[..., object]:
    """A filter whose operands, and numbers such as a width, are work to be spent before it begins."""

    @wraps(made)
    def filtered(*given: object, **named: object) -> object:
        numbers = [abs(value) for value in (*given[1:], *named.values()) if isinstance(value, int | float)]
        lines = max((value.count("\n") + 1 for value in given if isinstance(value, str)), default=1)
        spend(sum(numbers) * lines)
        result = made(*given, **named)
        return TruthyList(_turned(result)) if isinstance(result, Iterator) else result

    return weighing(filtered, TIMES.get(name, 1))


def _turned(items: Iterator[object]) -> Iterator[object]:
    for item in items:
        spend(TURN)
        yield item


@cache
def environment() -> NunjucksEnvironment:
    """The one environment of the process."""
    nunjucks = NunjucksEnvironment(WORK, undefined=JsUndefined, finalize=_finished, extensions=[_RefuseDottedNumbers])
    shared = {name: _sized(name, nunjucks.filters[name]) for name in _SHARED}
    shared["sum"] = adding(shared["sum"])
    ours = {name: weighing(function, TIMES.get(name, 1)) for name, function in FILTERS.items()}
    nunjucks.filters = {**shared, **ours}
    nunjucks.globals = {"range": jinja2.sandbox.safe_range}
    return nunjucks
