"""The keywords of JSON schemas that decide as JavaScript does, on top of the package jsonschema's.

Patterns are V8's, with the flag ``u``; ``multipleOf`` divides doubles, or decimals where that is asked for; lengths
count code points; ``integer`` takes ``1.0``; and every keyword looks at the clock first.

``format`` takes the names and the strictness of ajv-formats 3, by the RFCs they name.
"""

from __future__ import annotations

import datetime
import ipaddress
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from promptpex.assertions import time_limits
from promptpex.assertions.javascript import js_values, v8
from promptpex.assertions.model import Unscorable
from promptpex.codecs.text.wording import quoted_json
from promptpex.core.translation import stored

if TYPE_CHECKING:
    from jsonschema import TypeChecker, ValidationError
    from referencing import Registry


_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:(z)|([+-])(\d\d)(?::?(\d\d))?)?", re.ASCII | re.I)
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?", re.ASCII | re.I)
_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_EMAIL = re.compile(
    rf"{_ATOM}(?:\.{_ATOM})*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?",
    re.ASCII | re.I,
)
_UUID = re.compile(r"(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.I)
_DURATION = re.compile(r"P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)", re.ASCII)
_URI_CHARACTERS = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_URL = re.compile(
    r"(?:https?|ftp)://(?:\S+@)?(?:\d{1,3}(?:\.\d{1,3}){3}|[^\s/?#.:]+(?:\.[^\s/?#.:]+)*\.[^\W\d_]{2,})"
    r"(?::\d{2,5})?(?:/\S*)?",
    re.I,
)
_URI_TEMPLATE = re.compile(
    r"(?:[^\x00-\x20\"'<>%\\^`{|}]|%[0-9a-f]{2}|"
    r"\{[+#./;?&=,!@|]?(?:\w|%[0-9a-f]{2})+(?::[1-9]\d{0,3}|\*)?(?:,(?:\w|%[0-9a-f]{2})+(?::[1-9]\d{0,3}|\*)?)*\})*",
    re.ASCII | re.I,
)
_POINTER = re.compile(r"(?:/(?:[^~/]|~0|~1)*)*")
_POINTER_FRAGMENT = re.compile(r"#(?:/(?:[a-z0-9_\-.!$&'()*+,;:=@]|%[0-9a-f]{2}|~0|~1)*)*", re.ASCII | re.I)
_RELATIVE_POINTER = re.compile(r"(?:0|[1-9]\d*)(?:#|(?:/(?:[^~/]|~0|~1)*)*)", re.ASCII)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def _date(value: str) -> bool:
    match = _DATE.fullmatch(value)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups())
    try:
        datetime.date(year or 4, month, day)
    except ValueError:
        return False
    return True


def _time(value: str, zone_needed: bool = True) -> bool:
    match = _TIME.fullmatch(value)
    if match is None:
        return False
    hour, minute, second = (int(match.group(index)) for index in (1, 2, 3))
    zoned = match.group(4) is not None or match.group(5) is not None
    offset_hour, offset_minute = int(match.group(6) or 0), int(match.group(7) or 0)
    if (zone_needed and not zoned) or offset_hour > 23 or offset_minute > 59:
        return False
    if hour <= 23 and minute <= 59 and second < 60:
        return True
    sign = -1 if match.group(5) == "-" else 1
    return second == 60 and _leap(hour * 60 + minute - sign * (offset_hour * 60 + offset_minute))


def _leap(minutes: int) -> bool:
    return minutes % (24 * 60) == 24 * 60 - 1


def _date_time(value: str, zone_needed: bool = True) -> bool:
    parts = re.split("[tT" + js_values.BLANKS + "]", value)
    return len(parts) == 2 and _date(parts[0]) and _time(parts[1], zone_needed)


def _hostname(value: str) -> bool:
    body = value.removesuffix(".")
    return len(value) <= 253 and bool(body) and all(_LABEL.fullmatch(label) for label in body.split("."))


def _ipv4(value: str) -> bool:
    try:
        ipaddress.IPv4Address(value)
    except ValueError:
        return False
    return True


def _ipv6(value: str) -> bool:
    try:
        ipaddress.IPv6Address(value)
    except ValueError:
        return False
    return "%" not in value


def _reference(value: str) -> bool:
    return _URI_CHARACTERS.fullmatch(value) is not None and value.count("#") <= 1


def _uri(value: str) -> bool:
    return bool(_SCHEME.match(value)) and _reference(value) and len(value.split(":", 1)[1]) > 0


def _regex(value: str) -> bool:
    if value.endswith("\\Z"):
        return False
    try:
        v8.REGEXES.test(value, "", "u")
    except Unscorable:
        return False
    return True


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None


def _whole(bits: int) -> Callable[[float], bool]:
    def test(value: float) -> bool:
        number = js_values.as_double(value)
        return number.is_integer() and -(2 ** (bits - 1)) <= number <= 2 ** (bits - 1) - 1

    return test


TEXTS: dict[str, Callable[[str], bool]] = {
    "date": _date,
    "time": _time,
    "date-time": _date_time,
    "iso-time": lambda value: _time(value, zone_needed=False),
    "iso-date-time": lambda value: _date_time(value, zone_needed=False),
    "duration": _matches(_DURATION),
    "uri": _uri,
    "uri-reference": _reference,
    "uri-template": _matches(_URI_TEMPLATE),
    "url": _matches(_URL),
    "email": _matches(_EMAIL),
    "hostname": _hostname,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "regex": _regex,
    "uuid": _matches(_UUID),
    "json-pointer": _matches(_POINTER),
    "json-pointer-uri-fragment": _matches(_POINTER_FRAGMENT),
    "relative-json-pointer": _matches(_RELATIVE_POINTER),
    "byte": _matches(_BASE64),
    "password": lambda value: True,
    "binary": lambda value: True,
}
"""Formats of texts."""

NUMBERS: dict[str, Callable[[float], bool]] = {
    "int32": _whole(32),
    "int64": _whole(64),
    "float": lambda value: True,
    "double": lambda value: True,
}
"""Formats of numbers."""

NAMES = frozenset(TEXTS) | frozenset(NUMBERS)


def holds(name: str, value: object) -> bool:
    """Whether the value follows the format; values of another type always do."""
    if isinstance(value, str) and name in TEXTS:
        return TEXTS[name](value)
    if js_values.is_number(value) and name in NUMBERS:
        return NUMBERS[name](value)
    return True


SchemaData: TypeAlias = Mapping[str, object]
Subschema: TypeAlias = "SchemaData | bool"


class Validator(Protocol):
    """What is used of jsonschema's validators."""

    def iter_errors(self, instance: object) -> Iterator[ValidationError]: ...

    def is_type(self, instance: object, type: str) -> bool: ...

    def descend(
        self, instance: object, schema: Subschema, path: str | None = None, schema_path: str | None = None
    ) -> Iterator[ValidationError]: ...


Keyword = Callable[[Validator, Any, object, SchemaData], "Iterable[ValidationError] | None"]
"""What decides a keyword: the validator, the keyword's own value, the JSON value, the schema around it."""


def validator(schema: SchemaData, draft: Any = None, exact: bool = False) -> Validator:
    """The validator of a schema; references are looked up in it and in the drafts themselves, nothing is fetched."""
    return _validator_class(draft, exact)(schema, registry=drafts())


@cache
def drafts() -> Registry[Any]:
    """The schemas of the drafts, and nothing else."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    registry: Registry[Any] = REGISTRY
    return registry


def _timed(keyword: Keyword) -> Keyword:
    """The keyword's function, looking at the clock first: references that branch again and again would not end."""

    def evaluate(
        validator: Validator, wanted: Any, value: object, schema: SchemaData
    ) -> Iterable[ValidationError] | None:
        time_limits.tick()
        return keyword(validator, wanted, value, schema)

    return evaluate


@cache
def _validator_class(draft: Any = None, exact: bool = False) -> Callable[..., Validator]:
    from jsonschema import Draft7Validator
    from jsonschema.validators import extend

    base: Any = draft or Draft7Validator

    keywords: dict[str, Keyword] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "multipleOf": _exact_multiple_of if exact else _multiple_of,
        "format": _format,
        "type": _type,
        "minLength": _min_length,
        "maxLength": _max_length,
        "uniqueItems": _unique_items,
    }
    timed = {name: _timed(keyword) for name, keyword in {**base.VALIDATORS, **keywords}.items()}
    extend_validator: Any = extend  # its type says too little of what it takes and gives
    extended: Callable[..., Validator] = extend_validator(base, validators=timed, type_checker=_types())
    return extended


def _types() -> TypeChecker:
    from jsonschema import TypeChecker

    checker: Any = TypeChecker  # its type has these functions take one argument; they are given two
    types: TypeChecker = checker(
        {
            "any": lambda _, value: True,
            "array": lambda _, value: isinstance(value, list),
            "boolean": lambda _, value: isinstance(value, bool),
            "integer": lambda _, value: js_values.is_number(value) and float(js_values.as_double(value)).is_integer(),
            "null": lambda _, value: value is None,
            "number": lambda _, value: js_values.is_number(value),
            "object": lambda _, value: isinstance(value, dict),
            "string": lambda _, value: isinstance(value, str),
        }
    )
    return types


def _wrong(message: str) -> ValidationError:
    from jsonschema import ValidationError

    return ValidationError(message)


def _no_multiple(value: float, factor: float) -> ValidationError:
    number, of = js_values.number_text(value), js_values.number_text(factor)
    return _wrong(stored("{number} is not a multiple of {limit}", number=number, limit=of))


def _type(validator: Validator, wanted: object, value: object, schema: SchemaData) -> Iterator[ValidationError]:
    names = wanted if isinstance(wanted, list) else [wanted]
    if value is None and schema.get("nullable") is True:
        return
    if not any(validator.is_type(value, str(name)) for name in names):
        actual, types = quoted_json(js_values.compact_json(value)), ", ".join(map(str, names))
        yield _wrong(stored("{quoted} is not of type {types}", quoted=actual, types=types))


def _pattern(validator: Validator, pattern: str, value: object, schema: SchemaData) -> Iterator[ValidationError]:
    if isinstance(value, str) and not v8.REGEXES.test(pattern, value, "u"):
        actual = quoted_json(value)
        yield _wrong(
            stored("{quoted} does not match {quoted_pattern}", quoted=actual, quoted_pattern=quoted_json(pattern))
        )


def _pattern_properties(
    validator: Validator, patterns: Mapping[str, Subschema], value: object, schema: SchemaData
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    for pattern, part in patterns.items():
        for name, item in value.items():
            if v8.REGEXES.test(pattern, name, "u"):
                yield from validator.descend(item, part, path=name, schema_path=pattern)


def _additional_properties(
    validator: Validator, part: Subschema, value: object, schema: SchemaData
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    named, patterns = _names(schema, "properties"), _names(schema, "patternProperties")
    for name, item in value.items():
        if name in named or any(v8.REGEXES.test(pattern, name, "u") for pattern in patterns):
            continue
        if part is False:
            yield _wrong(stored("the property {quoted} is not allowed", quoted=quoted_json(name)))
        elif part is not True:
            yield from validator.descend(item, part, path=name)


def _names(schema: SchemaData, key: str) -> Iterable[str]:
    names = schema.get(key)
    return names if isinstance(names, Mapping) else ()


def _multiple_of(validator: Validator, factor: float, value: object, schema: SchemaData) -> Iterator[ValidationError]:
    if not js_values.is_number(value):
        return
    quotient = js_values.as_double(value) / js_values.as_double(factor)
    if not quotient.is_integer():
        yield _no_multiple(value, factor)


def _exact_multiple_of(
    validator: Validator, factor: float, value: object, schema: SchemaData
) -> Iterator[ValidationError]:
    if js_values.is_number(value) and not _divides(factor, value):
        yield _no_multiple(value, factor)


def _divides(factor: float, value: float) -> bool:
    """Whether the decimals that both are written as divide: 19.99 is 1999/100, not the double next to it."""
    if not all(math.isfinite(js_values.as_double(number)) for number in (factor, value)):
        return False
    return Fraction(js_values.number_text(value)) % Fraction(js_values.number_text(factor)) == 0


def _format(validator: Validator, name: str, value: object, schema: SchemaData) -> Iterator[ValidationError]:
    if name in NAMES and not holds(name, value):
        yield _wrong(
            stored("{quoted} is not a valid {format}", quoted=quoted_json(js_values.compact_json(value)), format=name)
        )


def _unique_items(validator: Validator, wanted: object, value: object, schema: SchemaData) -> Iterator[ValidationError]:
    if wanted is True and isinstance(value, list):
        seen: set[object] = set()
        for item in value:
            if (mark := hashable(item)) in seen:
                yield _wrong(stored("{quoted} is there twice", quoted=quoted_json(js_values.compact_json(item))))
                return
            seen.add(mark)


def _min_length(validator: Validator, least: float, value: object, schema: SchemaData) -> Iterator[ValidationError]:
    if isinstance(value, str) and len(value) < least:
        yield _wrong(stored("{quoted} is shorter than {least}", quoted=quoted_json(value), least=least))


def _max_length(validator: Validator, most: float, value: object, schema: SchemaData) -> Iterator[ValidationError]:
    if isinstance(value, str) and len(value) > most:
        yield _wrong(stored("{quoted} is longer than {most}", quoted=quoted_json(value), most=most))


def hashable(value: object) -> object:
    """Something that is equal for equal JSON values alone: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return "object", frozenset((name, hashable(item)) for name, item in value.items())
    if isinstance(value, list):
        return "list", tuple(hashable(item) for item in value)
    if js_values.is_number(value):
        return "number", js_values.as_double(value)
    return type(value).__name__, value
