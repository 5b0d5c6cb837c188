"""The same JSON written otherwise: with or without escapes, in another layout, with its keys in another order.

A rule about what JSON says holds of all of these, so a check that tells them apart reads the text and not the values.
Numbers are written as they were: 19.90 may say more than 19.9.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from promptpex.codecs.json_text import refuse_constant

LONGEST, DEEPEST = 20_000, 40
"""Characters of an output that is written otherwise, and levels of its nesting; beyond them it is left alone."""


class _Number(str):
    """A number, letter by letter."""


class _Members(tuple[tuple[str, object], ...]):
    """The members of an object, in order."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """The same JSON in another form: ``how`` it is written, in words, and the text."""

    how: str
    text: str


def renderings(text: str) -> Iterator[Rendering]:
    """The other forms of a text that is JSON, an object or a list; none of any other text, or where two members of an
    object have one name."""
    value = _read(text)
    if value is None:
        return
    forms = (
        ("with escapes", _written(value, _escaped)),
        ("without escapes", _written(value)),
        ("without white space", _written(value, between="", after=":")),
        ("indented", _written(value, indent=2)),
        ("with its keys in another order", _written(_turned(value))),
    )
    for how, form in forms:
        if form != text.strip():
            yield Rendering(how, form)


def json_value(text: str) -> object:
    """What a text says that is JSON, an object or a list, to be compared with ``==`` whatever its form; None if it is
    something else."""
    value = _read(text)
    return None if value is None else _unordered(value)


def _read(text: str) -> object:
    if len(text) > LONGEST or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value: object = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=refuse_constant, object_pairs_hook=_members
        )
        return None if _depth(value) > DEEPEST else value
    except (ValueError, RecursionError):
        return None


def _members(pairs: list[tuple[str, object]]) -> _Members:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("two members of one name")
    return _Members(pairs)


def _parts(value: object) -> list[object]:
    if isinstance(value, _Members):
        return [part for _, part in value]
    return value if isinstance(value, list) else []


def _depth(value: object) -> int:
    return 1 + max(map(_depth, _parts(value)), default=0)


def _turned(value: object) -> object:
    """The value with the members of its objects in the opposite order."""
    if isinstance(value, _Members):
        return _Members((name, _turned(part)) for name, part in reversed(value))
    return [_turned(part) for part in value] if isinstance(value, list) else value


def _unordered(value: object) -> object:
    if isinstance(value, _Members):
        return {name: _unordered(part) for name, part in value}
    if isinstance(value, list):
        return [_unordered(part) for part in value]
    return ("number", str(value)) if isinstance(value, _Number) else value


def _escaped(part: str) -> str:
    """A string with escapes where JSON allows them: of running text every letter, as it would be in most languages;
    of names, ids and dates what is not ASCII, and slashes."""
    signs = f'"{"".join(map(_escaped_sign, part))}"' if " " in part.strip() else json.dumps(part)
    return signs.replace("/", "\\/")


def _escaped_sign(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if sign.isascii() and sign.isalpha() else json.dumps(sign)[1:-1]


def _plain(part: str) -> str:
    return json.dumps(part, ensure_ascii=False)


def _written(
    value: object,
    string: Callable[[str], str] = _plain,
    *,
    between: str = " ",
    after: str = ": ",
    indent: int = 0,
    level: int = 1,
) -> str:
    """The JSON text of a value.

    Args:
        string: writes a string.
        between: stands behind each comma, unless each part gets a line of its own.
        after: stands between the name of a member and its value.
        indent: blanks of each level; 0 = all on one line.
        level: how deep the value stands.
    """

    def inner(part: object) -> str:
        return _written(part, string, between=between, after=after, indent=indent, level=level + 1)

    if isinstance(value, _Members):
        return _listed("{}", [f"{string(name)}{after}{inner(part)}" for name, part in value], between, indent, level)
    if isinstance(value, list):
        return _listed("[]", [inner(part) for part in value], between, indent, level)
    if isinstance(value, _Number):
        return str(value)
    return string(value) if isinstance(value, str) else json.dumps(value)


def _listed(brackets: str, parts: list[str], between: str, indent: int, level: int) -> str:
    opening, closing = brackets[0], brackets[1]
    if not (parts and indent):
        return f"{opening}{f',{between}'.join(parts)}{closing}"
    line = "\n" + " " * indent * level
    return f"{opening}{line}{f',{line}'.join(parts)}{line[:-indent]}{closing}"
