"""What became of each rule, counted per model and case from parts of a run: what the table of rules rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptpex.core.records import NOT_CONCERNED
from promptpex.stats import Grid, repeat_correlation
from promptpex.tables.counts_per_case import COUNTED, counted
from promptpex.tables.proportions import proportion_cells
from promptpex.tables.tallies import Numbering, Renumbering, Tally

if TYPE_CHECKING:
    import pandas as pd

_BROKEN, _KEPT, _OPEN = range(3)


@dataclass(slots=True)
class _RuleTally:
    """The usable outputs that a rule concerns.

    Attributes:
        cases: their cases, in the order in which this rule met them.
        models: by model its counts: a row for each case, how many outputs broke the rule, kept it, or are open.
        sizes: by model its outputs that the rule concerns, usable or not.
    """

    cases: Renumbering = field(default_factory=Renumbering)
    models: dict[str, Tally] = field(default_factory=dict)
    sizes: Counter[str] = field(default_factory=Counter)

    def grid(self) -> Grid:
        """The counts of all models."""
        import numpy as np

        count = len(self.cases)
        rows = np.array([tally.rows(count) for tally in self.models.values()]).reshape(-1, count, 3)
        broken, kept, left_open = (np.ascontiguousarray(rows[:, :, number]) for number in (_BROKEN, _KEPT, _OPEN))
        of_one_rule, once = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
        whole = Grid(tuple(self.models), broken, kept, left_open, of_one_rule, once)
        return whole.only(np.arange(count))


class RuleCounts:
    """What became of each rule on the outputs of a run, added up part by part; an output is in one part.

    It grows with rules, models and cases, and not with repeats: six bytes for a rule, a model and a case.
    """

    def __init__(self) -> None:
        self._cases = Numbering()
        self._rules: dict[str, _RuleTally] = {}
        self._pairs: dict[tuple[str, str], int] = {}

    def add(self, outcomes: pd.DataFrame) -> None:
        """Adds what became of the rules on some outputs, a table of ``rule_outcomes``."""
        rows = outcomes.rename(columns={"status": "verdict"})
        left_out = rows["verdict"].eq(NOT_CONCERNED).to_numpy(bool)
        for pair in _rules_and_models(rows):
            self._pairs.setdefault(pair, 0)
        for pair in _rules_and_models(rows[left_out]):
            self._pairs[pair] += 1
        needed = [name for name in rows.columns if name in COUNTED]
        for name, part in rows.loc[~left_out, needed].groupby("rule", sort=False, observed=True):
            self._add(self._rules.setdefault(str(name), _RuleTally()), part)

    def _add(self, rule: _RuleTally, part: pd.DataFrame) -> None:
        """Adds the outputs that a rule concerns."""
        import numpy as np

        usable = counted(part).usable
        places = rule.cases.of(self._cases.of([str(case) for case in part["case"].unique()]))
        rule.sizes.update(part["model"].tolist())
        for row, model in enumerate(usable.models):
            counts = np.stack([usable.broken[row], usable.kept[row], usable.open[row]], axis=1)
            rule.models.setdefault(model, Tally(3)).add(places, counts)

    def rows(self, order: Sequence[str], confidence: float) -> list[dict[str, Any]]:
        """A row per rule and model, with the columns of ``tables.rules``.

        Args:
            order: the rules; others come after them.
            confidence: of the intervals.
        """
        figures = {pair: cells for name in self._rules for pair, cells in self._of_rule(name, confidence)}
        ranks = list(dict.fromkeys([*order, *(rule for rule, _ in self._pairs)]))
        models = [model for _, model in self._pairs]
        return [
            {**_NOTHING, "rule": pair[0], "model": pair[1], **figures.get(pair, {}), "not_concerned": self._pairs[pair]}
            for pair in sorted(self._pairs, key=lambda pair: (ranks.index(pair[0]), models.index(pair[1])))
        ]

    def _of_rule(self, name: str, confidence: float) -> list[tuple[tuple[str, str], dict[str, Any]]]:
        rule = self._rules[name]
        grid = rule.grid()
        correlation, made = repeat_correlation(grid, "best"), []
        for row, model in enumerate(grid.models):
            cells = proportion_cells(grid, row, correlation, confidence)
            made.append(((name, model), {**cells, "unscored": rule.sizes[model] - cells["scored"]}))
        return made


def _rules_and_models(rows: pd.DataFrame) -> Iterator[tuple[str, str]]:
    return zip(rows["rule"].tolist(), rows["model"].tolist(), strict=True)


_NOTHING = {"scored": 0, "broken": 0, "unscored": 0, "usable": 0}
"""The counts of a rule that concerns no output of a model."""
