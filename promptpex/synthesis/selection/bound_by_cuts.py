"""How small the first goal can be, of problems whose program is too large for the solver.

The linear relaxation is solved over the candidates alone. What the examples demand comes in as rows where a solution
breaks it (Benders 1962): each row is right for every selection, so each solution is a bound, however early one stops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpex.synthesis.selection.program import SelectionProgram
from promptpex.synthesis.selection.reduction import Group
from promptpex.synthesis.selection.solver import Relaxation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Membership = npt.NDArray[np.bool_]

BLOCK = 1_000
"""Sorts of examples that are looked at together."""

NEAR = 0.999
"""Of the columns that flag an example, those whose value is within this share of the largest are held to it alike."""

STALLED = 25
"""Solutions without a gain of a thousandth, after which it is given up."""


@dataclass(frozen=True, slots=True)
class CutBound:
    """What no selection can be below.

    Attributes:
        bound: of the first goal, in units.
        values: per column how much of it the last solution chooses, from 0 to 1.
    """

    bound: float
    values: tuple[float, ...]


def bound_by_cuts(program: SelectionProgram, seconds: Callable[[], float], enough: float) -> CutBound:
    """A bound of the first goal, which has to be one about weights.

    Args:
        seconds: how much time is left.
        enough: a bound that need not be exceeded.
    """
    import numpy as np

    reduction, goal = program.reduction, program.task.goals[0]
    relaxation = _without_examples(program)
    columns = len(reduction.columns)
    good = _Examples(reduction.good, columns)
    bad = _Examples(reduction.bad, columns)
    room = program.task.most_flagged - reduction.flagged
    need = program.task.least_caught - reduction.caught
    best, values, stalled = float("-inf"), (0.0,) * columns, 0
    while stalled < STALLED and best < enough and (left := seconds()) > 0.0:
        solved = relaxation.minimised(left)
        if solved is None:
            break
        value = solved[0] + program.constant(goal)
        stalled = stalled + 1 if value < best + 1e-3 * abs(best) else 0
        chosen = np.clip(np.array(solved[1][:columns]), 0.0, 1.0)
        best, values = max(best, value), tuple(chosen.tolist())
        flags, catches = good.flagging_cut(chosen), bad.catching_cut(chosen)
        if flags @ chosen <= room + 1e-6 * (room + 1) and catches.value >= need - 1e-6 * (need + 1):
            break
        _add(relaxation, flags, most=room)
        _add(relaxation, catches.slope, least=need - catches.constant)
    return CutBound(best, values)


def _without_examples(program: SelectionProgram) -> Relaxation:
    """The relaxation that only knows what implies what."""
    reduction = program.reduction
    objective = program.objective(program.task.goals[0])
    chosen, examples = len(reduction.columns), len(reduction.bad) + len(reduction.good)
    relaxation = Relaxation([*objective[:chosen], *objective[chosen + examples :]])
    for variable, group in enumerate(reduction.left_out, start=chosen):
        relaxation.add([*group, variable], [1.0] * (len(group) + 1), least=1.0, most=float("inf"))
    return relaxation


def _add(relaxation: Relaxation, slope: Floats, *, least: float = float("-inf"), most: float = float("inf")) -> None:
    import numpy as np

    places = np.nonzero(slope)[0]
    relaxation.add(places.tolist(), slope[places].tolist(), least=least, most=most)


@dataclass(frozen=True, slots=True)
class _Catches:
    """How much is caught at most: ``constant + slope @ values``, which at the solution it was made for is ``value``."""

    constant: float
    slope: Floats
    value: float


class _Examples:
    """Sorts of examples as a matrix: which column flags them, and how many there are of each."""

    def __init__(self, groups: dict[Group, int], columns: int) -> None:
        import numpy as np

        self._members: Membership = np.zeros((len(groups), columns), dtype=np.bool_)
        for row, group in enumerate(groups):
            self._members[row, list(group)] = True
        self._counts: Floats = np.array(list(groups.values()), dtype=np.float64)
        self._blocks = [slice(start, start + BLOCK) for start in range(0, len(groups), BLOCK)]

    def flagging_cut(self, values: Floats) -> Floats:
        """Per column a number: together, times the values, they are at most how much any selection flags.

        An example is flagged as much as the largest value of its columns, and that is at least any mean of them.
        """
        import numpy as np

        slope = np.zeros_like(values)
        for block in self._blocks:
            members = self._members[block]
            weighted = members * values
            near = members & (weighted >= NEAR * weighted.max(axis=1, keepdims=True))
            slope += (self._counts[block] / near.sum(axis=1)) @ near
        return slope

    def catching_cut(self, values: Floats) -> _Catches:
        """How much is caught at most: an example as much as the sum of its columns, and at most once."""
        import numpy as np

        constant, slope = 0.0, np.zeros_like(values)
        for block in self._blocks:
            members, counts = self._members[block], self._counts[block]
            full = members @ values >= 1.0
            constant += float(counts[full].sum())
            slope += np.where(full, 0.0, counts) @ members
        return _Catches(constant, slope, constant + float(slope @ values))
