"""Checking files of rows on several workers: what is given to them, and the reports that come of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path

from promptpex.assertions.assertion_file import CheckFile
from promptpex.assertions.batch import RowReport, chunks
from promptpex.assertions.row_chunks import PartCheckJob, file_parts
from promptpex.assertions.rows_to_check import OUTPUTS, CheckRow
from promptpex.engines import Engine, LocalEngine


async def reports(
    engine: Engine, checks: CheckFile | None, rows: Iterator[CheckRow], files: Sequence[Path]
) -> AsyncGenerator[list[RowReport], None]:
    """The reports of all rows, in order, some at a time as they come.

    Args:
        engine: checks them; where that is other processes, parts of files go to them.
        rows: all of them, for where they have to be read here: on stdin, or of a run, whose cases belong to them.
        files: which they are in; none where all rows have to be seen here.

    Raises:
        CheckError: a file that cannot be read or a row that is wrong, after the reports before it.
    """
    job = PartCheckJob(checks)
    if isinstance(engine, LocalEngine) or not files or not all(map(_has_parts, files)):
        stream = engine.stream(job, chunks(rows))
    else:
        stream = engine.stream(job, file_parts(files))
    async with aclosing(stream):
        async for checked in stream:
            yield checked.reports
            if checked.error is not None:
                raise checked.error


def _has_parts(file: Path) -> bool:
    return not (str(file) == "-" or file.is_dir() or file.name == OUTPUTS)
