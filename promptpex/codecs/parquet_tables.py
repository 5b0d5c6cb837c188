"""Tables of our own as Parquet files, with columns of known kinds, written and read part by part."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal

from promptpex.codecs import table_files
from promptpex.core.errors import InputError

Kind = Literal["text", "category", "whole", "number", "flag"]
"""What a column holds; a category is a text that comes again and again."""


def is_available() -> bool:
    return find_spec("pyarrow") is not None


def write(file: IO[bytes], columns: Mapping[str, Kind], parts: Iterable[Mapping[str, Sequence[Any]]]) -> None:
    """Writes a table into an open file, part by part.

    Raises:
        ValueError: a value does not fit its column, such as a text that UTF-8 does not have.
    """
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    kinds = {
        "text": pyarrow.string(),
        "category": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
        "whole": pyarrow.int64(),
        "number": pyarrow.float64(),
        "flag": pyarrow.bool_(),
    }
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    with ParquetWriter(file, schema, compression="zstd") as writer:
        for part in parts:
            writer.write_table(pyarrow.table(dict(part), schema=schema))


def read(
    path: Path, names: Sequence[str], *, what: str, error: type[InputError] = InputError
) -> Iterator[list[list[Any]]]:
    """The values of the columns of these names, some rows at a time; links are not followed."""
    parts = table_files.confined_lines(
        "columns", path, *names, kind="Parquet", what=what, error=error, links=False, in_total=False
    )
    yield from map(json.loads, parts)
