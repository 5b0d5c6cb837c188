"""The outputs of a run with the verdicts and scores on them while it is made: in a file, not in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

from promptpex.codecs import jsonl
from promptpex.codecs.record_spool import RecordSpool, SpillFile
from promptpex.core.records import Output, Run, Score, Verdict
from promptpex.tables import RunDatabase


class RunRecords:
    """What a run measures. Every output has a place, its number among all that may be asked for, and so have the
    verdicts on it and its scores; in the order of the places they are written.

    Args:
        folder: where the file is that holds them once they are many; None = where temporary files are.
        by_output: whether scores are in the order of their outputs; else those against expected outputs come first.

    Attributes:
        outputs: one at each place.
        verdicts: those on the output at each place.
        expected: the scores that say whether it is the expected one.
        metrics: its scores under metrics.

    Raises:
        RunError: the file cannot be written or read.
    """

    def __init__(self, folder: Path | None = None, *, by_output: bool = False) -> None:
        self._by_output = by_output
        self._spill = SpillFile(folder)
        self.outputs = RecordSpool(self._spill, Output)
        self.verdicts = RecordSpool(self._spill, Verdict)
        self.expected = RecordSpool(self._spill, Score)
        self.metrics = RecordSpool(self._spill, Score)

    @classmethod
    def of(cls, run: Run) -> Self:
        """The records of a run, each at a place of its own."""
        records = cls()
        records.outputs.put_each(run.outputs)
        records.verdicts.put_each(run.verdicts)
        records.expected.put_each(run.scores)
        return records

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spill.close()

    def further_verdicts(self) -> RecordSpool[Verdict]:
        """Verdicts that are not the run's, but are needed to make them; gone with the run's."""
        return RecordSpool(self._spill, Verdict)

    def score_lines(self) -> Iterator[bytes]:
        """All scores as lines."""
        if not self._by_output:
            return chain(self.expected.all_lines(), self.metrics.all_lines())
        both = (self.expected.lines(place) + self.metrics.lines(place) for place in self.outputs.places())
        return chain.from_iterable(lines.splitlines(keepends=True) for lines in both)

    def of_run(self, run: Run) -> Run:
        """The run with all of these records, in memory."""
        scores = (jsonl.parse_record(line, Score) for line in self.score_lines())
        return run.replace(outputs=tuple(self.outputs), verdicts=tuple(self.verdicts), scores=tuple(scores))

    def database(self, run: Run) -> RunDatabase:
        """The database of the run, without scores."""
        return RunDatabase.of_records(run.suite, self.outputs, self.verdicts, ())
