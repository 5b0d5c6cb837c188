"""What became of each rule, counted per model and case from parts of a run: what the table of rules rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptpex.core.records import NOT_CONCERNED
from promptpex.stats import Grid, repeat_correlation
from promptpex.tables.counts_per_case import asked, has_status, missing
from promptpex.tables.proportions import proportion_cells
from promptpex.tables.tallies import Numbering, Renumbering, Tally

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]

_COUNTS = 3
_BROKEN, _KEPT, _OPEN = range(_COUNTS)
_UNUSABLE = -1


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

    def add(self, cases: Ints, models: Ints, became: Ints, names: Sequence[str]) -> None:
        """Adds outputs that the rule concerns.

        Args:
            cases, models: of each output, by their numbers.
            became: which count of its model and case each output is one of; none where it is ``_UNUSABLE``.
            names: of the models.
        """
        import numpy as np
        import pandas as pd

        case, known = pd.factorize(cases)
        places = self.cases.of(known)
        for number in pd.unique(models).tolist():
            of_model = models == number
            self.sizes[names[number]] += int(np.count_nonzero(of_model))
            cells = (case * _COUNTS + became)[of_model & (became != _UNUSABLE)]
            counts = np.bincount(cells, minlength=len(known) * _COUNTS).reshape(-1, _COUNTS)
            self.models.setdefault(names[number], Tally(_COUNTS)).add(places, counts)

    def grid(self) -> Grid:
        """The counts of all models."""
        import numpy as np

        count = len(self.cases)
        rows = np.array([tally.rows(count) for tally in self.models.values()]).reshape(-1, count, _COUNTS)
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
        import numpy as np
        import pandas as pd

        left_out = outcomes["status"].eq(NOT_CONCERNED).to_numpy(bool)
        pairs = [*zip(outcomes["rule"].tolist(), outcomes["model"].tolist(), strict=True)]
        for pair in pairs:
            self._pairs.setdefault(pair, 0)
        for place in np.flatnonzero(left_out).tolist():
            self._pairs[pairs[place]] += 1
        rule, rules = pd.factorize(outcomes["rule"].array[~left_out])
        model, models = pd.factorize(outcomes["model"].array[~left_out])
        case, cases = pd.factorize(outcomes["case"].array[~left_out])
        names, became = [str(name) for name in models], _became(outcomes)[~left_out]
        numbers = self._cases.of([str(name) for name in cases])
        for at, name in zip(_places_of_each(rule, len(rules)), rules, strict=True):
            of_rule = self._rules.setdefault(str(name), _RuleTally())
            of_rule.add(numbers[case[at]], model[at], became[at], names)

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


def _became(outcomes: pd.DataFrame) -> Ints:
    """What became of a rule on each output: broken, kept, open, or the output has no usable answer."""
    import numpy as np

    inside, status = asked(outcomes), outcomes["status"]
    open_ = np.where(inside & missing(outcomes, "error"), _OPEN, _UNUSABLE)
    kept = np.where(inside & has_status(status, "pass"), _KEPT, open_)
    return np.where(inside & has_status(status, "fail"), _BROKEN, kept)


def _places_of_each(groups: Ints, count: int) -> list[Ints]:
    """The places of the rows of each of ``count`` groups, in their order."""
    import numpy as np

    ends = np.cumsum(np.bincount(groups, minlength=count))
    return np.split(np.argsort(groups, kind="stable"), ends[:-1]) if count else []


_NOTHING = {"scored": 0, "broken": 0, "unscored": 0, "usable": 0}
"""The counts of a rule that concerns no output of a model."""
