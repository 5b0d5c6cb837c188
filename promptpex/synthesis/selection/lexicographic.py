"""The goals of a task one after the other, each proven before the next: exact tie-breaking.

Where the numbers are small, neighbouring goals are one objective in which a unit of the earlier outweighs all that the
later can amount to, which has the same optima and takes one search. Else a goal is solved alone and then held fast by a
row while the next is solved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from promptpex.synthesis.selection import small_sets
from promptpex.synthesis.selection.goals import Goal, Score, Task
from promptpex.synthesis.selection.greedy import Late, greedy
from promptpex.synthesis.selection.program import SelectionProgram
from promptpex.synthesis.selection.reduction import reduced
from promptpex.synthesis.selection.solver import TINY

_ALMOST = 1e-3
"""How far a bound may fall short of the next whole number and still prove it."""

Clock = Callable[[], float]


MOST_ROWS = 60_000
"""Programs of more rows are not solved: the solver would only begin, and not heed the time. What a greedy search finds
is given, without a proof."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """From which sizes on a search goes about it in another way; the results are the same.

    Attributes:
        packed: what a joined objective may amount to: far below what a double counts exactly, given the solver's
            tolerance.
        tiny: up to so many variables a search is over before a greedy selection to begin with is made.
        work: how many times a candidate is looked at while small sets are tried: a fraction of a second.
    """

    packed: int = 10_000_000
    tiny: int = TINY
    work: int = 300_000


USUAL = Sizes()


@dataclass(frozen=True, slots=True)
class GoalReached:
    """How far a goal was reached.

    Attributes:
        value, bound: what was reached, in units, and what nothing can be below while the goals before it stay.
        proven: whether it, and every goal before it, is as small as can be.
    """

    goal: Goal
    value: int
    bound: int
    proven: bool


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best selection that was found.

    Attributes:
        selection: None where there is none, or none was found in time.
        feasible: whether some selection keeps the limits; None where the time did not suffice to tell.
        steps: a step per goal, in order; empty without a selection.
    """

    selection: tuple[int, ...] | None
    feasible: bool | None
    steps: tuple[GoalReached, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether every goal was proven to be as small as it can be."""
        return self.selection is not None and all(step.proven for step in self.steps)


def optimise(task: Task, seconds: float, *, clock: Clock = time.monotonic, sizes: Sizes = USUAL) -> Optimum:
    """The best selection within the limits.

    Args:
        seconds: how long to search at most; the best so far is given then, with what is proven of it.
    """
    ends = clock() + seconds
    reduction = reduced(task)
    if reduction.flagged > task.most_flagged:
        return Optimum(None, False)
    if reduction.caught + sum(reduction.bad.values()) < task.least_caught:
        return Optimum(None, False)
    program = SelectionProgram(task, reduction)
    excluded, start = -1, None
    if small_sets.applies(task):
        small = small_sets.smallest(task, reduction, sizes.work, lambda: clock() > ends)
        if small.finished:
            return _finished(task, small.selection)
        excluded, start = small.excluded, small.selection
    search = _GoalSearch(program, ends, clock, sizes, excluded)
    if start is not None:
        search.take(start)
    return search.run()


def _finished(task: Task, selection: tuple[int, ...] | None) -> Optimum:
    """What is known where all sets that could be better were tried."""
    score = task.score(selection) if selection is not None else None
    if score is None:
        return Optimum(None, False)
    steps = (GoalReached(goal, value, value, True) for goal, value in zip(task.goals, score, strict=True))
    return Optimum(selection, True, tuple(steps))


class _GoalSearch:
    """The state of a search: the best selection so far, and what is proven."""

    def __init__(self, program: SelectionProgram, ends: float, clock: Clock, sizes: Sizes, excluded: int) -> None:
        self._program, self._sizes = program, sizes
        self._ends, self._clock = ends, clock
        self._best: tuple[int, ...] | None = None
        self._score: Score | None = None
        self._bounds = [program.least(goal) for goal in program.task.goals]
        self._feasible: bool | None = None
        if excluded >= 0:
            program.require_more_than(excluded)
            self._bounds[0] += (excluded + 1) * min(program.task.costs)
        if program.variables > sizes.tiny:
            self._begin()

    def _begin(self) -> None:
        """Takes a greedy selection for the best so far; it may take a quarter of the time, or a second."""
        task, reduction = self._program.task, self._program.reduction
        start = greedy(task, reduction, self._after(0.25, 1.0))
        if start is not None:
            self.take(start)

    def _after(self, share: float, least: float = 0.0) -> Late:
        """What tells when this share of the time that is left is over, or so many seconds."""
        now = self._clock()
        until = now + max(share * (self._ends - now), least)
        return lambda: self._clock() > until

    def run(self) -> Optimum:
        first = 0 if self._program.rows <= MOST_ROWS else len(self._bounds)
        while first < len(self._bounds):
            last = self._joined(first)
            if not self._solved(first, last):
                break
            first = last
        if self._best is None and self._feasible is None:
            self._begin()
        if self._best is None or self._score is None:
            return Optimum(None, self._feasible)
        return Optimum(self._best, True, tuple(self._steps(self._score)))

    def _steps(self, score: Score) -> list[GoalReached]:
        steps = []
        settled = True
        for goal, value, bound in zip(self._program.task.goals, score, self._bounds, strict=True):
            settled = settled and bound >= value
            steps.append(GoalReached(goal, value, min(bound, value), settled))
        return steps

    def _joined(self, first: int) -> int:
        """Up to which goal they can be one objective."""
        size, last = 1, first
        for goal in self._program.task.goals[first:]:
            size *= self._program.spans[goal] + 1
            if size > self._sizes.packed and last > first:
                break
            last += 1
        return last

    def _solved(self, first: int, last: int) -> bool:
        """Solves the goals from ``first`` to before ``last``; whether they are proven."""
        program, goals = self._program, self._program.task.goals[first:last]
        factors = self._factors(goals)
        objective = program.joined(goals, factors)
        constants = [program.constant(goal) for goal in goals]
        start = program.solution(self._best) if self._best is not None else []
        outcome = program.program.minimised(objective, start, self._ends - self._clock())
        if outcome.infeasible:
            self._feasible = self._best is not None
            return False
        if outcome.chosen is not None:
            self.take(program.selection(outcome.chosen))
        if self._score is None or outcome.bound == float("-inf"):
            return False
        joined = sum(factor * constant for factor, constant in zip(factors, constants, strict=True))
        return self._settled(first, last, factors, _whole(outcome.bound) + joined)

    def _settled(self, first: int, last: int, factors: list[int], bound: int) -> bool:
        """Books what the bound of a joined objective proves; whether it proves the goals."""
        assert self._score is not None
        values = self._score[first:last]
        program = self._program
        reached = sum(factor * value for factor, value in zip(factors, values, strict=True))
        if bound >= reached:
            self._bounds[first:last] = values
            for goal, value in zip(program.task.goals[first:last], values, strict=True):
                if last < len(self._bounds):
                    program.hold(goal, value)
            return True
        later = zip(factors[1:], program.task.goals[first + 1 : last], strict=True)
        rest = sum(factor * program.most(goal) for factor, goal in later)
        self._bounds[first] = max(self._bounds[first], -((rest - bound) // factors[0]))
        return False

    def _factors(self, goals: tuple[Goal, ...]) -> list[int]:
        """Per goal the number that makes a unit of it outweigh all later ones."""
        factors = [1]
        for goal in reversed(goals[1:]):
            factors.append(factors[-1] * (self._program.spans[goal] + 1))
        return factors[::-1]

    def take(self, selection: tuple[int, ...]) -> None:
        """Keeps a selection that is better than the best so far, by its own count."""
        score = self._program.task.score(selection)
        if score is not None and (self._score is None or score < self._score):
            self._best, self._score, self._feasible = selection, score, True


def _whole(bound: float) -> int:
    """The least whole number that the bound leaves."""
    return -int(-(bound - _ALMOST) // 1)
