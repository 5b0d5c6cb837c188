"""Selections made candidate by candidate: quickly, also from thousands, and without a proof that they are the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from promptpex.synthesis.selection.bitsets import union
from promptpex.synthesis.selection.goals import Score, Task
from promptpex.synthesis.selection.reduction import Reduction

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
    """A selection with these candidates, as far as the goals do not speak against them; it may miss the limits.

    Args:
        rule: by which candidates are taken until enough is caught.
        fill_first: where it counts what is left out, whether candidates that spare others come before that.
    """
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
