"""A run's folder read part by part: some outputs, the verdicts and the scores on them, however many it has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Generic, TypeVar

from promptpex.core.errors import RunError
from promptpex.core.records import Columns, Output, OutputKey, RunColumns, RunInParts, Score, Verdict, collector_paused
from promptpex.report.runs.run_folder import OUTPUTS, SCORES, VERDICTS, known_of, read_columns, records_of, verdicts_of
from promptpex.report.runs.verdict_parquet import CUBE

LARGE = 64_000_000
"""Bytes of outputs, verdicts and scores from which on a report reads them part by part: some 20,000 outputs with a few
verdicts each, which take 200 MB at once."""

PART = 20_000
"""Outputs of a part."""

R = TypeVar("R", Verdict, Score)


class NotInOrderError(RunError):
    """Verdicts or scores that do not stand in the order of their outputs, as those of a folder that another program
    wrote may."""


def read_for_report(folder: Path, *, large: int = LARGE, part: int = PART) -> RunColumns | RunInParts:
    """The run kept in a folder as a report needs it: in columns, or part by part where its files are large.

    Raises:
        RunError: as ``read``; of what is read part by part, as soon as it is read.
    """
    has_cube = (folder / CUBE).exists()
    if not has_cube and sum(_bytes_of(folder / name) for name in (OUTPUTS, VERDICTS, SCORES)) < large:
        return read_columns(folder)
    head = known_of(folder)

    def parts() -> Iterator[RunColumns]:
        for outputs, verdicts, scores in _parts(folder, part):
            yield RunColumns(**head, outputs=outputs, verdicts=verdicts, scores=scores)

    return RunInParts(
        **head,
        parts=parts,
        each_output=lambda: records_of(folder / OUTPUTS, Output),
        whole=lambda: read_columns(folder),
    )


def _bytes_of(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _parts(folder: Path, size: int) -> Iterator[tuple[Columns, Columns, Columns]]:
    """The outputs, and the verdicts and scores on them, so many outputs at a time.

    Raises:
        NotInOrderError: a part has an output twice, or a verdict or a score does not come with its output.
    """
    outputs = records_of(folder / OUTPUTS, Output)
    verdicts, scores = _Ahead(verdicts_of(folder)), _Ahead(records_of(folder / SCORES, Score))
    for number in count():
        with collector_paused():
            part_outputs = list(islice(outputs, size))
            if number and not part_outputs:
                break
            output_keys = {output.key for output in part_outputs}
            if len(output_keys) < len(part_outputs):
                raise NotInOrderError("an output is there twice", path=folder / OUTPUTS)
            part_columns = (
                Columns.of(part_outputs, Output),
                Columns.of(verdicts.on(output_keys), Verdict),
                Columns.of(scores.on(output_keys), Score),
            )
            del part_outputs, output_keys
        yield part_columns
        del part_columns
    for what, left in (("verdicts", verdicts), ("scores", scores)):
        if not left.is_over:
            raise NotInOrderError(f"the {what} do not stand in the order of their outputs", path=folder)


class _Ahead(Generic[R]):
    """Verdicts or scores, of which one is looked at before it is taken."""

    def __init__(self, records: Iterator[R]) -> None:
        self._records: Iterator[R] = records
        self._next: R | None = next(records, None)

    @property
    def is_over(self) -> bool:
        """Whether all were taken."""
        return self._next is None

    def on(self, keys: set[OutputKey]) -> Iterator[R]:
        """The next ones, up to the first that is on none of these outputs."""
        while self._next is not None and self._next.key in keys:
            yield self._next
            self._next = next(self._records, None)
