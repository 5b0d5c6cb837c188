"""The tables of single questions about a run: each is made when somebody first asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from promptpex import tables
from promptpex.core.records import AnyRun
from promptpex.tables import Discrimination

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Details:
    """Tables of single questions: DataFrames, see ``promptpex.tables``; those that have nothing to say are empty.

    A gate, a plugin's last lines or one figure need few of them, and together they take a third of a summary's time.

    Attributes:
        run: the run.
        rows: its outputs, ``tables.outputs``.
        cube: its verdicts, ``tables.verdicts``.
        outcomes: what became of each rule, ``tables.rule_outcomes``.
        compared: its outputs compared with expected ones, ``tables.expected_outcomes``.
        confidence: of the intervals.
    """

    run: AnyRun = field(repr=False)
    rows: pd.DataFrame = field(repr=False)
    cube: pd.DataFrame = field(repr=False)
    outcomes: pd.DataFrame = field(repr=False)
    compared: pd.DataFrame = field(repr=False)
    confidence: float

    @cached_property
    def by_case_type(self) -> pd.DataFrame:
        """Rule cases against inverse cases."""
        return tables.by_case_type(self.rows, confidence=self.confidence)

    @cached_property
    def scenarios(self) -> pd.DataFrame:
        """A row per model and scenario."""
        return tables.scenarios(self.rows, confidence=self.confidence)

    @cached_property
    def repeats(self) -> pd.DataFrame:
        """How much each model's answers to the same case differ."""
        return tables.repeats(self.rows, confidence=self.confidence)

    @cached_property
    def flaky(self) -> pd.DataFrame:
        """The cases that a model passes at times."""
        return tables.flaky(self.rows)

    @cached_property
    def inconsistent_verdicts(self) -> pd.DataFrame:
        """Equal outputs that were judged differently."""
        return tables.inconsistent_verdicts(self.rows, self.cube, hang_on_input=self._hang_on_input())

    @cached_property
    def agreements(self) -> pd.DataFrame:
        """How often two sources of verdicts agree."""
        return tables.agreements(self.cube, partly=self._partly(), confidence=self.confidence)

    @cached_property
    def disagreements(self) -> pd.DataFrame:
        """The outputs on which they do not."""
        return tables.disagreements(self.cube, self.rows, partly=self._partly())

    @cached_property
    def judges(self) -> pd.DataFrame:
        """How often each judge gave no usable verdict."""
        return tables.judges(self.cube)

    @cached_property
    def discrimination(self) -> Discrimination:
        """Which cases and rules do not separate the models."""
        rules = [rule.id for rule in self.run.spec.rules if not rule.stale]
        return tables.discrimination(self.rows, self.cube, rules, outcomes=self.outcomes)

    @cached_property
    def confusions(self) -> pd.DataFrame:
        """What models answer most often where something else was expected."""
        return tables.confusions(self.compared, self._expected(), self.run.manifest.models)

    @cached_property
    def answer_counts(self) -> pd.DataFrame:
        """How often each answer was expected and given."""
        return tables.answer_counts(self.compared, self._expected())

    def _partly(self) -> list[str]:
        """The rules that checks decide in part."""
        return [rule.id for rule in self.run.spec.rules if rule.checks and rule.decides == "partly"]

    def _expected(self) -> dict[str, str]:
        """The expected output of each case that has one."""
        return {case.id: case.expected for case in self.run.suite.cases if case.expected is not None}

    def _hang_on_input(self) -> set[str]:
        """The rules whose verdict hangs on the input as well."""
        sees_input = bool(self.run.manifest.settings.get("judge_sees_input"))
        rules = {rule.id for rule in self.run.spec.rules if sees_input or rule.needs == "input"}
        return rules | (set(self.run.manifest.mode_rules) if sees_input else set())
