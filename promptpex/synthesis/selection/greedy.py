"""A selection to begin with: made candidate by candidate, in a fraction of a second also for thousands of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from promptpex.synthesis.selection.goals import Task
from promptpex.synthesis.selection.reduction import Reduction

Worth = Callable[[int, int, int], Fraction]
"""What a candidate is worth by the bad examples that it adds, the good ones that it adds, and its cost."""

RULES: tuple[Worth, ...] = (
    lambda caught, flagged, cost: Fraction(caught, cost + 1),
    lambda caught, flagged, cost: Fraction(caught, flagged + 1),
    lambda caught, flagged, cost: Fraction(caught, (flagged + 1) * (cost + 1)),
)


def greedy(task: Task, reduction: Reduction) -> tuple[int, ...] | None:
    """The best of what a few rules lead to; None where none of them keeps the limits."""
    covers = [_cover(task, reduction, rule) for rule in RULES]
    selections = [_without_needless(task, cover, reduction) for cover in covers]
    if task.counts_left_out:
        selections = [_filled(task, reduction, selection) for selection in selections]
    scored = [
        (score, tuple(sorted(selection))) for selection in selections if (score := task.score(selection)) is not None
    ]
    return min(scored)[1] if scored else None


def _cover(task: Task, reduction: Reduction, rule: Worth) -> list[int]:
    """Candidates until enough is caught, each the one that is worth most and keeps the limit on false alarms."""
    problem = task.problem
    chosen = list(reduction.fixed)
    flagged = problem.flagged_by(chosen)
    left = list(reduction.columns)
    stop_early = task.goals[0] != "uncaught"
    while left and not (stop_early and (flagged & problem.bad).bit_count() >= task.least_caught):
        worths = []
        for candidate in left:
            new = problem.fails[candidate] & ~flagged
            caught, alarms = (new & problem.bad).bit_count(), (new & problem.good).bit_count()
            if caught and (flagged & problem.good).bit_count() + alarms <= task.most_flagged:
                worths.append((rule(caught, alarms, task.costs[candidate]), -candidate))
        if not worths:
            break
        candidate = -max(worths)[1]
        chosen.append(candidate)
        left.remove(candidate)
        flagged |= problem.fails[candidate]
    return chosen


def _without_needless(task: Task, selection: list[int], reduction: Reduction) -> list[int]:
    """The selection without those that can go: the latest first, as long as that makes it better."""
    score = task.score(selection)
    if score is None:
        return selection
    kept = list(selection)
    for candidate in selection:
        if candidate in reduction.fixed:
            continue
        without = [other for other in kept if other != candidate]
        new = task.score(without)
        if new is not None and new < score:
            kept, score = without, new
    return kept


def _filled(task: Task, reduction: Reduction, selection: list[int]) -> list[int]:
    """The selection with all that spares more than it costs, those that flag least of what is good first."""
    problem = task.problem
    chosen, flagged = list(selection), problem.flagged_by(selection)
    left_out = problem.not_spared(chosen)
    left = [candidate for candidate in reduction.columns if candidate not in set(chosen)]
    while left:
        worths = []
        for candidate in left:
            spared = (problem.spares[candidate] & left_out).bit_count()
            alarms = (problem.fails[candidate] & ~flagged & problem.good).bit_count()
            fits = (flagged & problem.good).bit_count() + alarms <= task.most_flagged
            if fits and spared and spared * task.unit >= task.costs[candidate]:
                worths.append((Fraction(spared, alarms + 1), -candidate))
        if not worths:
            break
        candidate = -max(worths)[1]
        chosen.append(candidate)
        left.remove(candidate)
        flagged |= problem.fails[candidate]
        left_out &= ~problem.spares[candidate]
    return chosen
