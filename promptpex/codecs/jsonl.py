"""JSON lines: one JSON value a line, read with the line that is wrong, written so that no half file is seen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpex.codecs.atomic import write_text
from promptpex.codecs.controls import escaped
from promptpex.codecs.ordinary_files import opened
from promptpex.core.errors import InputError

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Line:
    """A value, the line it stands on (from 1), and its text."""

    number: int
    value: Any
    text: str


def dumps(value: Any) -> str:
    """The value on one line, non-ASCII kept where UTF-8 can hold it and no terminal obeys it; NaN and infinities are
    refused.

    Raises:
        ValueError: for NaN and infinities.
    """
    text = escaped(json.dumps(value, ensure_ascii=False, allow_nan=False))
    return json.dumps(value, allow_nan=False) if _SURROGATE.search(text) else text


def parse(
    text: str, *, path: Path | str | None = None, error: type[InputError] = InputError, cut_tail: bool = False
) -> Iterator[Line]:
    """The values of the text's lines, blank lines left out.

    Args:
        cut_tail: leave out a last line without a line end that is no JSON: what a killed writer leaves behind.

    Raises:
        InputError: (as ``error``) a line that is no JSON, with its number.
    """
    raw = text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    yield from _values(raw.split(b"\n"), path, error, cut_tail)


def read(
    path: Path | str, *, what: str, error: type[InputError] = InputError, cut_tail: bool = False
) -> Iterator[Line]:
    """As ``parse``, from a file of any length, line by line.

    Raises:
        InputError: (as ``error``) also for a file that is missing or cannot be read.
    """
    try:
        with opened(Path(path), error=error, what=what) as file:
            yield from _values(_without_ends(file), path, error, cut_tail)
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error(f"the {what} cannot be read: {reason}", path=path) from None


def _without_ends(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without their line ends, and an empty one behind a last line that has its end."""
    ended = True
    for line in lines:
        ended = line.endswith(b"\n")
        yield line.removesuffix(b"\n")
    if ended:
        yield b""


def _values(lines: Iterable[bytes], path: Path | str | None, error: type[InputError], cut_tail: bool) -> Iterator[Line]:
    broken: InputError | None = None
    for number, raw in enumerate(lines, 1):
        if broken is not None:
            raise broken
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8", "surrogatepass").removesuffix("\r")
            if line.strip():
                yield Line(number, _value(line), line)
        except (ValueError, RecursionError) as failure:
            broken = error(f"the line is not valid JSON: {_said(failure)}", path=path, line=number)
    if broken is not None and not cut_tail:
        raise broken


def _said(failure: Exception) -> str:
    if isinstance(failure, UnicodeDecodeError):
        return f"byte {failure.start} is not UTF-8"
    if isinstance(failure, json.JSONDecodeError):
        return f"{failure.msg} (column {failure.colno})"
    return str(failure) or type(failure).__name__


def _value(line: str) -> Any:
    value = json.loads(line, parse_constant=_refuse)
    if "\\ud" in line.lower() or _SURROGATE.search(line):
        _refuse_halves(json.dumps(value, ensure_ascii=False))
    return value


def _refuse_halves(text: str) -> None:
    if _SURROGATE.search(text):
        raise ValueError("it holds half of a character (a lone surrogate)")


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def write(path: Path | str, values: Iterable[Any]) -> None:
    """Replace the file by these values, a line each, in one step."""
    write_text(path, "".join(f"{dumps(value)}\n" for value in values))
