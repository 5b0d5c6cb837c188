"""Values as JavaScript sees them: numbers and objects as text, blanks, UTF-16 strings, strict JSON (ECMA-262, 2025).

JSON in other text is every object or list that strict JSON reads, from left to right. promptfoo reads braces as YAML,
so that ``Hello {name}!`` counts as JSON there and ``{"a": "}"}`` does not. Replies to our own questions are read by
another rule (``codecs.model_json``): there one answer is wanted, repaired where it is broken.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TypeGuard

from promptpex.core.surrogates import escape_surrogates, has_surrogate
from promptpex.core.translation import stored

BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What JavaScript trims and what ``\\s`` matches; Python's own set differs by U+001C-1F, U+0085 and U+FEFF."""

_BLANK_TABLE = {ord(blank): " " for blank in BLANKS}
_SAFE_INTEGER = 2**53
_LAST_ARRAY_INDEX = 2**32 - 2


class Missing:
    """What JavaScript calls ``undefined``: no value was given."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "undefined"

    def __bool__(self) -> bool:
        return False


MISSING = Missing()


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_double(value: float) -> float:
    """The number as an IEEE double; integers too large for one become infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def number_text(value: float) -> str:
    """``Number::toString`` (ECMA-262, section 6.1.6.1.20): ``1.0`` is ``1``, ``1e21`` is ``1e+21``, ``-0`` is ``0``."""
    if isinstance(value, int) and abs(value) <= _SAFE_INTEGER:
        return str(value)
    number = as_double(value)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    digits, point = _shortest_digits(abs(number))
    return sign + _placed(digits, point)


def _shortest_digits(number: float) -> tuple[str, int]:
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return digits.rstrip("0"), point


def _placed(digits: str, point: int) -> str:
    if 0 < point <= 21:
        if len(digits) <= point:
            return digits + "0" * (point - len(digits))
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    exponent = point - 1
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{'+' if exponent >= 0 else '-'}{abs(exponent)}"


def text(value: object) -> str:
    """``String(value)``: lists joined by commas with null as nothing, objects as ``[object Object]``."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, list | tuple):
        return ",".join("" if item is None or item is MISSING else text(item) for item in value)
    if isinstance(value, Mapping):
        return "[object Object]"
    return repr(value) if value is MISSING else str(value)


def compact_json(value: object) -> str:
    parts: list[str] = []
    _write(value, parts.append)
    return "".join(parts)


def _write(value: object, put: Callable[[str], None]) -> None:
    if isinstance(value, str):
        put(quoted(value))
    elif isinstance(value, list | tuple):
        put("[")
        for index, item in enumerate(value):
            if index:
                put(",")
            _write(item, put)
        put("]")
    elif isinstance(value, Mapping):
        put("{")
        for index, key in enumerate(ordered_keys(value)):
            put("," if index else "")
            put(quoted(str(key)) + ":")
            _write(value[key], put)
        put("}")
    elif is_number(value) and not math.isfinite(as_double(value)):
        put("null")
    else:
        put("null" if value is MISSING else text(value))


def quoted(value: str) -> str:
    written = json.dumps(value, ensure_ascii=False)
    if has_surrogate(value):
        pairs = from_utf16(to_utf16(written))
        return escape_surrogates(pairs)
    return written


def ordered_keys(value: Mapping[object, object]) -> list[object]:
    indexes = [key for key in value if _is_index(key)]
    if not indexes:
        return list(value)
    rest = [key for key in value if not _is_index(key)]
    return sorted(indexes, key=lambda key: int(str(key))) + rest


def _is_index(key: object) -> bool:
    name = str(key)
    return name.isascii() and name.isdigit() and (name == "0" or name[0] != "0") and _small_index(name)


def _small_index(name: str) -> bool:
    return len(name) <= 10 and int(name) <= _LAST_ARRAY_INDEX


def output_text(output: object) -> str:
    """An output as the text that checks read: a string as it is, anything else as compact JSON."""
    return output if isinstance(output, str) else compact_json(output)


def to_utf16(value: str) -> bytes:
    """The code units, two bytes each, little end first; lone surrogates kept."""
    return value.encode("utf-16-le", "surrogatepass")


def from_utf16(units: bytes) -> str:
    """The text of code units; surrogate pairs joined, lone ones kept."""
    return units.decode("utf-16-le", "surrogatepass")


def units(value: str) -> list[int]:
    raw = memoryview(to_utf16(value)).cast("H")
    return raw.tolist()


def includes(whole: str, part: str) -> bool:
    if part in whole:
        return True
    if not _edge_surrogate(part):
        return False
    return _find_units(to_utf16(whole), to_utf16(part)) >= 0


def _edge_surrogate(part: str) -> bool:
    return bool(part) and ("\ud800" <= part[0] <= "\udfff" or "\ud800" <= part[-1] <= "\udfff")


def _find_units(whole: bytes, part: bytes) -> int:
    at = whole.find(part)
    while at > 0 and at % 2 == 1:
        at = whole.find(part, at + 1)
    return at


def starts_with(whole: str, part: str) -> bool:
    return whole.startswith(part) or (_edge_surrogate(part) and to_utf16(whole).startswith(to_utf16(part)))


def ends_with(whole: str, part: str) -> bool:
    return whole.endswith(part) or (_edge_surrogate(part) and to_utf16(whole).endswith(to_utf16(part)))


def trim(value: str) -> str:
    return value.strip(BLANKS)


def trim_end(value: str) -> str:
    return value.rstrip(BLANKS)


def words(value: str) -> list[str]:
    return [word for word in value.translate(_BLANK_TABLE).split(" ") if word]


def to_number(value: str) -> float:
    """``Number(text)``: blanks trimmed, nothing is 0, ``0x``, ``0o`` and ``0b`` read, else NaN."""
    body = trim(value)
    if not body:
        return 0.0
    if "_" in body or not body.isascii():
        return math.nan
    for prefix, base in (("0x", 16), ("0o", 8), ("0b", 2)):
        if body[:2].lower() == prefix:
            return _in_base(body[2:], base)
    if body.lstrip("+-") == "Infinity" and len(body) <= 9:
        return -math.inf if body[0] == "-" else math.inf
    if not set(body) <= set("0123456789.eE+-"):
        return math.nan
    try:
        return float(body)
    except ValueError:
        return math.nan


def _in_base(digits: str, base: int) -> float:
    if not digits or digits[0] in "+-":
        return math.nan
    try:
        return as_double(int(digits, base))
    except ValueError:
        return math.nan


class NotJson(ValueError):
    """The text is not JSON; ``at`` is where reading stopped."""

    def __init__(self, message: str, at: int = 0) -> None:
        self.at = at
        super().__init__(message)


def strict_json(source: str) -> object:
    """What ``JSON.parse`` gives: no NaN, no comments, no byte order mark; numbers beyond 2^53 as doubles.

    Raises:
        NotJson: the text is not JSON, or nests too deep to be read.
    """
    try:
        return _DECODER.decode(source)
    except NotJson:
        raise
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error


def _integer(digits: str) -> int | float:
    if len(digits) > 15:
        double = float(digits)
        return int(double) if abs(double) <= _SAFE_INTEGER else double
    return int(digits)


def _no_constant(name: str) -> object:
    raise NotJson(stored("{name} is not JSON", name=name))


_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=_no_constant)


def same(left: object, right: object) -> bool:
    """Deep equality of JSON values: key order free, ``1`` equals ``1.0``, booleans are not numbers."""
    if is_number(left) and is_number(right):
        return as_double(left) == as_double(right)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        if len(left) != len(right):
            return False
        named = {str(key): item for key, item in right.items()}
        return all(str(key) in named and same(item, named[str(key)]) for key, item in left.items())
    if type(left) is not type(right):
        return False
    return bool(left == right)


def lower(value: str) -> str:
    return value.lower()


def raw_json(source: str, at: int) -> tuple[object, int]:
    """The JSON value that starts at ``at``, and where it ends.

    Raises:
        NotJson: none starts there.
    """
    try:
        return _DECODER.raw_decode(source, at)
    except json.JSONDecodeError as error:
        raise NotJson(error.msg, error.pos) from error
    except RecursionError as error:
        raise NotJson(stored("it nests too deep"), at + sys.getrecursionlimit()) from error


_OPEN = re.compile(r"\{(?=[ \t\n\r]*+[\"}])|\[(?=[ \t\n\r]*+[\"{\[\]\-0-9tfn])")
_ATTEMPT = 8
"""What an attempt counts on top of the characters it looks at."""
_STEPS = 2_000_000
"""Characters that failing attempts may look at in all, each attempt counted as ``_ATTEMPT`` more; hostile text of
nothing but ``[`` is given up then."""


def candidates(output: object) -> Iterator[object]:
    """What ``contains-json`` tries: objects and lists in a text, and the objects inside such a list.

    A structured output is not searched as text: an object is tried itself, a list for the objects it holds.
    """
    if isinstance(output, str):
        for value in in_text(output):
            yield value
            yield from _objects_in(value)
    elif isinstance(output, dict):
        yield output
    else:
        yield from _objects_in(output)


def _objects_in(value: object) -> Iterator[dict[str, object]]:
    waiting = list(reversed(value)) if isinstance(value, list) else []
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
        elif isinstance(item, list):
            waiting.extend(reversed(item))


def first_place(text: str) -> tuple[int, int] | None:
    """Where the first thing that looks like an object or list begins and ends; None where it is not JSON."""
    match = _OPEN.search(text)
    if match is None:
        return None
    try:
        return match.start(), raw_json(text, match.start())[1]
    except NotJson:
        return None


def in_text(text: str) -> Iterator[object]:
    """Objects and lists in ``text``; what stands inside one of them is not given again."""
    at, spent = 0, 0
    window = max(len(text) // 1024, 2048)
    while (match := _OPEN.search(text, at)) is not None and spent <= _STEPS:
        if match.start() > window:  # a failing attempt costs what stands before it: its line is counted from the start
            text, at = text[match.start() :], 0
            continue
        try:
            value, at = raw_json(text, match.start())
        except NotJson as error:
            at = match.start() + 1
            spent += error.at - match.start() + _ATTEMPT
            continue
        yield value
