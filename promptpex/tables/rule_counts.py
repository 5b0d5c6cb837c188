"""What became of each rule, counted per model and case from parts of a run: what the table of rules rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptpex.core.records import NOT_CONCERNED
from promptpex.stats import Grid
from promptpex.tables.counts_per_case import BROKEN, KEPT, KINDS, NOT_COUNTED, OPEN, kinds_of_outputs
from promptpex.tables.frames import numbered, rule_outcomes
from promptpex.tables.mergeable_counts import Cases, Renumbering, Tally
from promptpex.tables.proportions import proportion_cells

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class _RuleTally:
    """The outputs that a rule concerns.

    Attributes:
        cases: their cases, in the order in which this rule met them.
        models: by model its counts: a row for each case, how many outputs broke the rule, kept it, are open, or lost.
        sizes: by model its outputs that the rule concerns, asked for or not.
    """

    cases: Renumbering = field(default_factory=Renumbering)
    models: dict[str, Tally] = field(default_factory=dict)
    sizes: Counter[str] = field(default_factory=Counter)

    def add(self, cases: Ints, models: Ints, became: Ints, names: Sequence[str]) -> None:
        """Adds outputs that the rule concerns.

        Args:
            cases, models: of each output, by their numbers.
            became: which count of its model and case each output is one of; none where it is ``NOT_COUNTED``.
            names: of the models.
        """
        import numpy as np

        case, case_ids = numbered(cases)
        places = self.cases.of(np.array(case_ids, dtype=np.int64))
        for number in dict.fromkeys(models.tolist()):
            of_model = models == number
            self.sizes[names[number]] += int(np.count_nonzero(of_model))
            cells = (case * KINDS + became)[of_model & (became != NOT_COUNTED)]
            counts = np.bincount(cells, minlength=len(case_ids) * KINDS).reshape(-1, KINDS)
            self.models.setdefault(names[number], Tally(KINDS)).add(places, counts)

    def grid(self) -> Grid:
        """The counts of the usable outputs of all models."""
        import numpy as np

        count = len(self.cases)
        rows = np.array([tally.rows(count) for tally in self.models.values()]).reshape(-1, count, KINDS)
        broken, kept, left_open = (np.ascontiguousarray(rows[:, :, number]) for number in (BROKEN, KEPT, OPEN))
        whole = Grid(tuple(self.models), broken, kept, left_open, np.ones(count, dtype=np.int64))
        return whole.only(np.arange(count))


class RuleCounts:
    """What became of each rule on the outputs of a run, added up part by part; an output is in one part.

    It grows with rules, models and cases, and not with repeats: eight bytes for a rule, a model and a case.

    Args:
        cases: numbers the cases, for others too.
    """

    def __init__(self, cases: Cases | None = None) -> None:
        self._cases = Cases() if cases is None else cases
        self._rules: dict[str, _RuleTally] = {}
        self._pairs: dict[tuple[str, str], int] = {}

    @classmethod
    def of(cls, cube: pd.DataFrame | RuleCounts) -> RuleCounts:
        """The counts of a table of verdicts; counts are returned as they are."""
        if isinstance(cube, RuleCounts):
            return cube
        counts = cls()
        counts.add(rule_outcomes(cube))
        return counts

    def add(self, outcomes: pd.DataFrame) -> None:
        """Adds what became of the rules on some outputs, a table of ``rule_outcomes``."""
        import numpy as np

        self._cases.add(outcomes)
        left_out = outcomes["status"].eq(NOT_CONCERNED).to_numpy(bool)
        pairs = [*zip(outcomes["rule"].tolist(), outcomes["model"].tolist(), strict=True)]
        for pair in pairs:
            self._pairs.setdefault(pair, 0)
        for place in np.flatnonzero(left_out).tolist():
            self._pairs[pairs[place]] += 1
        rule, rules = numbered(outcomes["rule"].array[~left_out])
        model, models = numbered(outcomes["model"].array[~left_out])
        case, cases = numbered(outcomes["case"].array[~left_out])
        names, became = [str(name) for name in models], kinds_of_outputs(outcomes, "status")[~left_out]
        numbers = self._cases.of([str(name) for name in cases])
        for at, name in zip(_places_of_each(rule, len(rules)), rules, strict=True):
            of_rule = self._rules.setdefault(str(name), _RuleTally())
            of_rule.add(numbers[case[at]], model[at], became[at], names)

    @property
    def concerning(self) -> tuple[str, ...]:
        """The rules that concern an output, as they first appear."""
        return tuple(self._rules)

    def of_cases(self, rule: str, model: str, cases: Sequence[str]) -> Ints:
        """Of each of these cases how many outputs of a model broke a rule, kept it, are usable and open, and are not
        usable, in columns; 0 where there is none."""
        import numpy as np

        counts = np.zeros((len(cases), KINDS), dtype=np.int64)
        tally = self._rules[rule].models.get(model) if rule in self._rules else None
        if tally is not None:
            numbers = self._rules[rule].cases.numbers()
            rows = np.zeros((max(len(self._cases), 1), KINDS), dtype=np.int64)
            rows[numbers] = tally.rows(len(numbers))
            case_numbers = self._cases.known(cases)
            counts[case_numbers >= 0] = rows[case_numbers[case_numbers >= 0]]
        return counts

    def aims(self, cases: Sequence[str]) -> dict[str, tuple[str | None, bool]]:
        """By those of these cases that are known the rule that each aims at, and whether at its inverse."""
        known_cases = [
            case for case, number in zip(cases, self._cases.known(cases).tolist(), strict=True) if number >= 0
        ]
        return dict(zip(known_cases, self._cases.aims(known_cases), strict=True))

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
        cells_of_models = []
        for row, model in enumerate(grid.models):
            cells = proportion_cells(grid, row, confidence)
            cells_of_models.append(((name, model), {**cells, "unscored": rule.sizes[model] - cells["scored"]}))
        return cells_of_models


def _places_of_each(groups: Ints, count: int) -> list[Ints]:
    """The places of the rows of each of ``count`` groups, in their order."""
    import numpy as np

    ends = np.cumsum(np.bincount(groups, minlength=count))
    return np.split(np.argsort(groups, kind="stable"), ends[:-1]) if count else []


_NOTHING = {"scored": 0, "broken": 0, "unscored": 0, "usable": 0}
"""The counts of a rule that concerns no output of a model."""
