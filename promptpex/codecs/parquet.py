"""Parquet files as rows of plain data, some at a time; the home of pyarrow."""

from __future__ import annotations

import base64
import datetime
import decimal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from promptpex.codecs.ordinary_files import opened
from promptpex.core.errors import InputError

ROWS = 256
"""Rows that are read at a time."""
MOST_BYTES = 500_000_000
"""Bytes that so many rows may take: a few outputs of a megabyte each, not what a hostile file repeats."""


def stream(path: Path, *, what: str, error: type[InputError] = InputError) -> Iterator[dict[str, Any]]:
    """The rows of a file of any length, one by one, their values as JSON has them.

    Dates and times are ISO texts, decimals numbers, bytes UTF-8 or else base64.

    Raises:
        InputError: (as ``error``) the file is missing, is no Parquet file, or pyarrow is not installed.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as missing:
        raise error("Parquet files need pyarrow: pip install 'promptpex[parquet]'", path=path) from missing
    with opened(path, error=error, what=what) as file:
        try:
            for batch in ParquetFile(file).iter_batches(batch_size=ROWS):
                if batch.nbytes > MOST_BYTES:
                    raise error(f"{ROWS} rows of the {what} take more than {MOST_BYTES:,} bytes", path=path)
                yield from map(_plain_row, batch.to_pylist())
        except (ArrowException, OSError, ValueError) as failure:
            why = str(failure).strip().partition("\n")[0]
            raise error(f"the {what} cannot be read as Parquet: {why}", path=path) from None


def _plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _plain_row(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return float(value)
    return _text(value) if isinstance(value, bytes) else value


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(value).decode("ascii")
