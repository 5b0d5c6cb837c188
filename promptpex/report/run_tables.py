"""The tables that a report is made of: of a run that is in memory, or of one that is read part by part."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from promptpex import tables
from promptpex.core.records import AnyRun, RunInParts
from promptpex.report.runs.parts import NotInOrderError
from promptpex.tables import MetricCounts, PartTables, RuleCounts
from promptpex.tables.counts_per_case import COUNTED
from promptpex.tables.mergeable_counts import Cases

if TYPE_CHECKING:
    import pandas as pd


class RunTables:
    """The outputs, verdicts and scores of a run as tables, and what is counted of them.

    Args:
        run: the run.
    """

    def __init__(self, run: AnyRun) -> None:
        self.run = run

    @cached_property
    def whole(self) -> PartTables:
        """All outputs with their texts, verdicts and scores; a run in parts is read into memory for it."""
        cube = tables.verdicts(self.run)
        return PartTables(tables.outputs(self.run, cube), cube, tables.scores(self.run))

    @property
    def outputs(self) -> pd.DataFrame:
        """All outputs with their texts, ``tables.outputs``."""
        return self.whole.outputs

    @property
    def verdicts(self) -> pd.DataFrame:
        """All verdicts, ``tables.verdicts``."""
        return self.whole.verdicts

    @property
    def scores(self) -> pd.DataFrame:
        """All scores, ``tables.scores``."""
        return self.whole.scores

    @property
    def rows(self) -> pd.DataFrame:
        """All outputs, as far as figures need them: texts may be left out."""
        return self.outputs

    @property
    def compared(self) -> pd.DataFrame:
        """The outputs that were compared with expected ones, ``tables.expected_outcomes``, as far as counts of them
        need it."""
        return self.whole.compared

    @property
    def kinds(self) -> pd.DataFrame:
        """Verdicts of all kinds that there are, by rule, source, fingerprint, turn, status, reason code and whether
        they count, as they first appear."""
        return self.verdicts

    @property
    def score_kinds(self) -> pd.DataFrame:
        """Scores of all kinds that there are, by name, source, fingerprint, turn, reason code and whether they count,
        as they first appear."""
        return self.scores

    @property
    def outcomes(self) -> pd.DataFrame:
        """What became of the rules, ``tables.rule_outcomes``, as far as ``tables.discrimination`` needs it."""
        return self.whole.outcomes

    @cached_property
    def rule_counts(self) -> RuleCounts:
        """What became of the rules, counted."""
        counts = RuleCounts()
        counts.add(self.outcomes)
        return counts

    @cached_property
    def metric_counts(self) -> MetricCounts:
        """The scores of metrics, counted."""
        return MetricCounts.of(self.scores)

    def parts(self) -> Iterator[PartTables]:
        """Tables of outputs and of what is said of them, which together are all, in their order."""
        yield self.whole

    def chosen(self, places: Sequence[int]) -> PartTables:
        """Some outputs by their places, in their order, and at least what is said of them."""
        return replace(self.whole, outputs=self.outputs.iloc[list(places)])

    def rules(self, order: Sequence[str], confidence: float) -> pd.DataFrame:
        """``tables.rules``."""
        return tables.rules_of(self.rule_counts, order, confidence)

    def judges(self) -> pd.DataFrame:
        """``tables.judges``."""
        return tables.judges(self.verdicts)

    def agreements(self, confidence: float) -> pd.DataFrame:
        """``tables.agreements``."""
        return tables.agreements(self.verdicts, partly=partly(self.run), confidence=confidence)

    def disagreements(self) -> pd.DataFrame:
        """``tables.disagreements``."""
        return tables.disagreements(self.verdicts, self.outputs, partly=partly(self.run))

    def inconsistent_verdicts(self, hang_on_input: Collection[str]) -> pd.DataFrame:
        """``tables.inconsistent_verdicts``."""
        return tables.inconsistent_verdicts(self.outputs, self.verdicts, hang_on_input=hang_on_input)

    def lowest_scores(self) -> pd.DataFrame:
        """``tables.lowest_scores``."""
        return tables.lowest_scores(self.scores, self.outputs)

    def confusions(self) -> pd.DataFrame:
        """``tables.confusions``."""
        return tables.confusions(self.compared, expected(self.run), self.run.manifest.models)

    def answer_counts(self) -> pd.DataFrame:
        """``tables.answer_counts``."""
        return tables.answer_counts(self.compared, expected(self.run))


def expected(run: AnyRun) -> dict[str, str]:
    """The expected output of each case that has one."""
    return {case.id: case.expected for case in run.suite.cases if case.expected is not None}


def partly(run: AnyRun) -> list[str]:
    """The rules that checks decide in part."""
    return [rule.id for rule in run.spec.rules if rule.checks and rule.decides == "partly"]


def tables_of(run: AnyRun | RunTables) -> RunTables:
    """The tables of a run; tables are returned as they are.

    A run that is read part by part is read now; where its verdicts or scores do not stand in the order of its outputs,
    all of it is read into memory.

    Raises:
        RunError: a file of the run is damaged.
    """
    if isinstance(run, RunTables):
        return run
    if not isinstance(run, RunInParts):
        return RunTables(run)
    try:
        return TablesInParts(run)
    except NotInOrderError:
        return RunTables(run.in_columns)


def rows_of(run: AnyRun) -> pd.DataFrame:
    """``RunTables.rows`` of a run, where nothing else of it is wanted.

    Raises:
        RunError: as ``tables_of``.
    """
    if not isinstance(run, RunInParts):
        return tables.outputs(run)
    rows = tables.FigureRows()
    try:
        for part in run.parts():
            rows.add(tables.outputs(part))
        table = rows.table()
        _require_each_once(table)
        return table
    except NotInOrderError:
        return tables.outputs(run.in_columns)


def _require_each_once(rows: pd.DataFrame) -> None:
    if tables.has_one_twice(rows):
        raise NotInOrderError("an output is there twice")


class _Counts:
    """What is kept of the parts of a run."""

    def __init__(self, run: AnyRun) -> None:
        right, self._cases = expected(run), Cases()
        self.rows, self.compared = tables.FigureRows(), tables.FigureRows(sorted(COUNTED))
        self.rules, self.metrics, self.judges = RuleCounts(self._cases), MetricCounts(self._cases), tables.JudgeCounts()
        self.agreements = tables.AgreementCounts(partly(run), self._cases)
        self.disagreements, self.equal_texts = tables.Disagreements(partly(run)), tables.EqualTexts()
        self.lowest, self.confusions, self.answers = (
            tables.LowestScores(),
            tables.Confusions(right),
            tables.AnswerCounts(right),
        )
        self.kinds: list[pd.DataFrame] = []
        self.score_kinds: list[pd.DataFrame] = []
        self.outcomes: list[pd.DataFrame] = []

    def add(self, part: PartTables) -> None:
        """Adds some outputs and what is said of them."""
        rows, cube = part.outputs, part.verdicts
        self._cases.add(cube)
        self._cases.add(part.scores)
        self.rows.add(rows)
        self.rules.add(part.outcomes)
        self.judges.add(cube)
        self.agreements.add(cube)
        self.disagreements.add(cube, rows)
        self.equal_texts.add(rows, cube)
        self.kinds.append(cube[_KIND].drop_duplicates())
        self.score_kinds.append(part.scores[_SCORE_KIND].drop_duplicates())
        self.outcomes.append(tables.telling(part.outcomes)[_OUTCOME])
        self.compared.add(part.compared)
        self.confusions.add(part.compared)
        self.answers.add(part.compared)
        self.metrics.add(part.scores)
        self.lowest.add(part.scores, rows)


_KIND = ["rule", "source", "fingerprint", "turn", "status", "unscored", "counts"]
_SCORE_KIND = ["name", "source", "fingerprint", "turn", "unscored", "counts"]
_OUTCOME = ["rule", "aim", "case", "status"]


def _parts(run: RunInParts) -> Iterator[PartTables]:
    """The parts of a run as tables."""
    for part in run.parts():
        cube = tables.verdicts(part)
        yield PartTables(tables.outputs(part, cube), cube, tables.scores(part))


class TablesInParts(RunTables):
    """The same of a run that is read part by part: what is counted is kept, texts are read again where they are shown.

    Args:
        run: the run; it is read.

    Raises:
        NotInOrderError: verdicts or scores do not come with their outputs, or an output is there twice.
        RunError: a file of the run is damaged.
    """

    def __init__(self, run: RunInParts) -> None:
        super().__init__(run)
        self._in_parts, self._counts = run, _Counts(run)
        for part in self.parts():
            self._counts.add(part)
        _require_each_once(self.rows)

    @property
    def rows(self) -> pd.DataFrame:
        """As in ``RunTables``, without texts."""
        return self._counts.rows.table()

    @property
    def compared(self) -> pd.DataFrame:
        """As in ``RunTables``, without texts."""
        return self._counts.compared.table()

    @cached_property
    def kinds(self) -> pd.DataFrame:
        """As in ``RunTables``, each kind once."""
        return _together(self._counts.kinds).drop_duplicates(ignore_index=True)

    @cached_property
    def score_kinds(self) -> pd.DataFrame:
        """As in ``RunTables``, each kind once."""
        return _together(self._counts.score_kinds).drop_duplicates(ignore_index=True)

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """As in ``RunTables``, those that ``tables.telling`` gives of each part."""
        return _together(self._counts.outcomes)

    @property
    def rule_counts(self) -> RuleCounts:
        """As in ``RunTables``."""
        return self._counts.rules

    @property
    def metric_counts(self) -> MetricCounts:
        """As in ``RunTables``."""
        return self._counts.metrics

    def parts(self) -> Iterator[PartTables]:
        """As in ``RunTables``, a part at a time."""
        return _parts(self._in_parts)

    def chosen(self, places: Sequence[int]) -> PartTables:
        """As in ``RunTables``."""
        chosen_rows, first, at = [], 0, 0
        for part in self.parts():
            end = first + len(part.outputs)
            until = bisect_left(places, end, at)
            chosen_rows.append(part.chosen([place - first for place in places[at:until]]))
            first, at = end, until
            if at == len(places):
                break
        return PartTables(
            outputs=_together([one.outputs for one in chosen_rows]),
            verdicts=_together([one.verdicts for one in chosen_rows]),
            scores=_together([one.scores for one in chosen_rows]),
        )

    def judges(self) -> pd.DataFrame:
        """``tables.judges``."""
        return self._counts.judges.table()

    def agreements(self, confidence: float) -> pd.DataFrame:
        """``tables.agreements``."""
        return self._counts.agreements.table(confidence)

    def disagreements(self) -> pd.DataFrame:
        """``tables.disagreements``."""
        return self._counts.disagreements.table()

    def inconsistent_verdicts(self, hang_on_input: Collection[str]) -> pd.DataFrame:
        """``tables.inconsistent_verdicts``; reads the run once more where outputs have the same text."""
        hashes, verdicts = self._counts.equal_texts.chosen(), tables.VerdictsOnEqualTexts(hang_on_input)
        for part in self.parts() if len(hashes) else ():
            verdicts.add(tables.with_texts_of(part.outputs, hashes), part.verdicts)
        return verdicts.table()

    def lowest_scores(self) -> pd.DataFrame:
        """``tables.lowest_scores``."""
        return self._counts.lowest.table()

    def confusions(self) -> pd.DataFrame:
        """``tables.confusions``."""
        return self._counts.confusions.table(self.run.manifest.models)

    def answer_counts(self) -> pd.DataFrame:
        """``tables.answer_counts``."""
        return self._counts.answers.table()


def _together(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat(parts, ignore_index=True)
