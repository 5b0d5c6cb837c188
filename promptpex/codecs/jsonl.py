"""JSON lines: one JSON value per line, read with the line that is wrong, written so that no half file is seen.

Every file of this format is read and written here: case files, grades, a run's outputs and verdicts, recordings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from promptpex.codecs.files.ordinary_files import created, opened
from promptpex.codecs.files.packed import unpacked
from promptpex.codecs.json_text import loads, why_not_json
from promptpex.codecs.text.control_characters import escaped
from promptpex.core.errors import InputError
from promptpex.core.records import Record
from promptpex.core.surrogates import escape_surrogates

R = TypeVar("R", bound=Record)
_BOM = b"\xef\xbb\xbf"


class RawLine(NamedTuple):
    """A line before it is parsed.

    Attributes:
        number: from 1.
        data: its bytes without the line end and without the file's byte order mark.
        end: the position in the file behind its line end.
        is_whole: whether it has a line end; a killed writer leaves a last line without one.
    """

    number: int
    data: bytes
    end: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A value, the line it stands on (from 1), and its text."""

    number: int
    value: Any
    text: str


def dumps(value: Any, *, allow_nan: bool = False) -> str:
    """The value on one line: non-ASCII kept, but for what UTF-8 cannot hold or a terminal obeys.

    Args:
        allow_nan: whether NaN and infinities are written as Python does, which only we read back.

    Raises:
        ValueError: for NaN and infinities, where they are not allowed.
    """
    return escape_surrogates(escaped(json.dumps(value, ensure_ascii=False, allow_nan=allow_nan)))


def dump_record(record: Record, *, indent: int | None = None) -> str:
    """A record as JSON with a line end, fields at their default left out; ``indent`` spreads it over lines."""
    try:
        text = record.model_dump_json(by_alias=True, exclude_defaults=True, indent=indent)
    except PydanticSerializationError:  # pydantic refuses lone surrogates
        text = escape_surrogates(json.dumps(record.to_dict(), ensure_ascii=False, indent=indent))
    return f"{escaped(text)}\n"


def parse(
    text: str, *, path: Path | str | None = None, error: type[InputError] = InputError, cut_tail: bool = False
) -> Iterator[JsonLine]:
    """The values of the text's lines, blank lines left out.

    Args:
        cut_tail: leave out a last line without a line end that is not JSON: what a killed writer leaves behind.
    """
    raw = text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    yield from values(_split(BytesIO(raw)), path, error, cut_tail)


def read(
    path: Path | str,
    *,
    what: str,
    error: type[InputError] = InputError,
    cut_tail: bool = False,
    lenient: bool = False,
    longest: int = -1,
) -> Iterator[JsonLine]:
    """As ``parse``, from a file of any length, line by line.

    Args:
        longest: bytes of the longest line that is read; by default there is no limit.
        lenient: read what only Python writes, too: NaN, infinities, lone surrogates; outputs of models hold them.
    """
    yield from values(raw_lines(path, what=what, error=error, longest=longest), path, error, cut_tail, lenient)


def read_stream(file: BinaryIO, *, path: Path | str, error: type[InputError] = InputError) -> Iterator[JsonLine]:
    """As ``read`` with ``lenient``, from an open file such as stdin, which ``path`` names in errors."""
    yield from values(_split(file), path, error, lenient=True)


def raw_lines(
    path: Path | str, *, what: str, error: type[InputError] = InputError, links: bool = True, longest: int = -1
) -> Iterator[RawLine]:
    """The lines of a file of any length, one by one, blank ones too; one whose name ends in ``.gz`` is unpacked.

    Args:
        links: whether a symbolic link is followed, within its project.
        longest: bytes of the longest line that is read; by default there is no limit.
    """
    try:
        with unpacked(opened(Path(path), error=error, what=what, links=links), Path(path)) as file:
            for line in _split(file, longest):
                if 0 <= longest < len(line.data):
                    raise error(f"the line is longer than {longest:,} bytes", path=path, line=line.number)
                yield line
    except OSError as failure:
        raise error(f"the {what} cannot be read: {failure.strerror or failure}", path=path) from None


def whole_lines(
    path: Path | str, *, what: str, error: type[InputError] = InputError, links: bool = True
) -> Iterator[bytes]:
    """The lines of a file of our own that may hold millions, with their line ends; a cut last line is left out."""
    try:
        with opened(Path(path), error=error, what=what, links=links) as file:
            for line in file:
                if not line.endswith(b"\n"):
                    return
                yield line
    except OSError as failure:
        raise error(f"the {what} cannot be read: {failure.strerror or failure}", path=path) from None


def _split(file: BinaryIO, longest: int = -1) -> Iterator[RawLine]:
    """The lines up to the first without an end: what another process writes behind it meanwhile is the rest of it."""
    end = 0
    lines = file if longest < 0 else iter(partial(file.readline, longest + 2), b"")
    for number, line in enumerate(lines, 1):
        end += len(line)
        is_whole = line.endswith(b"\n")
        data = line[:-1] if is_whole else line
        yield RawLine(number, data.removeprefix(_BOM) if number == 1 else data, end, is_whole)
        if not is_whole:
            return


def values(
    lines: Iterable[RawLine],
    path: Path | str | None,
    error: type[InputError],
    cut_tail: bool = False,
    lenient: bool = False,
) -> Iterator[JsonLine]:
    """The values of lines, as ``parse`` and ``read`` give them; errors as theirs."""
    for line in lines:
        try:
            text = line.data.decode("utf-8", "surrogatepass").removesuffix("\r")
            if text.strip():
                yield JsonLine(line.number, json.loads(text) if lenient else loads(text), text)
        except (ValueError, RecursionError) as failure:
            if line.is_whole or not cut_tail:
                raise error(
                    f"the line is not valid JSON: {why_not_json(failure)}", path=path, line=line.number
                ) from None


def parse_record(data: bytes, kind: type[R]) -> R:
    """A record from its JSON. What pydantic's own parser refuses goes to Python's, which reads lone surrogates.

    Raises:
        ValueError: it is not JSON, or not such a record.
        RecursionError: it is nested too deeply.
    """
    try:
        return kind.model_validate_json(data)
    except ValidationError:
        return kind.model_validate(own_value(data))


def own_value(data: bytes) -> Any:
    """The value of a line that promptpex wrote, which may hold NaN, infinities and lone surrogates.

    Raises:
        ValueError: it is not JSON, or not UTF-8.
        RecursionError: it is nested too deeply.
    """
    return json.loads(data.decode("utf-8"))


class Appender:
    """Writes lines to a file as they come, each at once, so that those of several processes do not mix; a crash leaves
    whole lines and at most one cut line at the end.

    Args:
        append: whether what the file holds stays.

    Raises:
        OSError: the file cannot be written, or is a link, a device or a pipe.
    """

    def __init__(self, path: Path, *, append: bool = False, mode: int = 0o666) -> None:
        self._file = os.fdopen(created(path, append=append, mode=mode), "ab" if append else "wb", buffering=0)

    @property
    def is_closed(self) -> bool:
        return self._file.closed

    def add(self, line: str) -> None:
        data = line.encode()
        while data:
            data = data[self._file.write(data) :]

    def close(self) -> None:
        self._file.close()
