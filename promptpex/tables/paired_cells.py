"""Two runs side by side, cell by cell: what became of each model on each case in either run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from promptpex.tables.counts_per_case import BROKEN, KEPT, NOT_COUNTED, OPEN, kinds_of_outputs
from promptpex.tables.mergeable_counts import Numbering

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Bools = npt.NDArray[np.bool_]
    Ints = npt.NDArray[np.int64]

KINDS = ("failed", "passed", "open")
"""What an output that was asked for is: it breaks a rule, keeps all, or is usable and has no verdict."""
RUNS = ("before", "after")
CHANGES = ("new", "fixed", "open", "still", "kept")
"""What becomes of a cell: it newly fails, is fixed, cannot be told since one run has no verdict, still fails, or keeps
all rules in both runs."""
UNKNOWN = -1
"""Stands for a change where neither run has a verdict."""


def cells_of_both(
    before: pd.DataFrame, after: pd.DataFrame, models: Sequence[tuple[str, str]], cases: Collection[str]
) -> pd.DataFrame:
    """A row per model and case that either run has an output of, first those of the second run as they come in it:
    ``model``, a number, and ``case``; and of each run, after its name, how many outputs are ``failed``, ``passed`` and
    ``open``, and ``failing``, the place of the first that failed, else -1.

    Args:
        before, after: tables of outputs; of each the columns ``model``, ``case``, ``verdict`` and ``error``.
        models: each model's name in the first and in the second run.
        cases: the ids of the cases that are the same in both.
    """
    import numpy as np
    import pandas as pd

    numbers = Numbering()
    inside = np.zeros(len(numbers.of(list(cases))), dtype=bool)
    sides = [
        _Side(rows, [names[at] for names in models], numbers, len(inside)) for at, rows in enumerate((before, after))
    ]
    codes, cells = pd.factorize(np.concatenate([sides[1].cells, sides[0].cells]))
    of_sides = codes[len(sides[1].cells) :], codes[: len(sides[1].cells)]
    names = np.array(list(numbers), dtype=object)[: len(inside)]
    table = {"model": cells // max(1, len(inside)), "case": names[cells % max(1, len(inside))]}
    for run, side, own in zip(RUNS, sides, of_sides, strict=True):
        table |= {f"{run}_{kind}": count for kind, count in zip(KINDS, side.counts(own, len(cells)), strict=True)}
        table[f"{run}_failing"] = side.first_failing(own, len(cells))
    return pd.DataFrame(table, copy=False)


def kinds_of(cells: pd.DataFrame, run: str) -> Ints:
    """The counts of a run in ``cells_of_both``: a row for each cell, a column for each of ``KINDS``."""
    import numpy as np

    return np.stack([cells[f"{run}_{kind}"].to_numpy() for kind in KINDS], axis=1)


def changes_of(before: Ints, after: Ints, bounds: Bools | bool) -> Ints:
    """What became of cells, whatever missing verdicts would have been: the place of each in ``CHANGES``, or
    ``UNKNOWN``.

    Args:
        before, after: counts, a column for each of ``KINDS``.
        bounds: where outputs without a verdict count as well, or whether they do.
    """
    import numpy as np

    (old, old_open, old_size), (new, new_open, new_size) = (
        (side[:, 0], side[:, 2] * bounds, side[:, :2].sum(axis=1) + side[:, 2] * bounds) for side in (before, after)
    )
    is_scored = old_open < old_size, new_open < new_size
    steps = (
        (~is_scored[0] & ~is_scored[1], UNKNOWN),
        (~is_scored[0] | ~is_scored[1], CHANGES.index("open")),
        (new * old_size > (old + old_open) * new_size, CHANGES.index("new")),
        ((new + new_open) * old_size < old * new_size, CHANGES.index("fixed")),
        ((old_open > 0) | (new_open > 0), CHANGES.index("open")),
        (new > 0, CHANGES.index("still")),
    )
    return np.select([holds for holds, _ in steps], [change for _, change in steps], CHANGES.index("kept"))


class _Side:
    """One of the runs.

    Attributes:
        cells: the number of the cell of each output that was asked for, on the models and cases of both.
    """

    def __init__(self, rows: pd.DataFrame, models: Sequence[str], numbers: Numbering, cases: int) -> None:
        import numpy as np
        import pandas as pd

        model, names = pd.factorize(rows["model"])
        of_name = {name: number for number, name in enumerate(models)}
        numbered = np.array([*(of_name.get(str(name), -1) for name in names), -1], dtype=np.int64)[model]
        case, case_ids = pd.factorize(rows["case"])
        placed = np.append(numbers.of(list(case_ids)), cases)[case]
        kind = kinds_of_outputs(rows)
        (self._places,) = np.nonzero((kind != NOT_COUNTED) & (numbered >= 0) & (placed < cases))
        self.cells: Ints = numbered[self._places] * cases + placed[self._places]
        self._kinds = [kind[self._places] == one for one in (BROKEN, KEPT, OPEN)]

    def counts(self, cells: Ints, count: int) -> list[Ints]:
        """How many outputs of each cell are of each of the ``KINDS``."""
        import numpy as np

        return [np.bincount(cells[marked], minlength=count) for marked in self._kinds]

    def first_failing(self, cells: Ints, count: int) -> Ints:
        """For each cell the place of its first output that failed; -1: none did."""
        import numpy as np

        first = np.full(count, -1)
        (failing,) = np.nonzero(self._kinds[0])
        first[cells[failing[::-1]]] = self._places[failing[::-1]]
        return first
