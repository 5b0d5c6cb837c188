"""The ``format`` keyword of JSON schemas: the names and the strictness of ajv-formats 3, by the RFCs they name."""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Callable

from promptpex.assertions.javascript import js_values, v8
from promptpex.assertions.model import Unscorable

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
    """A leap second is the last of a day in UTC."""
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
