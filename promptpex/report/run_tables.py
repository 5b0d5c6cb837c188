"""The tables that a report is made of: of a run that is in memory, or of one that is read part by part."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from promptpex import tables
from promptpex.core.records import AnyRun, RunInParts
from promptpex.report.runs.parts import NotInOrderError
from promptpex.tables import JointVerdicts

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
    def outputs(self) -> pd.DataFrame:
        """All outputs with their texts, ``tables.outputs``."""
        return tables.outputs(self.run, self.verdicts)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """All verdicts, ``tables.verdicts``."""
        return tables.verdicts(self.run)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """All scores, ``tables.scores``."""
        return tables.scores(self.run)

    @property
    def rows(self) -> pd.DataFrame:
        """All outputs, as far as figures need them: texts may be left out."""
        return self.outputs

    @property
    def kinds(self) -> pd.DataFrame:
        """Verdicts of all kinds that there are, by rule, source, fingerprint, turn, status, reason code and whether
        they count, as they first appear."""
        return self.verdicts

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """What became of the rules, ``tables.rule_outcomes``, as far as ``tables.discrimination`` needs it."""
        return tables.rule_outcomes(self.verdicts)

    def parts(self) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        """Tables of outputs and of the verdicts on them, which together are all, in their order."""
        yield self.outputs, self.verdicts

    def chosen(self, places: Sequence[int]) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Some outputs by their places, in their order, and at least the verdicts on them."""
        return self.outputs.iloc[list(places)], self.verdicts

    def rules(self, order: Sequence[str], confidence: float) -> pd.DataFrame:
        """``tables.rules``."""
        return tables.rules(self.verdicts, order=order, confidence=confidence, outcomes=self.outcomes)

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


def partly(run: AnyRun) -> list[str]:
    """The rules that checks decide in part."""
    return [rule.id for rule in run.spec.rules if rule.checks and rule.decides == "partly"]


def tables_of(run: AnyRun) -> RunTables:
    """The tables of a run. One that is read part by part is read now; where its verdicts do not stand in the order of
    its outputs, all of it is read into memory.

    Raises:
        RunError: a file of the run is damaged.
    """
    if not isinstance(run, RunInParts):
        return RunTables(run)
    try:
        return TablesInParts(run)
    except NotInOrderError:
        return RunTables(run.in_columns)


class _Counts:
    """What is kept of the parts of a run."""

    def __init__(self, run: AnyRun) -> None:
        self.rows, self.rules, self.judges = tables.FigureRows(), tables.RuleCounts(), tables.JudgeCounts()
        self.agreements = tables.AgreementCounts(partly(run))
        self.disagreements = tables.Disagreements(partly(run))
        self.equal_texts = tables.EqualTexts()
        self.kinds: list[pd.DataFrame] = []
        self.outcomes: list[pd.DataFrame] = []

    def add(self, rows: pd.DataFrame, cube: pd.DataFrame, outcomes: pd.DataFrame) -> None:
        """Adds some outputs, the verdicts on them, and what became of the rules."""
        self.rows.add(rows)
        self.rules.add(outcomes)
        self.judges.add(cube)
        self.agreements.add(cube)
        self.disagreements.add(cube, rows)
        self.equal_texts.add(rows, cube)
        self.kinds.append(cube[_KIND].drop_duplicates())
        self.outcomes.append(tables.telling(outcomes)[_OUTCOME])


_KIND = ["rule", "source", "fingerprint", "turn", "status", "unscored", "counts"]
_OUTCOME = ["rule", "aim", "case", "status"]


class TablesInParts(RunTables):
    """The same of a run that is read part by part: what is counted is kept, texts are read again where they are shown.

    Args:
        run: the run; it is read, twice where only its end tells that judges have joint verdicts.

    Raises:
        NotInOrderError: verdicts do not come with their outputs, or an output is there twice.
        RunError: a file of the run is damaged.
    """

    def __init__(self, run: RunInParts) -> None:
        super().__init__(run)
        self._in_parts, self._joint = run, JointVerdicts()
        known = None
        while known != self._joint:
            known = self._joint
            self._counts = self._counted()
        if tables.has_one_twice(self.rows):
            raise NotInOrderError("an output is there twice")

    def _counted(self) -> _Counts:
        counts = _Counts(self.run)
        for rows, cube in self.parts():
            counts.add(rows, cube, tables.rule_outcomes(cube, self._joint))
        return counts

    @property
    def rows(self) -> pd.DataFrame:
        """As in ``RunTables``, without texts."""
        return self._counts.rows.table()

    @cached_property
    def scores(self) -> pd.DataFrame:
        """None: a run that has scores is not read part by part."""
        return tables.scores(next(self._in_parts.parts()))

    @cached_property
    def kinds(self) -> pd.DataFrame:
        """As in ``RunTables``, each kind once."""
        return _together(self._counts.kinds).drop_duplicates(ignore_index=True)

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """As in ``RunTables``, those that ``tables.telling`` gives of each part."""
        return _together(self._counts.outcomes)

    def parts(self) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        """As in ``RunTables``, a part at a time."""
        for part in self._in_parts.parts():
            cube = tables.verdicts(part)
            self._joint |= JointVerdicts.of(cube)
            yield tables.outputs(part, cube, self._joint), cube

    def chosen(self, places: Sequence[int]) -> tuple[pd.DataFrame, pd.DataFrame]:
        """As in ``RunTables``."""
        some, first, at = [], 0, 0
        for rows, cube in self.parts():
            end = first + len(rows)
            until = bisect_left(places, end, at)
            chosen = rows.iloc[[place - first for place in places[at:until]]]
            some.append((chosen, tables.verdicts_on(chosen, cube)))
            first, at = end, until
            if at == len(places):
                break
        return _together([rows for rows, _ in some]), _together([cube for _, cube in some])

    def rules(self, order: Sequence[str], confidence: float) -> pd.DataFrame:
        """``tables.rules``."""
        return tables.rules_of(self._counts.rules, order, confidence)

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
        for rows, cube in self.parts() if len(hashes) else ():
            verdicts.add(tables.with_texts_of(rows, hashes), cube)
        return verdicts.table()


def _together(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat(parts, ignore_index=True)
