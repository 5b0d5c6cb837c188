"""Foreign files: where things stand in them, values as what they have to be, and the rows of JSON, JSON lines and CSV.

JSON is read as a list of rows, as one row, or as values one after the other: several tools write JSON lines into files
that end in ``.json``.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from promptpex.codecs import safe_csv
from promptpex.codecs.files.ordinary_files import MEGABYTE, opened, read_text
from promptpex.codecs.json_text import DECODER, ValueReader, holds_half, is_too_deep
from promptpex.core.errors import InputError
from promptpex.documents.yaml_reader import Keys, YamlDoc
from promptpex.interchange.notes import one_line

HEAD = 65_536
"""Bytes of a file by which its format is recognised."""


def head(path: Path) -> str:
    """The beginning of a text file, for ``Format.recognise``; empty where there is none, or it cannot be read."""
    return begins(path, HEAD).decode("utf-8-sig", errors="ignore")


def begins(path: Path, length: int) -> bytes:
    """The first bytes of a file, for ``Format.recognise``; empty where there is none, or it cannot be read."""
    try:
        with opened(path, error=InputError, what="file") as file:
            return file.read(length)
    except (InputError, OSError):
        return b""


def columns(path: Path) -> frozenset[str]:
    """The names in the first line of a CSV file; none where it is not such a file."""
    line = head(path).partition("\n")[0] if path.suffix.lower() == ".csv" else ""
    return frozenset(cell.strip().strip('"').strip() for cell in line.split(","))


@dataclass(frozen=True, slots=True)
class At:
    """Where something stands.

    Attributes:
        path: the file. keys: what leads to it in the file.
        doc: the document that knows its lines; without one ``row`` is the line.
    """

    path: Path
    keys: Keys = ()
    doc: YamlDoc | None = None
    row: int | None = None

    def __getitem__(self, key: str | int) -> At:
        return replace(self, keys=(*self.keys, key))

    @property
    def line(self) -> int | None:
        """From 1."""
        return self.doc.line(*self.keys) if self.doc is not None else self.row

    @property
    def name(self) -> str:
        """As one would say it: ``tests[3].assert[0]``."""
        parts = (f"[{key}]" if isinstance(key, int) else f".{one_line(key)}" for key in self.keys)
        return "".join(parts).lstrip(".") or self.path.name

    def fail(self, message: str) -> InputError:
        return InputError(f"{self.name}: {message}" if self.keys else message, path=self.path, line=self.line)


def mapping(value: object, at: At, what: str) -> Mapping[str, object]:
    """The value, which has to be a mapping; nothing counts as an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise at.fail(f"{what} must be a mapping, not {named(value)}")
    return value


def items(value: object, at: At, what: str) -> Iterator[tuple[object, At]]:
    """The items of a list with their places; a single value counts as a list of it, nothing as none."""
    if isinstance(value, list):
        yield from ((item, at[number]) for number, item in enumerate(value))
    elif value is not None:
        if isinstance(value, bool | int | float):
            raise at.fail(f"{what} must be a list, not {named(value)}")
        yield value, at


def named(value: object) -> str:
    kinds = ((bool, "true or false"), (str, "a text"), (int | float, "a number"), (list, "a list"), (dict, "a mapping"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "nothing")


def text_of_parts(content: object) -> str | None:
    """The text of a turn, whether it is one or a list of parts; None where it has parts that are not texts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [None]
    texts = [part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in parts]
    strings = [text for text in texts if isinstance(text, str)]
    return "\n".join(strings) if len(strings) == len(texts) else None


LONGEST_JSON = 500 * MEGABYTE


def read_json(path: Path, what: str) -> object:
    return loaded(read_text(path, error=InputError, what=what, limit=LONGEST_JSON), path)


def loaded(text: str, path: Path) -> object:
    """Text as data; ``path`` is where it stands."""
    try:
        value: object = json.loads(text)
        if is_too_deep(value):
            raise RecursionError
        return value
    except json.JSONDecodeError as failure:
        raise InputError(f"this is not valid JSON: {failure.msg}", path=path, line=failure.lineno) from None
    except (RecursionError, ValueError):
        raise InputError("the JSON is nested too deeply or contains a number that is too long", path=path) from None


LONGEST_ROWS = 300 * MEGABYTE
JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
_TOKEN = re.compile(r'"((?:\\.|[^"\\])*)"|[{}\[\],:]|[^"{}\[\],:]+')


def json_rows(path: Path, what: str) -> Iterator[tuple[object, At]]:
    """The rows of a JSON file, or of one of JSON lines, with their places."""
    text = read_text(path, error=InputError, what=what, limit=LONGEST_ROWS).removeprefix("\ufeff")
    reader = ValueReader(text, path)
    is_list = reader.skip("[")
    number = 0
    while not (reader.skip("]") if is_list else reader.at_end()):
        line = reader.line()
        yield reader.value(), At(path, (number,), row=line)
        number += 1
        if is_list and not reader.skip(","):
            if not reader.skip("]"):
                raise reader.fail("a comma or ] is missing; the file may be cut off")
            break
    if is_list and not reader.at_end():
        raise reader.fail("there is something after the end of the list")


def csv_rows(path: Path, what: str) -> Iterator[tuple[Mapping[str, str], At]]:
    """The rows of a CSV file by the names in its first one; empty cells are left out."""
    text = read_text(path, error=InputError, what=what, limit=LONGEST_ROWS).removeprefix("\ufeff")
    rows = safe_csv.read_rows(io.StringIO(text, newline=""), path=path, guarded=False)
    names = [name.strip() for first in islice(rows, 1) for name in first.cells]
    for number, row in enumerate(rows):
        if len(row.cells) > len(names):
            raise InputError(
                f"this row has {len(row.cells)} cells, the first one has {len(names)}", path=path, line=row.line
            )
        yield (
            {name: cell for name, cell in zip(names, row.cells, strict=False) if cell},
            At(path, (number,), row=row.line),
        )


def rows_of(path: Path, what: str) -> Iterator[tuple[object, At]]:
    return iter(csv_rows(path, what)) if path.suffix.lower() == ".csv" else json_rows(path, what)


def json_of_cell(text: str) -> object:
    """What a cell of CSV holds: the JSON object or list, where it is one, else its text."""
    if text[:1] not in ("{", "["):
        return text
    try:
        value, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return text
    if text[end:].strip() or is_too_deep(value) or holds_half(value):
        return text
    return value if isinstance(value, dict | list) else text


def first_row(path: Path) -> Mapping[str, object]:
    """The first row of a JSON or CSV file, by the file's beginning; of one that is longer than that, its keys.

    It raises nothing: what cannot be read has no keys.
    """
    if path.suffix.lower() == ".csv":
        return dict.fromkeys(name for name in columns(path) if name)
    if path.suffix.lower() not in JSON_ENDINGS:
        return {}
    beginning = head(path).lstrip().removeprefix("[").lstrip()
    if not beginning.startswith("{"):
        return {}
    try:
        value, _ = DECODER.raw_decode(beginning)
    except (ValueError, RecursionError):
        return dict.fromkeys(_first_keys(beginning))
    return value if isinstance(value, dict) else {}


def _first_keys(beginning: str) -> Iterator[str]:
    depth, before, place = 0, "", 0
    while (token := _TOKEN.match(beginning, place)) is not None:
        place, text = token.end(), token[0].strip()
        if token[1] is not None and depth == 1 and before in ("{", ","):
            yield token[1]
        depth += (text in ("{", "[")) - (text in ("}", "]"))
        before = text or before
