"""Why no selection keeps the limits, and what could be done about it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from promptpex.synthesis.selection.bitsets import bits, union
from promptpex.synthesis.selection.goals import LEAST_FFR, MOST_COVERAGE, Goal, Task
from promptpex.synthesis.selection.lexicographic import Clock, optimise
from promptpex.synthesis.selection.problem import SelectionProblem
from promptpex.synthesis.selection.thresholds import SelectionLimits


@dataclass(frozen=True, slots=True)
class Reachable:
    """A selection that keeps one limit and comes as near to the other as any.

    Attributes:
        count: bad examples caught, or good ones flagged.
        share: of all bad or good ones.
        proven: whether nothing comes nearer.
    """

    count: int
    share: float
    proven: bool
    selection: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why there is no selection.

    Attributes:
        best_coverage: the most that can be caught at the given FFR; None where the candidates that must be chosen
            already pass it, or there are no examples of a kind.
        least_ffr: the least FFR at which the given coverage can be had; None where no set of candidates has it.
        uncaught: bad examples that no candidate catches which may be chosen.
        bad_to_check: bad examples that none catches whose own FFR keeps the limit, ``uncaught`` among them: either
            their label is wrong or a candidate is missing.
        good_to_check: good examples that more than half of the candidates flag, those that fail everything aside.
    """

    best_coverage: Reachable | None
    least_ffr: Reachable | None
    uncaught: tuple[int, ...]
    bad_to_check: tuple[int, ...]
    good_to_check: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "best_coverage": self.best_coverage and asdict(self.best_coverage),
            "least_ffr": self.least_ffr and asdict(self.least_ffr),
            "uncaught": list(self.uncaught),
            "labels_to_check": {"bad": list(self.bad_to_check), "good": list(self.good_to_check)},
        }


def explain(
    problem: SelectionProblem, limits: SelectionLimits, seconds: float, *, clock: Clock = time.monotonic
) -> Explanation:
    """What is in the way of a selection.

    Args:
        seconds: how long to search for each of the two nearest selections.
    """
    most = limits.most_flagged(problem)
    allowed = [number for number in range(problem.candidates) if number not in problem.must_not]
    low = [number for number in allowed if (problem.fails[number] & problem.good).bit_count() <= most]
    best = least = None
    if problem.good and problem.bad:
        best = _nearest(Task(problem, MOST_COVERAGE, 0, most), "uncaught", seconds, clock)
        good_count = problem.good.bit_count()
        least = _nearest(Task(problem, LEAST_FFR, limits.least_caught(problem), good_count), "flagged", seconds, clock)
    return Explanation(
        best,
        least,
        tuple(bits(problem.bad & ~union(problem.fails, allowed))),
        tuple(bits(problem.bad & ~union(problem.fails, low))),
        _flagged_by_most(problem, allowed),
    )


def _nearest(task: Task, goal: Goal, seconds: float, clock: Clock) -> Reachable | None:
    optimum = optimise(task, seconds, clock=clock)
    if optimum.selection is None:
        return None
    step = optimum.steps[task.goals.index(goal)]
    whole = (task.problem.bad if goal == "uncaught" else task.problem.good).bit_count()
    count = whole - step.value if goal == "uncaught" else step.value
    return Reachable(count, count / whole, step.proven, optimum.selection)


def _flagged_by_most(problem: SelectionProblem, allowed: list[int]) -> tuple[int, ...]:
    """The good examples that more than half of the candidates fail, of those that do not fail everything."""
    all_examples = (1 << problem.examples) - 1
    telling = [problem.fails[number] for number in allowed if problem.fails[number] != all_examples]
    counts = {example: sum(failed >> example & 1 for failed in telling) for example in bits(problem.good)}
    return tuple(example for example, count in counts.items() if 2 * count > len(telling))
