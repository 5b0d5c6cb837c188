"""What runs in a process of ``table_files``: a table of a stranger, read by its library, as lines of JSON.

Started as ``python -I -S table_process.py HOME JOB BYTES SECONDS ARGUMENTS``, the table as its stdin; HOME is where the
libraries are. Nothing of promptpex is imported. Its last line is ``!`` and why the table cannot be read, if it cannot.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

ROWS, BATCH = 256, 8_192
"""Rows that are unpacked at a time, and those of a line of ``columns``."""
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


def parquet(file: BinaryIO, every: bool = False) -> Iterator[object]:
    """The columns, each with its type where JSON has no such values, else None; then the rows, without these unless
    ``every``."""
    from pyarrow.parquet import ParquetFile

    table = ParquetFile(file)
    types = _odd_types(table.schema_arrow)
    yield types
    plain = [name for name, odd in types.items() if every or odd is None]
    for batch in table.iter_batches(batch_size=ROWS, columns=plain, use_threads=False):
        yield from map(_plain_row, batch.to_pylist())


def columns(file: BinaryIO, *names: str) -> Iterator[object]:
    from pyarrow.parquet import ParquetFile

    for batch in ParquetFile(file).iter_batches(batch_size=BATCH, columns=list(names), use_threads=False):
        yield [batch.column(name).to_pylist() for name in names]


def excel(file: BinaryIO, wanted: str | None) -> Iterator[object]:
    """The names of a workbook's sheets; then of the one that is wanted, else the first, each row that holds something:
    its number, its cells, and by column what those that cannot be read hold."""
    import openpyxl

    warnings.simplefilter("ignore")
    book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    names = [each.title for each in book.worksheets]
    yield names
    if wanted is None or wanted in names:
        yield from _sheet_rows(book, book[wanted or names[0]]) if names else ()


def _sheet_rows(book: Any, sheet: Any) -> Iterator[object]:
    sheet.reset_dimensions()  # what the sheet says of its size is not asked
    rows, bare = [], False
    for number, row in enumerate(sheet.iter_rows(), 1):
        if not row:
            continue
        odd = {at: str(cell.value) for at, cell in enumerate(row) if getattr(cell, "data_type", None) == "e"}
        cells = [None if at in odd else _cell(cell.value) for at, cell in enumerate(row)]
        bare = bare or any(cell.value is None and hasattr(cell, "row") for cell in row)
        rows.append((number, cells, odd))
    formulas = _formulas(book, sheet) if bare else {}
    for number, cells, odd in rows:
        odd |= {at: "formula" for at in formulas.get(number, ()) if cells[at] is None}
        if odd or any(cell is not None for cell in cells):
            yield number, cells, odd


def _formulas(book: Any, sheet: Any) -> dict[int, list[int]]:
    book._data_only = False  # what the next look at its cells gives
    rows = enumerate(sheet.iter_rows(), 1)
    return {n: [at for at, cell in enumerate(row) if getattr(cell, "data_type", None) == "f"] for n, row in rows if row}


def _cell(value: object) -> object:
    plain = _plain(value)
    return plain if isinstance(plain, str | bool | int | float) or plain is None else str(plain)


def _odd_types(schema: Any) -> dict[str, str | None]:
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


def _plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    """A value as JSON has it: dates and times are ISO texts, decimals numbers, bytes UTF-8 or else base64."""
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


JOBS: Mapping[str, Callable[..., Iterator[object]]] = {job.__name__: job for job in (parquet, columns, excel)}


def _limit(most_bytes: int, seconds: int) -> None:
    """Bounded memory and time, no core files and no files written, where the system knows such limits."""
    try:
        import resource
    except ImportError:
        return
    kinds = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_DATA: most_bytes}
    for kind, most in (kinds | {resource.RLIMIT_CPU: seconds}).items():
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):
            continue


def serve() -> None:
    """Read the table of stdin."""
    home, job, most_bytes, seconds, given = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    _limit(int(most_bytes), int(seconds))
    sys.path.append(home)
    write = sys.stdout.buffer.write
    try:
        with open(0, "rb", closefd=False) as file:
            for value in JOBS[job](file, *json.loads(given)):
                write(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    except (MemoryError, RecursionError):
        os._exit(1)
    except Exception as failure:  # pyarrow and openpyxl let whatever a broken part causes through
        why = str(failure).strip().partition("\n")[0][:200] or type(failure).__name__
        write(b"!" + json.dumps(why).encode() + b"\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    serve()
