"""The smallest sets of candidates that keep the limits, by trying sets in order of size.

Where a handful of candidates is enough, which is what `cov` is for, this is exact in whole numbers and needs no linear
program: a set of k candidates is given up as soon as the rest of it could not catch enough, even if none of what its
members catch were caught twice. Where many are needed it gives up after so much work, with the size that it excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from promptpex.synthesis.selection.bitsets import union
from promptpex.synthesis.selection.goals import COV, Task
from promptpex.synthesis.selection.reduction import Reduction

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
    """Whether the goals are those of ``cov`` and all candidates cost the same, so that the size is what counts."""
    return task.goals == COV and len(set(task.problem.weights)) <= 1 and 0 not in task.problem.weights


def smallest(task: Task, reduction: Reduction, work: float, is_late: Callable[[], bool]) -> SmallSets:
    """The smallest sets that keep the limits.

    Args:
        work: how many times a candidate may be looked at.
        is_late: whether the time is over, asked between sets.
    """
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
    """The sets of one size after the other.

    Attributes:
        best: of the size that is being gone through, the best so far.
    """

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
        """The best set of this size; None where none keeps the limits."""
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
