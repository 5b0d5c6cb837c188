"""Coverage against false failure rate: the most that can be caught at each number of false alarms."""

from __future__ import annotations

from dataclasses import dataclass

from promptpex.synthesis.selection.goals import MOST_COVERAGE, Task
from promptpex.synthesis.selection.lexicographic import optimise
from promptpex.synthesis.selection.problem import SelectionProblem

MOST_POINTS = 40


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A set with the most coverage that a limit on false alarms allows, and of these the least false alarms.

    Attributes:
        coverage, ffr, caught, flagged: of the set, as shares and as numbers of examples.
        selection: its candidates.
        proven: whether no set catches more.
    """

    coverage: float
    ffr: float
    caught: int
    flagged: int
    selection: tuple[int, ...]
    proven: bool


def curve(problem: SelectionProblem, *, seconds: float, points: int = MOST_POINTS) -> list[CurvePoint]:
    """The points in which allowing more false alarms lets more be caught, from none to all that can be.

    With many good examples not every number of false alarms is tried: ``points`` of them, evenly spread.

    Args:
        seconds: for all points together.
    """
    good, bad = problem.good.bit_count(), problem.bad.bit_count()
    if not good or not bad:
        return []
    step = max(1, -(-(good + 1) // points))
    curve_points: list[CurvePoint] = []
    for most in [*range(0, good, step), good]:
        if curve_points and most <= curve_points[-1].flagged:
            continue
        optimum = optimise(Task(problem, MOST_COVERAGE, 0, most), seconds / points)
        if optimum.selection is None:
            continue
        flagged = problem.flagged_by(optimum.selection)
        caught, alarms = (flagged & problem.bad).bit_count(), (flagged & problem.good).bit_count()
        if not curve_points or caught > curve_points[-1].caught:
            proven = optimum.steps[0].proven
            curve_points.append(CurvePoint(caught / bad, alarms / good, caught, alarms, optimum.selection, proven))
        if caught == bad:
            break
    return curve_points
