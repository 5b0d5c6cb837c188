"""Two runs side by side, cell by cell: what became of each model on each case in either run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpex.tables.database_sql import BROKEN, JOINED, KEPT, OPEN, UNASKED
from promptpex.tables.run_rows import Rows, Source, rows_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

KINDS = ("failed", "passed", "open")
"""What an output that was asked for is: it breaks a rule, keeps all, or is usable and has no verdict."""
RUNS = ("before", "after")
CHANGES = ("new", "fixed", "open", "still", "kept")
"""What becomes of a cell: it newly fails, is fixed, cannot be told since one run has no verdict, still fails, or keeps
all rules in both runs."""
UNKNOWN = -1
"""Stands for a change where neither run has a verdict."""


@dataclass(frozen=True, eq=False)
class PairedCells:
    """The models and cases that either run has an output of, first those of the second run as they come in it.

    Attributes:
        models: of each its number.
        cases: of each its id.
        counts: of both runs, a row for each and a column for each of ``KINDS``.
        failing: of both runs, the place of the first output that failed, else -1.
    """

    models: list[int]
    cases: list[str]
    counts: tuple[Ints, Ints]
    failing: tuple[Ints, Ints]


_Cell = tuple[int, str]


def cells_of_both(
    before: Source, after: Source, models: Sequence[tuple[str, str]], cases: Collection[str]
) -> PairedCells:
    """What became of each model on each case in either run.

    Args:
        before, after: tables of outputs.
        models: each model's name in the first and in the second run.
        cases: the ids of the cases that are the same in both.
    """
    import numpy as np

    inside = frozenset(cases)
    sides = [
        _side(rows_of(source), [names[at] for names in models], inside) for at, source in enumerate((before, after))
    ]
    cells = list(dict.fromkeys([*sides[1], *sides[0]]))
    numbers_of_sides = [
        np.array([side.get(cell, _NOTHING) for cell in cells], dtype=np.int64).reshape(-1, 4) for side in sides
    ]
    return PairedCells(
        models=[model for model, _ in cells],
        cases=[case for _, case in cells],
        counts=(numbers_of_sides[0][:, :3], numbers_of_sides[1][:, :3]),
        failing=(numbers_of_sides[0][:, 3], numbers_of_sides[1][:, 3]),
    )


_NOTHING = (0, 0, 0, -1)


def _side(rows: Rows, models: Sequence[str], cases: Collection[str]) -> dict[_Cell, tuple[int, ...]]:
    """Of one run by the number of the model and the case how many outputs that were asked for are of each of ``KINDS``,
    and the first that failed, as they first appear."""
    kinds = ", ".join(f"count(CASE WHEN kind = {kind} THEN 1 END)" for kind in (BROKEN, KEPT, OPEN))
    sql = f"""
        SELECT m.name, c.id, q.* FROM (
            SELECT key, {kinds}, coalesce(min(CASE WHEN kind = {BROKEN} THEN place END), -1), min(place) AS place
            FROM {rows.table} WHERE kind <> {UNASKED} GROUP BY key >> 24
        ) q {JOINED.format("q")} ORDER BY q.place
    """
    numbers = {name: number for number, name in enumerate(models)}
    return {
        (numbers[model], case): (broken, kept, left_open, failing)
        for model, case, _, broken, kept, left_open, failing, _ in rows.run.query(sql)
        if model in numbers and case in cases
    }


def changes_of(before: Ints, after: Ints, bounds: Sequence[bool] | bool) -> Ints:
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
