"""Parquet and Arrow files as rows of plain data, some at a time, and tables as Parquet; the home of pyarrow."""

from __future__ import annotations

import base64
import datetime
import decimal
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from promptpex.codecs.files.ordinary_files import opened
from promptpex.core.errors import InputError

ROWS = 256
"""Rows that are read at a time."""
MOST_BYTES = 500_000_000
"""Bytes that so many rows may take: a few outputs of a megabyte each, not what a hostile file repeats."""
_NEEDED = "Parquet files need pyarrow: pip install 'promptpex[parquet]'"
_PLAIN = frozenset(
    [
        "string",
        "large_string",
        "string_view",
        "bool",
        "null",
        "date32[day]",
        "date64[ms]",
        "halffloat",
        "float",
        "double",
    ]
) | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_TIMES = ("timestamp[", "time32[", "time64[", "duration[", "decimal")


def stream(
    path: Path, *, what: str, error: type[InputError] = InputError, columns: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of a file of any length, one by one, their values as JSON has them.

    Dates and times are ISO texts, decimals numbers, bytes UTF-8 or else base64.

    Args:
        columns: those that are read; by default all.

    Raises:
        InputError: (as ``error``) the file is missing, is not a Parquet file, or pyarrow is not installed.
    """
    for batch in _batches(path, what, error, columns):
        yield from _rows(batch, path, what, error)


def packed(path: Path, *, what: str, error: type[InputError] = InputError) -> Iterator[tuple[int, bytes]]:
    """The rows of a file, up to ``ROWS`` at a time: how many, and what can be sent of them. To make plain values of it,
    which takes longest, is left to ``unpacked``. Raises as ``stream``."""
    for batch in _batches(path, what, error):
        yield batch.num_rows, _sent(batch)


def unpacked(data: bytes, path: Path, *, what: str, error: type[InputError] = InputError) -> Iterator[dict[str, Any]]:
    """The rows that ``packed`` gave of a file, as ``stream`` gives them; raises as it does."""
    from pyarrow import ipc

    for batch in ipc.open_stream(data):
        yield from _rows(batch, path, what, error)


def _batches(path: Path, what: str, error: type[InputError], columns: Sequence[str] | None = None) -> Iterator[Any]:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as missing:
        raise error(_NEEDED, path=path) from missing
    with opened(path, error=error, what=what) as file, _refusing(path, what, error):
        column_names = list(columns) if columns is not None else None
        for batch in ParquetFile(file).iter_batches(batch_size=ROWS, columns=column_names):
            _refuse_large(batch, path, what, error)
            yield batch


def _sent(batch: Any) -> bytes:
    from pyarrow import ipc

    buffer = io.BytesIO()
    with ipc.new_stream(buffer, batch.schema) as writer:
        writer.write_batch(batch)
    return buffer.getvalue()


@contextmanager
def _refusing(path: Path, what: str, error: type[InputError]) -> Iterator[None]:
    """Says what keeps pyarrow from reading."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, ValueError, OverflowError) as failure:
        raise error(f"the {what} cannot be read as Parquet: {_why(failure)}", path=path) from None


def columns(path: Path, *, what: str, error: type[InputError] = InputError) -> dict[str, str | None]:
    """The columns of a Parquet file: by name its type where JSON cannot hold its values, such as bytes, else None.

    Raises:
        InputError: as ``stream``.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as missing:
        raise error(_NEEDED, path=path) from missing
    with opened(path, error=error, what=what) as file:
        try:
            return _odd_types(ParquetFile(file).schema_arrow)
        except (ArrowException, OSError, ValueError, OverflowError) as failure:
            raise error(f"the {what} cannot be read as Parquet: {_why(failure)}", path=path) from None


def arrow(
    path: Path, *, what: str, error: type[InputError] = InputError
) -> tuple[dict[str, str | None], Iterator[dict[str, Any]]]:
    """The columns of an Arrow file or stream as ``columns`` gives them, and its rows without those beyond JSON.

    Raises:
        InputError: (as ``error``) as ``stream``, while the rows are read too.
    """
    try:
        from pyarrow import ArrowException, ipc
    except ImportError as missing:
        raise error(_NEEDED, path=path) from missing

    def read() -> Iterator[Any]:
        with opened(path, error=error, what=what) as opened_file:
            file: Any = opened_file
            try:
                is_file = file.read(6) == b"ARROW1"
                file.seek(0)
                if is_file:
                    reader = ipc.open_file(file)
                    yield _odd_types(reader.schema)
                    batches: Iterator[Any] = map(reader.get_batch, range(reader.num_record_batches))
                else:
                    stream_reader = ipc.open_stream(file)
                    yield _odd_types(stream_reader.schema)
                    batches = iter(stream_reader)
                for batch in batches:
                    batch.validate(full=True)
                    plain = [name for name, odd in _odd_types(batch.schema).items() if odd is None]
                    _refuse_large(batch, path, what, error)
                    yield from map(_plain_row, batch.select(plain).to_pylist())
            except (ArrowException, OSError, ValueError, OverflowError) as failure:
                raise error(f"the {what} cannot be read as Arrow: {_why(failure)}", path=path) from None

    rows = read()
    return next(rows), rows


def dumps(table: Mapping[str, Sequence[object]]) -> bytes:
    """Columns of equally many values as a Parquet file. The values of a column are of one type, or None.

    Raises:
        InputError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as missing:
        raise InputError(_NEEDED) from missing
    kinds: dict[type, Any] = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    arrays = []
    for values in table.values():
        kind = next((type(value) for value in values if value is not None), str)
        arrays.append(pa.array(list(values), type=kinds[kind]))
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, names=list(table)), buffer)
    return buffer.getvalue()


def _refuse_large(batch: Any, path: Path, what: str, error: type[InputError]) -> None:
    if batch.nbytes > MOST_BYTES:
        raise error(f"{batch.num_rows} rows of the {what} take more than {MOST_BYTES:,} bytes", path=path)


def _rows(batch: Any, path: Path, what: str, error: type[InputError]) -> Iterator[dict[str, Any]]:
    with _refusing(path, what, error):
        rows = batch.to_pylist()
    yield from map(_plain_row, rows)


def _odd_types(schema: Any) -> dict[str, str | None]:
    """By column its type where JSON has no such values, else None."""
    return {field.name: None if _is_plain(field.type) else _named(field.type) for field in schema}


def _is_plain(kind: Any) -> bool:
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _is_plain(kind.value_type)
    if types.is_struct(kind):
        return all(_is_plain(kind.field(number).type) for number in range(kind.num_fields))
    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    name = str(kind)
    return name in _PLAIN or name.startswith(_TIMES)


def _named(kind: Any) -> str:
    """What a column holds, for sentences; what Hugging Face keeps of pictures and sounds is a mapping of bytes."""
    name = " ".join(str(kind).split())
    is_media = name.startswith("struct<") and "bytes: binary" in name
    return "images, sounds or other files (bytes)" if is_media else name[:80]


def _why(failure: Exception) -> str:
    return str(failure).strip().partition("\n")[0][:200]


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
