"""JSON as it is everywhere but in replies of models: strict, refused with the reason, and value by value with lines.

NaN, infinities and halves of characters (lone surrogates) are not JSON: other readers refuse them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

from promptpex.core.errors import InputError
from promptpex.core.surrogates import has_surrogate

MAX_DEPTH = 200
"""How deep the values of foreign files may be nested, so that whoever walks through them needs no guard of its own."""
_BLANK = re.compile(r"[ \t\r\n]*")


def refuse_constant(word: str) -> NoReturn:
    """The ``parse_constant`` of every strict reader: NaN and the infinities, which Python would read.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{word} is not JSON")


DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def loads(text: str) -> Any:
    """The value of a JSON text; NaN, infinities and lone surrogates are refused.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    value = json.loads(text, parse_constant=refuse_constant)
    _refuse_halves(text, value)
    return value


def _refuse_halves(text: str, value: object) -> None:
    may_hold_one = "\\ud" in text.lower() or has_surrogate(text)
    if may_hold_one and holds_half(value):
        raise ValueError("it contains half a character (a lone surrogate)")


def holds_half(value: object) -> bool:
    return has_surrogate(json.dumps(value, ensure_ascii=False))


def why_not_json(failure: Exception) -> str:
    """What a failure of ``loads``, or of decoding its text, says to people."""
    if isinstance(failure, UnicodeDecodeError):
        return f"byte {failure.start} is not UTF-8"
    if isinstance(failure, json.JSONDecodeError):
        return f"{failure.msg} (column {failure.colno})"
    if isinstance(failure, RecursionError):
        return "it is nested too deeply"
    return "a number has too many digits" if "digits" in str(failure) else str(failure)


def is_too_deep(value: object) -> bool:
    """Whether a value is nested deeper than ``MAX_DEPTH``."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


class ValueReader:
    """The values of a text, one after the other, with the line that is reached.

    Args:
        text: of JSON values between which other signs may stand.
    """

    def __init__(self, text: str, path: Path) -> None:
        self._text, self._path = text, path
        self._place, self._counted, self._line = 0, 0, 1

    def line(self) -> int:
        """The line that the next value begins on, from 1."""
        self._blank()
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line

    def skip(self, sign: str) -> bool:
        self._blank()
        is_next = self._text.startswith(sign, self._place)
        self._place += len(sign) if is_next else 0
        return is_next

    def at_end(self) -> bool:
        """Whether nothing follows but blanks."""
        self._blank()
        return self._place >= len(self._text)

    def value(self) -> object:
        """The next value."""
        begin = self._place
        try:
            value, self._place = DECODER.raw_decode(self._text, begin)
            if is_too_deep(value):
                raise RecursionError
            _refuse_halves(self._text[begin : self._place], value)
        except json.JSONDecodeError as failure:
            raise self.fail(f"this is not valid JSON: {failure.msg}", failure.pos) from None
        except (ValueError, RecursionError) as failure:
            raise self.fail(f"this is not valid JSON: {why_not_json(failure)}", begin) from None
        return value

    def fail(self, message: str, place: int | None = None) -> InputError:
        line = self._text.count("\n", 0, self._place if place is None else place) + 1
        return InputError(message, path=self._path, line=line)

    def _blank(self) -> None:
        blanks = _BLANK.match(self._text, self._place)
        self._place = blanks.end() if blanks is not None else self._place


_PART = re.compile(r'"(?:[^"\\\n]|\\.)*"|(//[^\n]*|/\*[\s\S]*?\*/)')
"""A string, or a comment; whichever begins first."""


def without_comments(text: str) -> str:
    """The text with blanks in place of comments, every line where it was; what is not JSON without them stays as it is,
    since the same signs mean something else in YAML.

    Args:
        text: of a file that may be JSON or YAML.
    """
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")) or not ("//" in text or "/*" in text):
        return text
    plain = _PART.sub(lambda part: part.group() if part.group(1) is None else _blank(part.group()), text)
    try:
        json.loads(plain.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return text
    return plain


def _blank(comment: str) -> str:
    return re.sub(r"[^\n]", " ", comment)
