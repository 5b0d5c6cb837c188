"""The tables of single questions about a run: each is made when somebody first asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from promptpex import tables
from promptpex.report.run_tables import RunTables
from promptpex.tables import AnyRun, Discrimination, Table


@dataclass(frozen=True)
class Details:
    """Tables of single questions, see ``promptpex.tables``; those that have nothing to say are empty.

    A gate, a plugin's last lines or one figure need few of them, and together they take a third of a summary's time.

    Attributes:
        run: the run.
        made: its tables.
        confidence: of the intervals; there are none where the cases were chosen by their outcome.
    """

    run: AnyRun = field(repr=False)
    made: RunTables = field(repr=False)
    confidence: float

    def _claimed(self, table: Table) -> Table:
        return tables.without_claims(table) if self.run.manifest.failed_in else table

    @cached_property
    def by_case_type(self) -> Table:
        """Rule cases against inverse cases."""
        return self._claimed(tables.by_case_type(self.made.cells, confidence=self.confidence))

    @cached_property
    def scenarios(self) -> Table:
        """A row per model and scenario."""
        return self._claimed(tables.scenarios(self.made.cells, confidence=self.confidence))

    @cached_property
    def repeats(self) -> Table:
        """How much each model's answers to the same case differ."""
        return self._claimed(tables.repeats(self.made.rows, confidence=self.confidence))

    @cached_property
    def flaky(self) -> Table:
        """The cases that a model passes at times."""
        return tables.flaky(self.made.rows)

    @cached_property
    def inconsistent_verdicts(self) -> Table:
        """Equal outputs that were judged differently."""
        return tables.inconsistent_verdicts(self.made.database, hang_on_input=self._hang_on_input())

    @cached_property
    def agreements(self) -> Table:
        """How often two sources of verdicts agree."""
        return self._claimed(self.made.agreements(self.confidence))

    @cached_property
    def disagreements(self) -> Table:
        """The outputs on which they do not."""
        return self.made.disagreements()

    @cached_property
    def judges(self) -> Table:
        """How often each judge gave no usable verdict."""
        return tables.judges(self.made.database)

    @cached_property
    def discrimination(self) -> Discrimination:
        """Which cases and rules do not separate the models."""
        rules = [rule.id for rule in self.run.spec.rules if not rule.stale]
        return tables.discrimination(self.made.database, rules=rules)

    @cached_property
    def confusions(self) -> Table:
        """What models answer most often where something else was expected."""
        return self.made.confusions()

    @cached_property
    def answer_counts(self) -> Table:
        """How often each answer was expected and given."""
        return self.made.answer_counts()

    def _hang_on_input(self) -> set[str]:
        """The rules whose verdict hangs on the input as well."""
        sees_input = bool(self.run.manifest.settings.get("judge_sees_input"))
        rules = {rule.id for rule in self.run.spec.rules if sees_input or rule.needs == "input"}
        return rules | (set(self.run.manifest.mode_rules) if sees_input else set())
