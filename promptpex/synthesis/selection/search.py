"""The best selection: by trying small sets, by a greedy start, then goal by goal, each proven before the next.

Where the numbers are small, neighbouring goals are one objective in which a unit of the earlier outweighs all that the
later can amount to, which has the same optima and takes one search. Else a goal is solved alone and then held fast by a
row while the next is solved.

Trying sets in order of size is exact in whole numbers where a handful of candidates is enough: a set of k candidates is
given up as soon as the rest of it could not catch enough, even if nothing were caught twice. Where many are needed it
gives up after so much work, with the size that it excluded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from promptpex.synthesis.selection.problem import union
from promptpex.synthesis.selection.program import COV, Goal, Reduction, Score, SelectionProgram, Task, reduced
from promptpex.synthesis.selection.solver import TINY

Column = tuple[int, int, int]
"""A candidate: the bad examples that it flags, the good ones, both as bits, and its number."""


LARGEST = 40
"""Sets of more candidates are not tried: each further one is a level of recursion."""


@dataclass(frozen=True, slots=True)
class SmallSets:
    """What trying sets in order of size came to.

    Attributes:
        selection: the best of the smallest sets: the one that catches most, then flags least of what is good; if it
            did not finish, the best of those that it came to.
        finished: whether every size up to that of the selection, or all sizes, was gone through.
        excluded: no set of so many candidates beside the fixed ones, or fewer, keeps the limits.
    """

    selection: tuple[int, ...] | None
    finished: bool
    excluded: int


def applies(task: Task) -> bool:
    return task.goals == COV and len(set(task.problem.weights)) <= 1 and 0 not in task.problem.weights


def smallest(task: Task, reduction: Reduction, work: float, is_late: Callable[[], bool]) -> SmallSets:
    """The smallest sets that keep the limits."""
    search = _SizeSearch(task, reduction, work, is_late)
    for size in range(min(len(reduction.columns), LARGEST) + 1):
        try:
            best = search.best_of(size)
        except _GaveUp:
            return SmallSets(_with_fixed(reduction, search.best), False, size - 1)
        if best is not None:
            return SmallSets(_with_fixed(reduction, best), True, size - 1)
    return SmallSets(None, len(reduction.columns) <= LARGEST, size)


def _with_fixed(reduction: Reduction, best: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if best is None else tuple(sorted([*reduction.fixed, *best]))


class _GaveUp(Exception):
    """The work or the time is used up."""


class _SizeSearch:
    """The sets of one size after the other."""

    def __init__(self, task: Task, reduction: Reduction, work: float, is_late: Callable[[], bool]) -> None:
        problem = task.problem
        flagged = union(problem.fails, reduction.fixed)
        bad, good = problem.bad & ~flagged, problem.good & ~flagged
        self._columns = [(problem.fails[one] & bad, problem.fails[one] & good, one) for one in reduction.columns]
        self._need = max(0, task.least_caught - reduction.caught)
        self._room = task.most_flagged - reduction.flagged
        self._work, self._is_late = work, is_late
        self._caught, self._flagged = 0, 0
        self.best: tuple[int, ...] | None = None

    def best_of(self, size: int) -> tuple[int, ...] | None:
        self._caught, self._flagged, self.best = self._need, self._room + 1, None
        if size == 0:
            return () if self._need == 0 else None
        self._extend(self._columns, 0, 0, size, ())
        return self.best

    def _extend(self, columns: Sequence[Column], caught: int, flagged: int, size: int, chosen: tuple[int, ...]) -> None:
        """Tries all ways to add ``size`` of the columns."""
        self._work -= len(columns)
        if self._work < 0 or self._is_late():
            raise _GaveUp
        already = caught.bit_count()
        fitting = [
            ((bad | caught).bit_count() - already, bad, good, number)
            for bad, good, number in columns
            if (good | flagged).bit_count() <= self._room
        ]
        fitting.sort(key=lambda column: -column[0])
        if size == 1:
            self._close(fitting, already, flagged, chosen)
            return
        following = [(bad, good, number) for _, bad, good, number in fitting]
        reach = sum(column[0] for column in fitting[:size])
        for place in range(len(fitting) - size + 1):
            if already + reach < self._caught:
                return
            new, bad, good, number = fitting[place]
            self._extend(following[place + 1 :], caught | bad, flagged | good, size - 1, (*chosen, number))
            reach += fitting[place + size][0] - new if place + size < len(fitting) else 0

    def _close(
        self, fitting: Sequence[tuple[int, int, int, int]], already: int, flagged: int, chosen: tuple[int, ...]
    ) -> None:
        """Takes the last candidate of a set: the one that adds most, of these the one that flags least."""
        for new, _, good, number in fitting:
            caught = already + new
            if caught < self._caught:
                return
            alarms = (good | flagged).bit_count()
            if caught > self._caught or alarms < self._flagged:
                self._caught, self._flagged, self.best = caught, alarms, (*chosen, number)


Late = Callable[[], bool]
"""Whether the time is over; what is there then is given, though it may miss the limits."""

Worth = Callable[[int, int, int], float]
"""What a candidate is worth by the bad examples that it adds, the good ones that it adds, and its cost."""

RULES: tuple[Worth, ...] = (
    lambda caught, flagged, cost: caught / (cost + 1),
    lambda caught, flagged, cost: caught / (flagged + 1),
    lambda caught, flagged, cost: caught / ((flagged + 1) * (cost + 1)),
)


def greedy(task: Task, reduction: Reduction, is_late: Late) -> tuple[int, ...] | None:
    """The best of what a few rules lead to; None where none of them keeps the limits."""
    ways = [
        (rule, fill_first) for rule in RULES for fill_first in ((False, True) if task.counts_left_out else (False,))
    ]
    selections = [completed(task, reduction, reduction.fixed, rule, is_late, fill_first=first) for rule, first in ways]
    scored = [(score, selection) for selection in selections if (score := task.score(selection)) is not None]
    return min(scored)[1] if scored else None


def completed(
    task: Task,
    reduction: Reduction,
    chosen: Iterable[int],
    rule: Worth,
    is_late: Late,
    *,
    fill_first: bool = False,
) -> tuple[int, ...]:
    """A selection with these candidates, as far as the goals do not speak against them; it may miss the limits."""
    open_candidates = list(reduction.columns)
    selection = list(chosen)
    if task.counts_left_out and fill_first:
        selection = _filled(task, open_candidates, selection, is_late)
    selection = _without_needless(task, _covered(task, open_candidates, selection, rule, is_late), is_late)
    if task.counts_left_out:
        selection = _filled(task, open_candidates, selection, is_late)
    return tuple(sorted(selection))


def _covered(task: Task, candidates: list[int], chosen: list[int], rule: Worth, is_late: Late) -> list[int]:
    """Candidates until enough is caught, each the one that is worth most and keeps the limit on false alarms."""
    problem = task.problem
    bad, good = problem.bad, problem.good
    flagged = union(problem.fails, chosen)
    left = set(candidates) - set(chosen)
    enough = bad.bit_count() if task.goals[0] == "uncaught" else task.least_caught
    while (flagged & bad).bit_count() < enough and not is_late():
        alarms_so_far = (flagged & good).bit_count()
        worths = []
        for candidate in left:
            new = problem.fails[candidate] & ~flagged
            caught, alarms = (new & bad).bit_count(), (new & good).bit_count()
            if caught and alarms_so_far + alarms <= task.most_flagged:
                worths.append((rule(caught, alarms, task.costs[candidate]), -candidate))
        if not worths:
            break
        candidate = -max(worths)[1]
        chosen.append(candidate)
        left.discard(candidate)
        flagged |= problem.fails[candidate]
    return chosen


def _without_needless(task: Task, selection: list[int], is_late: Late) -> list[int]:
    """The selection without those that can go: the latest first, as long as that makes it better."""
    score: Score | None = task.score(selection)
    if score is None:
        return selection
    needed = list(selection)
    for candidate in reversed(selection):
        if candidate in task.problem.must or is_late():
            continue
        without = [other for other in needed if other != candidate]
        new = task.score(without)
        if new is not None and new < score:
            needed, score = without, new
    return needed


def _filled(task: Task, candidates: list[int], selection: list[int], is_late: Late) -> list[int]:
    """The selection with all that spares more than it costs, those that flag least of what is good first."""
    problem = task.problem
    good = problem.good
    chosen, flagged = list(selection), union(problem.fails, selection)
    left_out = problem.not_spared(chosen)
    left = set(candidates) - set(chosen)
    while left and not is_late():
        alarms_so_far = (flagged & good).bit_count()
        worths, idle = [], []
        for candidate in left:
            spared = (problem.spares[candidate] & left_out).bit_count()
            alarms = (problem.fails[candidate] & ~flagged & good).bit_count()
            gain = spared * task.unit - task.costs[candidate]
            if alarms_so_far + alarms > task.most_flagged or not spared or gain < 0:
                idle.append(candidate)
            else:
                worths.append((gain / (alarms + 1), spared / (alarms + 1), -candidate))
        if not worths:
            break
        candidate = -max(worths)[2]
        chosen.append(candidate)
        left.difference_update(idle, [candidate])
        flagged |= problem.fails[candidate]
        left_out &= ~problem.spares[candidate]
    return chosen


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
    """How far a goal was reached."""

    goal: Goal
    value: int
    bound: int
    proven: bool


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best selection that was found."""

    selection: tuple[int, ...] | None
    feasible: bool | None
    steps: tuple[GoalReached, ...] = ()

    @property
    def proven(self) -> bool:
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
    if applies(task):
        small = smallest(task, reduction, sizes.work, lambda: clock() > ends)
        if small.finished:
            return _finished(task, small.selection)
        excluded, start = small.excluded, small.selection
    search = _GoalSearch(program, ends, clock, sizes, excluded)
    if start is not None:
        search.take(start)
    return search.run()


def _finished(task: Task, selection: tuple[int, ...] | None) -> Optimum:
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
        factors = [1]
        for goal in reversed(goals[1:]):
            factors.append(factors[-1] * (self._program.spans[goal] + 1))
        return factors[::-1]

    def take(self, selection: tuple[int, ...]) -> None:
        score = self._program.task.score(selection)
        if score is not None and (self._score is None or score < self._score):
            self._best, self._score, self._feasible = selection, score, True


def _whole(bound: float) -> int:
    """The least whole number that the bound leaves."""
    return -int(-(bound - _ALMOST) // 1)
