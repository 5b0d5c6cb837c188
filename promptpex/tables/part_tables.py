"""Some outputs of a run, with the verdicts and the scores on them, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from promptpex.tables.accuracy import expected_outcomes
from promptpex.tables.frames import rule_outcomes
from promptpex.tables.outputs_without_texts import rows_on

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PartTables:
    """The tables of some outputs of a run, or of all.

    Attributes:
        outputs: of the outputs, ``tables.outputs``.
        verdicts, scores: of the verdicts and the scores on them, ``tables.verdicts`` and ``tables.scores``.
    """

    outputs: pd.DataFrame
    verdicts: pd.DataFrame
    scores: pd.DataFrame

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """What became of the rules, ``tables.rule_outcomes``."""
        return rule_outcomes(self.verdicts)

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The outputs that were compared with expected ones, ``tables.expected_outcomes``."""
        return expected_outcomes(self.outputs, self.scores)

    def chosen(self, places: Sequence[int]) -> PartTables:
        """Some of the outputs by their places, in their order, with what is said of them."""
        rows = self.outputs.iloc[list(places)]
        return PartTables(rows, rows_on(rows, self.verdicts), rows_on(rows, self.scores))
