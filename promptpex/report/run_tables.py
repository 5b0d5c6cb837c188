"""What a report asks of a run's database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from promptpex import tables
from promptpex.tables import AnyRun, Cells, MetricCounts, Rows, RuleCounts, Table


@dataclass(frozen=True, slots=True)
class ChosenOutputs:
    """Some outputs of a run, and the verdicts and the scores on them."""

    outputs: Table
    verdicts: Table
    scores: Table


class RunTables:
    """A run and its database.

    Args:
        run: the run.
    """

    def __init__(self, run: AnyRun) -> None:
        self.run = run
        self.database = tables.database_of(run)

    @cached_property
    def rows(self) -> Rows:
        """What became of the outputs by the rules."""
        return Rows(self.database)

    @cached_property
    def cells(self) -> Cells:
        """The same, counted."""
        return Cells.of(self.rows)

    @cached_property
    def compared(self) -> Rows:
        """The outputs that were compared with expected ones."""
        return tables.expected_outcomes(self.database)

    @cached_property
    def rule_counts(self) -> RuleCounts:
        """What became of the rules, counted."""
        return RuleCounts(self.database)

    @cached_property
    def metric_counts(self) -> MetricCounts:
        """The scores of metrics, counted."""
        return MetricCounts(self.database)

    @cached_property
    def rules(self) -> list[str]:
        """The rules that there are verdicts on, as they first appear."""
        return self.database.listed("SELECT rule FROM verdict GROUP BY rule ORDER BY min(place)")

    def rules_with(self, unscored: str, *, counts: bool | None = None) -> list[str]:
        """The rules of which a verdict is unscored for this reason, as they first appear.

        Args:
            counts: whether it decides its rule; None: either.
        """
        deciding = "" if counts is None else f"AND counts = {int(counts)}"
        sql = f"SELECT rule FROM verdict WHERE unscored = ? {deciding} GROUP BY rule ORDER BY min(place)"
        return self.database.listed(sql, [unscored])

    def chosen(self, places: Collection[int]) -> ChosenOutputs:
        """Some outputs by their places, in their order, and what is said of them."""
        with self.database.chosen(places) as chosen:
            of_them = f"WHERE v.key IN (SELECT key FROM output WHERE place IN {chosen}) ORDER BY v.place"
            return ChosenOutputs(
                self.rows.outputs(f"WHERE t.place IN {chosen} ORDER BY t.place"),
                tables.table_of(*tables.verdict_rows(self.database, of_them)),
                tables.table_of(*tables.score_rows(self.database, of_them)),
            )

    def agreements(self, confidence: float) -> Table:
        """``tables.agreements``."""
        return tables.agreements(self.database, partly=partly(self.run), confidence=confidence)

    def disagreements(self) -> Table:
        """``tables.disagreements``."""
        return tables.disagreements(self.database, partly=partly(self.run))

    def confusions(self) -> Table:
        """``tables.confusions``."""
        return tables.confusions(self.compared, expected(self.run), self.run.manifest.models)

    def answer_counts(self) -> Table:
        """``tables.answer_counts``."""
        return tables.answer_counts(self.compared, expected(self.run))


def expected(run: AnyRun) -> dict[str, str]:
    """The expected output of each case that has one."""
    return {case.id: case.expected for case in run.suite.cases if case.expected is not None}


def partly(run: AnyRun) -> Sequence[str]:
    """The rules that checks decide in part."""
    return [rule.id for rule in run.spec.rules if rule.checks and rule.decides == "partly"]


def tables_of(run: AnyRun | RunTables) -> RunTables:
    """The tables of a run; tables are returned as they are."""
    return run if isinstance(run, RunTables) else RunTables(run)
