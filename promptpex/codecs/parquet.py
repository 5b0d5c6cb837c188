"""Parquet files as rows of plain data, some at a time, and tables as Parquet; the home of pyarrow."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptpex.codecs import confined_tables
from promptpex.core.errors import InputError


def lines(path: Path, *, what: str, error: type[InputError] = InputError) -> Iterator[bytes]:
    """The rows of a Parquet file of any length as JSON, one by one.

    Dates and times are ISO texts, decimals numbers, bytes UTF-8 or else base64.
    """
    rows = confined_tables.lines("parquet", path, True, kind="Parquet", what=what, error=error)
    next(rows)
    yield from rows


def table(
    path: Path, *, what: str, error: type[InputError] = InputError
) -> tuple[dict[str, str | None], Iterator[dict[str, Any]]]:
    """The columns of a file, each with its type where JSON cannot hold its values, such as bytes, else None; and its
    rows without those."""
    rows = confined_tables.lines("parquet", path, kind="Parquet", what=what, error=error)
    return json.loads(next(rows)), map(json.loads, rows)


def dumps(table: Mapping[str, Sequence[object]]) -> bytes:
    """Columns of equally many values as a Parquet file. The values of a column are of one type, or None."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as missing:
        raise InputError("Parquet files need pyarrow: pip install 'promptpex[parquet]'") from missing
    kinds: dict[type, Any] = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    arrays = []
    for values in table.values():
        kind = next((type(value) for value in values if value is not None), str)
        arrays.append(pa.array(list(values), type=kinds[kind]))
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, names=list(table)), buffer)
    return buffer.getvalue()
