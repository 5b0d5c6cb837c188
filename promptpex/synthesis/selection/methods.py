"""The ways to choose assertions (section 4.3 and the baseline of section 5), behind one function."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Literal, get_args

from promptpex.synthesis.selection.goals import COV, SUB, Task
from promptpex.synthesis.selection.implications import all_implied_by, sources
from promptpex.synthesis.selection.infeasibility import explain
from promptpex.synthesis.selection.lexicographic import Clock, optimise
from promptpex.synthesis.selection.problem import SelectionProblem, figures
from promptpex.synthesis.selection.result import Selection, State
from promptpex.synthesis.selection.thresholds import SelectionLimits

Method = Literal["all", "baseline", "cov", "sub", "topological"]
METHODS: tuple[Method, ...] = get_args(Method)

SECONDS = 60.0
"""How long a selection may take unless told otherwise."""


def select(
    problem: SelectionProblem,
    method: Method,
    limits: SelectionLimits | None = None,
    *,
    seconds: float = SECONDS,
    screened: bool = False,
    order: Callable[[int], tuple[float, ...]] | None = None,
    clock: Clock = time.monotonic,
) -> Selection:
    """Chooses candidates.

    Args:
        method: ``all``: every candidate, for reference. ``baseline``: each whose own FFR keeps the limit. ``cov``: the
            smallest set that keeps both limits, of these the one with most coverage, then with least FFR. ``sub``: the
            set that keeps both limits with the least |F'| + |G|, where G are the candidates neither chosen nor implied
            by a chosen one; of these the one with least |G|, then most coverage, then least FFR. ``topological``, which
            needs no examples: what no other candidate implies. Candidates that people chose are part of each, those
            that they refused of none.
        seconds: how long ``cov`` and ``sub`` may search.
        screened: ``topological`` passes over candidates that fail every example.
        order: which candidate of a cycle ``topological`` takes, as in ``sources``.
    """
    limits = limits or SelectionLimits()
    if method in ("cov", "sub"):
        return _optimal(problem, method, limits, seconds, clock)
    chosen: list[int] = []
    state = _missing(problem)
    if method == "topological":
        chosen = _sources(problem, screened=screened, order=order)
    elif method == "all":
        chosen = list(range(problem.candidates))
    elif problem.good:
        most = limits.most_flagged(problem)
        chosen = [
            candidate for candidate, failed in enumerate(problem.fails) if (failed & problem.good).bit_count() <= most
        ]
    else:
        return Selection(method, limits, state, explanation=explain(problem, limits, 0.0, clock=clock))
    allowed = tuple(sorted((set(chosen) | problem.must) - problem.must_not))
    return Selection(method, limits, state, allowed, figures(problem, allowed, limits.most_flagged(problem)))


def _optimal(
    problem: SelectionProblem, method: Literal["cov", "sub"], limits: SelectionLimits, seconds: float, clock: Clock
) -> Selection:
    """A selection by the exact program; without one, why there is none."""
    ends = clock() + seconds
    state = _missing(problem)
    if state != "ok":
        return Selection(method, limits, state, explanation=explain(problem, limits, 0.0, clock=clock))
    goals = COV if method == "cov" else SUB
    task = Task(problem, goals, limits.least_caught(problem), limits.most_flagged(problem))
    optimum = optimise(task, seconds, clock=clock)
    if optimum.selection is None:
        state = "infeasible" if optimum.feasible is False else "undecided"
        why = explain(problem, limits, max(ends - clock(), seconds / 10) / 2, clock=clock)
        return Selection(method, limits, state, explanation=why)
    first = optimum.steps[0]
    return Selection(
        method,
        limits,
        state,
        optimum.selection,
        figures(problem, optimum.selection, task.most_flagged),
        objective=Fraction(first.value, task.unit),
        bound=Fraction(first.bound, task.unit),
        steps=optimum.steps,
    )


def _missing(problem: SelectionProblem) -> State:
    """What the examples lack, so that a share would be 0/0."""
    if not problem.examples:
        return "no-examples"
    if not problem.good:
        return "no-good-examples"
    return "ok" if problem.bad else "no-bad-examples"


def _sources(
    problem: SelectionProblem, *, screened: bool, order: Callable[[int], tuple[float, ...]] | None
) -> list[int]:
    all_examples = (1 << problem.examples) - 1
    members = [
        candidate
        for candidate, failed in enumerate(problem.fails)
        if candidate not in problem.must_not and not (screened and all_examples and failed == all_examples)
    ]
    return sources(members, all_implied_by(problem.candidates, problem.implications), order)
