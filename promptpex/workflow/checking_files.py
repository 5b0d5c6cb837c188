"""Checking files of rows on several workers: which parts are given to them, and what of these comes to the rows."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import islice
from pathlib import Path

from promptpex.assertions import file_shards
from promptpex.assertions.assertion_file import CheckFile
from promptpex.assertions.batch import RowReport, chunks
from promptpex.assertions.file_shards import Checked, Shard, ShardCheckJob
from promptpex.assertions.rows_to_check import CSV, OUTPUTS, PARQUET, WHAT, CheckRow, has_ending, read_all
from promptpex.codecs.file_mark import FileMark
from promptpex.codecs.gzipped import content_length
from promptpex.codecs.ordinary_files import opened
from promptpex.core.errors import CheckError
from promptpex.core.texts import tr
from promptpex.engines import Engine, LocalEngine, PieceSource, pieces_in_turn

ROW_BYTES = 128
"""Bytes that a row of CSV or Parquet is taken to have, until it is known how many there are."""

Rows = PieceSource[Shard | Sequence[CheckRow], Checked, RowReport]


def reports_of(checked: Checked) -> Iterator[RowReport]:
    """The reports, and then what is wrong after them.

    Raises:
        CheckError: that.
    """
    yield from checked.reports
    if checked.error is not None:
        raise checked.error


async def reports(
    engine: Engine,
    checks: CheckFile | None,
    rows: Iterator[CheckRow],
    files: Sequence[Path],
    say: Callable[[str], None],
) -> AsyncGenerator[RowReport, None]:
    """The reports of all rows, in order, as they come.

    Args:
        engine: checks them; where that is other processes, they read the files as well.
        rows: all of them, for where they have to be read here: on stdin, or of a run, whose cases belong to them.
        files: which they are in; none where all rows have to be seen here.
        say: is told what has to be read here all the same.

    Raises:
        CheckError: a file that cannot be read or a row that is wrong, after the reports before it.
    """
    job = ShardCheckJob(checks)
    if isinstance(engine, LocalEngine):
        async with aclosing(engine.stream(job, chunks(rows))) as stream:
            async for checked in stream:
                for each in reports_of(checked):
                    yield each
        return
    several = len(files) > 1
    sources: Iterable[Rows] = (FileInParts(file, several, say) for file in files)
    if not files or not all(map(_has_parts, files)):
        sources = [RowsReadHere(rows)]
    async with engine.pool(job) as pool, aclosing(pieces_in_turn(pool, sources)) as pieces:
        async for each in pieces:
            yield each


def _has_parts(file: Path) -> bool:
    return not (str(file) == "-" or file.is_dir() or file.name == OUTPUTS)


class RowsReadHere:
    """Rows that are read in this process, in chunks."""

    def __init__(self, rows: Iterable[CheckRow]) -> None:
        self._chunks = chunks(rows)

    def next(self) -> Sequence[CheckRow] | None:
        """See ``PieceSource``."""
        return next(self._chunks, None)

    def known(self, result: Checked) -> None:
        """See ``PieceSource``."""

    def take(self, result: Checked) -> Iterator[RowReport]:
        """See ``PieceSource``."""
        return reports_of(result)


class FileInParts:
    """A file of which workers read parts themselves.

    How many parts there are is guessed by its length, and twice as many where it goes on behind them.

    Args:
        several: whether it is one of several files, so that rows without an id are called after it.
    """

    def __init__(self, file: Path, several: bool, say: Callable[[str], None]) -> None:
        self._file = file
        self._several = several
        self._say = say
        self._here: RowsReadHere | None = None
        self._mark: FileMark | None = None
        self._next = 0
        self._parts = 0
        self._given = 0
        self._lines = 0

    def next(self) -> Shard | Sequence[CheckRow] | None:
        """See ``PieceSource``."""
        if self._here is not None:
            return self._here.next()
        if self._mark is None:
            self._mark, self._parts = self._looked_at()
        if self._next >= self._parts:
            return None
        self._next += 1
        return Shard(Path(os.path.abspath(self._file)), self._next - 1, self._mark)

    def known(self, result: Checked) -> None:
        """See ``PieceSource``."""
        if result.number is None or result.unseen:
            return
        if not result.more:
            self._parts = min(self._parts, result.number + 1)
        elif result.number == self._parts - 1:
            self._parts *= 2

    def take(self, result: Checked) -> Iterator[RowReport] | None:
        """See ``PieceSource``."""
        if result.number is None:
            return reports_of(result)
        if result.unseen:
            self._read_here(result.unseen)
            return None
        return self._in_place(result)

    def _looked_at(self) -> tuple[FileMark, int]:
        """What the file is known by, and how many parts it may have."""
        by_rows = has_ending(self._file, CSV) or has_ending(self._file, PARQUET)
        with opened(self._file, error=CheckError, what=WHAT) as file:
            length = content_length(file, self._file)
            return FileMark.of(file), 1 + length // (
                file_shards.SHARD_ROWS * ROW_BYTES if by_rows else file_shards.SHARD_BYTES
            )

    def _read_here(self, why: str) -> None:
        """Goes on with rows that are read here, after those that were given."""
        self._say(
            tr(
                "{file} cannot be read on every worker ({why}); it is read here, and its rows are sent",
                file=self._file,
                why=why,
            )
        )
        rows = read_all([self._file], several=self._several)
        self._here = RowsReadHere(islice(rows, self._given, None))

    def _in_place(self, result: Checked) -> Iterator[RowReport]:
        """The reports with the numbers that their lines have in the file."""
        reports, before = result.reports, self._lines
        for at in result.unnamed:
            line = before + int(str(reports[at].row_id))
            reports[at] = RowReport(f"{self._file}:{line}" if self._several else line, reports[at].report)
        self._given += len(reports)
        self._lines += result.lines
        yield from reports
        if result.error is not None:
            raise self._placed(result.error, before)

    def _placed(self, error: CheckError, before: int) -> CheckError:
        """The error with its place in the file as it was named."""
        line = None if error.line is None else before + error.line
        return CheckError(error.message, path=self._file, line=line)
