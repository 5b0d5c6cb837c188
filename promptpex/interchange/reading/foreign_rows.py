"""The rows of foreign data files: JSON, JSON lines and CSV, each row with the line that it begins on.

JSON is read as a list of rows, as one row, or as values one after the other: several tools write JSON lines into files
that end in ``.json``.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from promptpex.codecs import safe_csv
from promptpex.codecs.files.ordinary_files import MEGABYTE
from promptpex.codecs.files.text_file import read_text
from promptpex.codecs.json_text import DECODER, ValueReader, holds_half, is_too_deep
from promptpex.core.errors import InputError
from promptpex.interchange.format import columns, head
from promptpex.interchange.reading.foreign_values import At

MAX_BYTES = 300 * MEGABYTE
JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
_TOKEN = re.compile(r'"((?:\\.|[^"\\])*)"|[{}\[\],:]|[^"{}\[\],:]+')


def json_rows(path: Path, what: str) -> Iterator[tuple[object, At]]:
    """The rows of a JSON file, or of one of JSON lines, with their places.

    Raises:
        InputError: it cannot be read, or stops being JSON at some line.
    """
    text = read_text(path, error=InputError, what=what, limit=MAX_BYTES).removeprefix("\ufeff")
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
    """The rows of a CSV file by the names in its first one; empty cells are left out.

    Raises:
        InputError: it cannot be read, is not CSV, or a row has more cells than the first.
    """
    text = read_text(path, error=InputError, what=what, limit=MAX_BYTES).removeprefix("\ufeff")
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
    """The rows of a JSON or CSV file, by its name."""
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
    """The keys of an object that is cut off: its own, not those of what it holds."""
    depth, before, place = 0, "", 0
    while (token := _TOKEN.match(beginning, place)) is not None:
        place, text = token.end(), token[0].strip()
        if token[1] is not None and depth == 1 and before in ("{", ","):
            yield token[1]
        depth += (text in ("{", "[")) - (text in ("}", "]"))
        before = text or before
