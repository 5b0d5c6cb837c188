"""Parts of files of rows, as they are sent to those who check them: the job of ``promptpex check`` on several workers.

One process reads the files, since what gzip has packed and CSV cannot be entered in the middle. It only finds where
rows end; whoever checks a part makes rows of it, which takes ten times as long.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from promptpex.assertions.assertion_file import CheckFile
from promptpex.assertions.batch import RowCheckJob, RowReport, chunks
from promptpex.assertions.rows_to_check import (
    CSV,
    LONGEST_LINE,
    PARQUET,
    WHAT,
    CheckRow,
    csv_cells,
    csv_row,
    has_ending,
    json_rows,
    named_apart,
    parquet_lines,
)
from promptpex.codecs import jsonl
from promptpex.codecs.safe_csv import CsvRow
from promptpex.core.chunks import in_groups
from promptpex.core.errors import CheckError

PART_BYTES = 1 << 18
"""Bytes after which a part ends."""
PART_ROWS = 256
"""Rows of a part: some hundredths of a second's work where assertions are cheap."""

T = TypeVar("T")


class RowPart(Protocol):
    """Some rows of a file, as they were found in it."""

    def rows(self) -> Iterator[CheckRow]:
        """The rows.

        Raises:
            CheckError: one of them is wrong, after those before it.
        """


@dataclass(frozen=True, slots=True)
class LinePart:
    """Lines of JSON, the first of them with this number."""

    path: Path
    first: int
    lines: Sequence[bytes]

    def rows(self) -> Iterator[CheckRow]:
        """See ``RowPart``."""
        lines = (jsonl.RawLine(number, data, 0, True) for number, data in enumerate(self.lines, self.first))
        return json_rows(jsonl.values(lines, self.path, CheckError, lenient=True), self.path, {})


@dataclass(frozen=True, slots=True)
class CsvPart:
    """Cells of CSV below a head."""

    path: Path
    head: list[str]
    cells: Sequence[CsvRow]

    def rows(self) -> Iterator[CheckRow]:
        """See ``RowPart``."""
        return (csv_row(self.head, row, self.path) for row in self.cells)


@dataclass(frozen=True, slots=True)
class _NamedApart:
    """A part of one of several files, whose rows are called after it."""

    part: RowPart
    path: Path

    def rows(self) -> Iterator[CheckRow]:
        """See ``RowPart``."""
        return named_apart(self.part.rows(), self.path)


def file_parts(files: Sequence[Path]) -> Iterator[RowPart]:
    """The parts of files, one after the other.

    Raises:
        CheckError: a file cannot be read any further, after the parts before it.
    """
    for file in files:
        for part in _parts(file):
            yield _NamedApart(part, file) if len(files) > 1 else part


def _parts(file: Path) -> Iterator[RowPart]:
    if has_ending(file, CSV):
        for rows in _grouped(csv_cells(file), lambda row: sum(map(len, row[1].cells))):
            yield CsvPart(file, rows[0][0], [row for _, row in rows])
    else:
        lines = jsonl.raw_lines(file, what=WHAT, error=CheckError, longest=LONGEST_LINE)
        if has_ending(file, PARQUET):
            lines = parquet_lines(file)
        for group in _grouped(lines, lambda line: len(line.data)):
            yield LinePart(file, group[0].number, [line.data for line in group])


def _grouped(items: Iterator[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """The items of each part."""
    return in_groups(items, PART_ROWS, size=size, most_size=PART_BYTES)


class Checked(NamedTuple):
    """What comes of a part of a file, or of a chunk of rows: the reports of its rows, in order, and what is wrong with
    the row after them, which ends the command."""

    reports: list[RowReport]
    error: CheckError | None = None


ReportsOn = Callable[[Sequence[CheckRow]], Awaitable[list[RowReport]]]


@dataclass(frozen=True, slots=True)
class PartCheckJob:
    """The job of checking parts of files, or chunks of rows, by the assertions of a file and then by their own."""

    checks: CheckFile | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[RowPart | Sequence[CheckRow]], Awaitable[Checked]]]:
        """The function of a part or a chunk; it raises nothing that a row or a file is to blame for."""
        async with RowCheckJob(self.checks).open() as reports_on:

            async def checked(item: RowPart | Sequence[CheckRow]) -> Checked:
                rows = item if isinstance(item, Sequence) else item.rows()
                return await _checked(rows, reports_on)

            yield checked


async def _checked(rows: Iterable[CheckRow], reports_on: ReportsOn) -> Checked:
    """The reports of all rows, or of those before the first that cannot be checked as it is written."""
    reports: list[RowReport] = []
    try:
        for chunk in chunks(rows):
            try:
                reports += await reports_on(chunk)
            except CheckError as error:
                at = next((at for at, row in enumerate(chunk) if (row.file, row.line) == (error.path, error.line)), 0)
                reports += await reports_on(chunk[:at]) if at else []
                raise
    except CheckError as error:
        return Checked(reports, error)
    return Checked(reports)
