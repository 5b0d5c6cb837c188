"""Parquet and Arrow files as rows of plain data, some at a time, and tables as Parquet; the home of pyarrow."""

from __future__ import annotations

import base64
import datetime
import decimal
import io
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from promptpex.codecs.ordinary_files import opened
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
        InputError: (as ``error``) the file is missing, is no Parquet file, or pyarrow is not installed.
    """
    with closing(ParquetRows(path, what=what, error=error, columns=columns)) as rows:
        yield from rows.between(0, rows.total)


class ParquetRows:
    """The rows of a file by their numbers, from 0, their values as JSON has them.

    Of the file's row groups those are read that hold what is asked for.

    Args:
        columns: those that are read; by default all.

    Raises:
        InputError: (as ``error``) as ``stream``.
    """

    def __init__(
        self, path: Path, *, what: str, error: type[InputError] = InputError, columns: Sequence[str] | None = None
    ) -> None:
        self._path, self._what, self._error = path, what, error
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError as missing:
            raise error(_NEEDED, path=path) from missing
        self._source = opened(path, error=error, what=what)
        self._columns = list(columns) if columns is not None else None
        self._group, self._at = -1, 0
        self._batches: Iterator[Any] = iter(())
        self._batch: Any = ()
        try:
            with self._told():
                self._file: Any = ParquetFile(self._source)
                groups = range(self._file.num_row_groups)
                lengths = [self._file.metadata.row_group(group).num_rows for group in groups]
        except BaseException:
            self._source.close()
            raise
        self._starts = list(accumulate(lengths, initial=0))

    @property
    def total(self) -> int:
        """How many rows the file has."""
        return self._starts[-1]

    def between(self, start: int, stop: int) -> Iterator[dict[str, Any]]:
        """The rows from ``start`` on, up to ``stop`` or the end.

        Raises:
            InputError: (as ``error``) the file is damaged.
        """
        while start < min(stop, self.total):
            with self._told():
                self._go(start)
                rows = self._batch.slice(start - self._at, stop - start).to_pylist()
            yield from map(_plain_row, rows)
            start += len(rows)

    def close(self) -> None:
        """Closes the file."""
        self._batches = iter(())
        self._source.close()

    def _go(self, row: int) -> None:
        """Goes to the batch that holds a row."""
        group = bisect_right(self._starts, row) - 1
        if group != self._group or row < self._at:
            self._group, self._at, self._batch = group, self._starts[group], ()
            self._batches = self._file.iter_batches(batch_size=ROWS, row_groups=[group], columns=self._columns)
        while row >= self._at + len(self._batch):
            self._at += len(self._batch)
            self._batch = next(self._batches, None)
            if self._batch is None:
                raise ValueError("it has fewer rows than it says")
            _refuse_large(self._batch, self._path, self._what, self._error)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Says what keeps pyarrow from reading."""
        from pyarrow import ArrowException

        try:
            yield
        except (ArrowException, OSError, ValueError) as failure:
            self._batch, self._group = (), -1
            raise self._error(f"the {self._what} cannot be read as Parquet: {_why(failure)}", path=self._path) from None


def columns(path: Path, *, what: str, error: type[InputError] = InputError) -> dict[str, str | None]:
    """The columns of a Parquet file: by name its type where it holds what JSON has not, such as bytes, else None.

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
        except (ArrowException, OSError, ValueError) as failure:
            raise error(f"the {what} cannot be read as Parquet: {_why(failure)}", path=path) from None


def arrow(
    path: Path, *, what: str, error: type[InputError] = InputError
) -> tuple[dict[str, str | None], Iterator[dict[str, Any]]]:
    """The columns of an Arrow file or stream as ``columns`` gives them, and its rows without those that JSON has not.

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
                    yield from _rows(batch.select(plain), path, what, error)
            except (ArrowException, OSError, ValueError) as failure:
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
    _refuse_large(batch, path, what, error)
    yield from map(_plain_row, batch.to_pylist())


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
