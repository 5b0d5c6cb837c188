"""Parts of files of rows, read and checked where they are sent to: the job of ``promptpex check`` on several workers.

JSON lines are cut into ranges of bytes, so that a worker begins reading in the middle of a file; what cannot be entered
there (what gzip has packed, CSV) a worker reads through once, on its way to the parts that it is given. Which line of
its file a part begins with is only known once all before it are counted, so its lines are counted from 1.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

from promptpex.assertions import rows_to_check
from promptpex.assertions.assertion_file import CheckFile
from promptpex.assertions.batch import RowCheckJob, RowReport, chunks
from promptpex.assertions.rows_to_check import WHAT, CheckRow
from promptpex.codecs import jsonl
from promptpex.codecs.file_mark import FileMark
from promptpex.codecs.line_cursor import LineCursor
from promptpex.codecs.ordinary_files import opened
from promptpex.codecs.parquet import ParquetRows
from promptpex.core.errors import CheckError

SHARD_BYTES = 1 << 15
"""Bytes of JSON lines that a part has: a third of a second's work where rows are short and assertions cheap, and some
thousand results, which are held until it is their turn."""
SHARD_ROWS = 256
"""Rows of a part of any other file."""
MOST_OPEN = 2
"""Files that a worker keeps open at a time: what it is given next is mostly of the same one, or of the one after it."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a file.

    Attributes:
        path: absolute, as the nodes see it.
        number: which part, from 0.
        mark: what the file is known by, where it may be another on the worker's machine.
    """

    path: Path
    number: int
    mark: FileMark


class Checked(NamedTuple):
    """What comes of a part of a file, or of rows that were read elsewhere.

    Attributes:
        reports: of its rows, in order.
        error: what is wrong with the row, or the place, after them; it ends the command.
        unnamed: which of the reports bear the number of their line, for want of an id.
        lines: how many lines its rows' numbers have to be raised by for the next part's.
        more: whether the file goes on behind it.
        unseen: why it could not be read here, where the file of the command is not there; else empty.
        number: of the part; None = of rows that were read elsewhere.
    """

    reports: list[RowReport]
    error: CheckError | None = None
    unnamed: tuple[int, ...] = ()
    lines: int = 0
    more: bool = False
    unseen: str = ""
    number: int | None = None


ReportsOn = Callable[[Sequence[CheckRow]], Awaitable[list[RowReport]]]


@dataclass(frozen=True, slots=True)
class ShardCheckJob:
    """The job of checking parts of files, or chunks of rows, by the assertions of a file and then by their own."""

    checks: CheckFile | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[Shard | Sequence[CheckRow]], Awaitable[Checked]]]:
        """The function of a part or a chunk; it raises nothing that a row or a file is to blame for."""
        shelf = _Shelf()
        async with RowCheckJob(self.checks).open() as reports_on:

            async def checked(item: Shard | Sequence[CheckRow]) -> Checked:
                if isinstance(item, Shard):
                    return await _shard_checked(item, shelf, reports_on)
                return await _rows_checked(item, reports_on)

            try:
                yield checked
            finally:
                shelf.close()


async def _rows_checked(rows: Sequence[CheckRow], reports_on: ReportsOn) -> Checked:
    """The reports of all rows, or of those before the first that cannot be checked as it is written."""
    try:
        return Checked(await reports_on(rows))
    except CheckError as error:
        at = next((at for at, row in enumerate(rows) if (row.file, row.line) == (error.path, error.line)), 0)
        return Checked(await reports_on(rows[:at]) if at else [], error)


async def _shard_checked(shard: Shard, shelf: _Shelf, reports_on: ReportsOn) -> Checked:
    try:
        rows = shelf.rows_of(shard)
    except CheckError as problem:
        return Checked([], unseen=f"{socket.gethostname()}: {problem.message}", number=shard.number)
    unnamed: list[int] = []
    read: list[RowReport] = []
    error: CheckError | None = None
    for chunk in chunks(rows):
        one = await _rows_checked(chunk, reports_on)
        unnamed += [len(read) + at for at, row in enumerate(chunk[: len(one.reports)]) if row.unnamed]
        read += one.reports
        error = one.error
        if error is not None:
            break
    error = error or rows.error
    more = error is None and rows.more
    return Checked(read, error, tuple(unnamed), rows.lines, more, number=shard.number)


class _PartReader(Protocol):
    """Reads parts of one file, in the order of their numbers, with some left out."""

    def may_read(self, number: int) -> bool:
        """Whether this part is not behind it already."""

    def rows(self, number: int) -> Iterator[CheckRow]:
        """The rows of a part; errors as those of ``rows_to_check.read``."""

    @property
    def lines(self) -> int:
        """As in ``Checked``, of the part that was read."""

    @property
    def more(self) -> bool:
        """As in ``Checked``."""

    def close(self) -> None:
        """Closes the file."""


class _PartRows:
    """The rows of a part, and what ended them."""

    def __init__(self, reader: _PartReader, number: int) -> None:
        self._reader = reader
        self._rows = reader.rows(number)
        self.error: CheckError | None = None

    def __iter__(self) -> Iterator[CheckRow]:
        try:
            yield from self._rows
        except CheckError as error:
            self.error = error

    @property
    def lines(self) -> int:
        """As in ``Checked``."""
        return self._reader.lines

    @property
    def more(self) -> bool:
        """As in ``Checked``."""
        return self._reader.more


class _Shelf:
    """The files that a worker has open, the one that was used last at the end."""

    def __init__(self) -> None:
        self._open: dict[Path, _PartReader] = {}

    def rows_of(self, shard: Shard) -> _PartRows:
        """The rows of a part.

        Raises:
            CheckError: the file is not there, or another than that of the command.
        """
        reader = self._open.pop(shard.path, None)
        if reader is not None and not reader.may_read(shard.number):
            reader.close()
            reader = None
        while len(self._open) >= MOST_OPEN:
            self._open.pop(next(iter(self._open))).close()
        self._open[shard.path] = reader = reader or _reader(shard)
        return _PartRows(reader, shard.number)

    def close(self) -> None:
        """Closes all of them."""
        for reader in self._open.values():
            reader.close()
        self._open.clear()


def _reader(shard: Shard) -> _PartReader:
    file = opened(shard.path, error=CheckError, what=WHAT)
    try:
        shard.mark.require(file, shard.path, error=CheckError, what=WHAT)
    except BaseException:
        file.close()
        raise
    if not any(rows_to_check.has_ending(shard.path, ending) for ending in (rows_to_check.CSV, rows_to_check.PARQUET)):
        return _LineParts(LineCursor(file, shard.path, longest=rows_to_check.LONGEST_LINE), shard.path)
    file.close()
    return (
        _CsvParts(shard.path) if rows_to_check.has_ending(shard.path, rows_to_check.CSV) else _ParquetParts(shard.path)
    )


class _LineParts:
    """Ranges of the bytes of a file of JSON lines."""

    def __init__(self, cursor: LineCursor, path: Path) -> None:
        self._cursor = cursor
        self._path = path
        self.lines = 0

    def may_read(self, number: int) -> bool:
        """See ``_PartReader``."""
        return self._cursor.done <= number * SHARD_BYTES

    def rows(self, number: int) -> Iterator[CheckRow]:
        """See ``_PartReader``."""
        self.lines = 0
        lines = jsonl.values(self._lines(number), self._path, CheckError, lenient=True)
        return rows_to_check.json_rows(lines, self._path, {})

    @property
    def more(self) -> bool:
        """See ``_PartReader``."""
        return self._cursor.more

    def close(self) -> None:
        """See ``_PartReader``."""
        self._cursor.close()

    def _lines(self, number: int) -> Iterator[jsonl.RawLine]:
        try:
            for line in self._cursor.lines(number * SHARD_BYTES, (number + 1) * SHARD_BYTES):
                self.lines += 1
                if len(line.data) > rows_to_check.LONGEST_LINE:
                    raise jsonl.too_long(line, rows_to_check.LONGEST_LINE, self._path, CheckError)
                yield line
        except OSError as failure:
            raise CheckError(f"the {WHAT} cannot be read: {failure.strerror or failure}", path=self._path) from None


class _ParquetParts:
    """So many rows at a time of a Parquet file, of which the row groups are read that hold them."""

    lines = 0

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: ParquetRows | None = None
        self.more = False

    def may_read(self, number: int) -> bool:
        """See ``_PartReader``."""
        return True

    def rows(self, number: int) -> Iterator[CheckRow]:
        """See ``_PartReader``."""
        rows = self._rows = self._rows or ParquetRows(self._path, what=WHAT, error=CheckError)
        start, stop = number * SHARD_ROWS, (number + 1) * SHARD_ROWS
        self.more = stop < rows.total
        yield from rows_to_check.parquet_rows(rows.between(start, stop), self._path, start + 1)

    def close(self) -> None:
        """See ``_PartReader``."""
        if self._rows is not None:
            self._rows.close()


class _CsvParts:
    """So many rows at a time of a CSV file, which is read from its beginning."""

    lines = 0

    def __init__(self, path: Path) -> None:
        self._builders = rows_to_check.csv_rows(path)
        self._next = 0
        self._failure: CheckError | None = None
        self.more = True

    def may_read(self, number: int) -> bool:
        """See ``_PartReader``."""
        return self._next <= number

    def rows(self, number: int) -> Iterator[CheckRow]:
        """See ``_PartReader``."""
        for _ in self._taken((number - self._next) * SHARD_ROWS):
            pass
        self._next = number + 1
        for build in self._taken(SHARD_ROWS):
            yield build()

    def close(self) -> None:
        """See ``_PartReader``."""
        self._builders = iter(())

    def _taken(self, count: int) -> Iterator[Callable[[], CheckRow]]:
        """The next so many rows; what is wrong with the file is raised again by every part after it."""
        if self._failure is not None:
            raise self._failure
        taken = 0
        try:
            for build in islice(self._builders, count):
                taken += 1
                yield build
        except CheckError as failure:
            self._failure = failure
            raise
        self.more = taken == count
