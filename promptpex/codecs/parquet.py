"""Parquet and Arrow files as rows of plain data, some at a time, and tables as Parquet; the home of pyarrow."""

from __future__ import annotations

import base64
import datetime
import decimal
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from promptpex.codecs.files.ordinary_files import opened, room_for_repeats
from promptpex.codecs.parquet_pages import pages
from promptpex.core.errors import InputError

ROWS = 256
"""Rows that are read at a time."""
MOST_SHARED, MOST_BYTES = 64_000_000, 500_000_000
"""Bytes that rows which share one text may take at a time, and any rows at a time."""
TIMES, FREE_BYTES = 40, 20_000_000
"""How many times as long as the file its pages may be beyond so many bytes."""
VALUE, INNER, ROW = 16, 50, 1000
"""Bytes that a value counts for on top of its own, one in a list, and a row."""
_NEEDED = "Parquet files need pyarrow: pip install 'promptpex[parquet]'"
_VIEWS = ("string_view", "binary_view")
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
    if find_spec("pyarrow") is None:
        raise error(_NEEDED, path=path)
    with opened(path, error=error, what=what) as file, _refusing(path, what, error):
        yield from bounded_batches(file, columns, ROWS, path, what, error)


def bounded_batches(
    file: BinaryIO,
    columns: Sequence[str] | None,
    rows: int,
    path: Path,
    what: str,
    error: type[InputError],
    *,
    in_total: bool = True,
) -> Iterator[Any]:
    """The rows of an open Parquet file, up to so many at a time, bounded by its size before they are unpacked.

    Args:
        in_total: whether the number of rows is bounded too, and what all of them take.

    Raises:
        InputError: (as ``error``) it holds, or repeats, far more than its size explains.
        ValueError: it is damaged.
    """
    from pyarrow.parquet import ParquetFile

    size = file.seek(0, io.SEEK_END)
    table = ParquetFile(file)
    lists, kept = _in_dictionaries(table)
    content = pages(file, table.metadata, kept)
    if content.size + INNER * content.inner + VALUE * content.values * in_total > FREE_BYTES + TIMES * size:
        raise _too_much(path, what, error)
    left, at_once = room_for_repeats(size), max(1, min(rows, MOST_SHARED // max(1, content.longest)))
    names = list(columns) if columns is not None else None
    for batch in ParquetFile(file, read_dictionary=lists).iter_batches(batch_size=at_once, columns=names):
        weight = _weight(batch)
        left -= (weight + ROW * batch.num_rows) * in_total
        if left < 0 or weight > MOST_BYTES:
            raise _too_much(path, what, error)
        yield batch


def _in_dictionaries(table: Any) -> tuple[list[str], frozenset[str]]:
    """The columns of texts in lists, to be read as what they repeat; and with them those that are read so anyway."""
    from pyarrow import types

    leaves = [table.schema.column(number) for number in range(len(table.schema))]
    lists = [leaf.path for leaf in leaves if leaf.max_repetition_level and leaf.physical_type == "BYTE_ARRAY"]
    return lists, frozenset([*lists, *(field.name for field in table.schema_arrow if types.is_dictionary(field.type))])


def _too_much(path: Path, what: str, error: type[InputError]) -> InputError:
    return error(f"the {what} holds far more than its size explains; if it is yours, write it as JSON lines", path=path)


def _weight(array: Any) -> int:
    """Bytes that a batch or an array takes as plain values; what a dictionary holds once counts each time."""
    from pyarrow import compute, types

    if not hasattr(array, "type"):
        return sum(map(_weight, array.columns))
    kind, count = array.type, len(array)
    if types.is_struct(kind):
        return INNER * count + sum(map(_weight, array.flatten()))
    if types.is_map(kind):
        return INNER * count + _weight(array.cast(_as_list(kind)))
    if types.is_nested(kind):
        return INNER * count + _weight(array.flatten())
    if not types.is_dictionary(kind):
        return VALUE * count + (_length_of_views(array) if str(kind) in _VIEWS else int(array.nbytes))
    sizes = compute.binary_length(array.dictionary) if _is_text(kind.value_type) else None
    each = 0 if sizes is None else compute.sum(sizes.take(array.indices)).as_py() or 0
    return (VALUE if sizes is not None else VALUE + _weight(array.dictionary)) * count + int(each)


def _as_list(kind: Any) -> Any:
    import pyarrow

    return pyarrow.list_(pyarrow.struct([pyarrow.field("key", kind.key_type), pyarrow.field("value", kind.item_type)]))


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "binary", "large_binary")


def _length_of_views(array: Any) -> int:
    """Bytes of texts that may be the same bytes; each begins with its length."""
    lengths = memoryview(array.buffers()[1]).cast("B").cast("i")
    return sum(map(abs, lengths[4 * array.offset : 4 * (array.offset + len(array)) : 4]))


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
                size, begins = file.seek(0, io.SEEK_END), 8 if _begin(file) == b"ARROW1" else 0
                if _is_packed(file, begins, size):
                    raise error(f"the {what} is compressed inside, which is not read; write it as Parquet", path=path)
                file.seek(begins)
                reader = ipc.open_stream(file)  # a file is a stream between two marks
                yield _odd_types(reader.schema)
                plain = [name for name, odd in _odd_types(reader.schema).items() if odd is None]
                left = room_for_repeats(size)
                for batch in reader:
                    batch.validate(full=True)
                    for at in range(0, batch.num_rows, ROWS):
                        rows = batch.slice(at, ROWS).select(plain)
                        left -= _weight(rows)
                        if left < 0:
                            raise _too_much(path, what, error)
                        yield from map(_plain_row, rows.to_pylist())
            except (ArrowException, OSError, ValueError, OverflowError, IndexError) as failure:
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


def _begin(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(6)


def _is_packed(file: BinaryIO, at: int, size: int) -> bool:
    """Whether a batch of a stream of Arrow is compressed (Message and RecordBatch of its format, in FlatBuffers)."""
    while at + 8 < size:
        file.seek(at)
        mark = file.read(8)
        skipped = 8 if mark[:4] == b"\xff" * 4 else 4
        length = int.from_bytes(mark[skipped - 4 : skipped], "little")
        file.seek(at + skipped)
        data = file.read(length)
        if not length:
            return False
        message = int.from_bytes(data[:4], "little")
        kind, batch = _field(data, message, 1), _field(data, message, 2)
        if kind is None or batch is None:
            return False
        table = batch + int.from_bytes(data[batch : batch + 4], "little")
        if data[kind] == 2 and (inner := _field(data, table, 1)) is not None:  # a dictionary, with a batch of its own
            table = inner + int.from_bytes(data[inner : inner + 4], "little")
        if data[kind] in (2, 3) and _field(data, table, 3) is not None:
            return True
        body = _field(data, message, 3)
        at += skipped + length + (int.from_bytes(data[body : body + 8], "little") if body is not None else 0)
    return False


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a field of a table of FlatBuffers stands; None where it is not there."""
    fields = table - int.from_bytes(data[table : table + 4], "little", signed=True)
    place = fields + 4 + 2 * number
    if place >= fields + int.from_bytes(data[fields : fields + 2], "little"):
        return None
    offset = int.from_bytes(data[place : place + 2], "little")
    return table + offset if offset else None


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
