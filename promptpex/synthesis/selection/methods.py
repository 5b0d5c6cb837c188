"""The ways to choose assertions (section 4.3 and the baseline of section 5), and what they give."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from promptpex.stats import Interval
from promptpex.synthesis.selection.problem import (
    SelectionFigures,
    SelectionLimits,
    SelectionProblem,
    all_implied_by,
    bits,
    figures,
    sources,
    union,
)
from promptpex.synthesis.selection.program import COV, LEAST_FFR, MOST_COVERAGE, SUB, Goal, Task
from promptpex.synthesis.selection.search import Clock, GoalReached, optimise


@dataclass(frozen=True, slots=True)
class Reachable:
    """A selection that keeps one limit and comes as near to the other as any."""

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
    """What is in the way of a selection."""
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


State = Literal["ok", "infeasible", "undecided", "no-examples", "no-good-examples", "no-bad-examples"]
"""Whether there is a selection, and why not. ``undecided``: the time did not suffice to find one or to rule it out.
With ``all``, ``baseline`` and ``topological`` the last three name a share that is not defined."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Coverage and false failure rate with their intervals; None where there are no such examples."""

    coverage: Interval | None
    ffr: Interval | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CrossFitted:
    """The figures of a way to choose, each example counted with a set that was chosen without it.

    Attributes:
        shares: over all examples of the folds in which there is a set. The intervals are for the set that all examples
            choose (``worth_of_folds``).
        folds: how many there are.
        without: folds in which no set kept the limits; their examples are left out.
        chosen: the set of each fold that has one.
        fold_of: the fold of each example.
    """

    shares: Shares
    folds: int
    without: int
    chosen: Mapping[int, tuple[int, ...]]
    fold_of: Mapping[int, int]

    def to_dict(self) -> dict[str, Any]:
        return {**self.shares.to_dict(), "folds": self.folds, "folds_without_a_set": self.without}


@dataclass(frozen=True, slots=True)
class Selection:
    """Candidates that were chosen.

    Attributes:
        chosen: in order; None where no selection keeps the limits, or none was found.
        figures: of the chosen ones; None without them.
        objective: what ``cov`` and ``sub`` make as small as possible; None for the other methods.
        bound: what the objective cannot be below.
        steps: the goals of ``cov`` and ``sub`` in order, with what is proven of each.
        explanation: why there is no selection.
        on_all: coverage and FFR on the examples that it was made on, with intervals; None where nobody asked for them.
        held_out: the figures of choosing in this way, on examples held out; None where there are too few.
    """

    method: str
    limits: SelectionLimits
    state: State
    chosen: tuple[int, ...] | None = None
    figures: SelectionFigures | None = None
    objective: Fraction | None = None
    bound: Fraction | None = None
    steps: tuple[GoalReached, ...] = ()
    explanation: Explanation | None = None
    on_all: Shares | None = None
    held_out: CrossFitted | None = None

    @property
    def optimal(self) -> bool:
        """Whether nothing better exists: proven for every goal, or, with methods that have none, by definition."""
        return self.chosen is not None and all(step.proven for step in self.steps)

    @property
    def gap(self) -> float | None:
        """By which share of the objective a better selection could undercut it; 0 where none can."""
        if self.chosen is None:
            return None
        if self.objective is None or self.bound is None or self.bound >= self.objective:
            return 0.0
        return float((self.objective - self.bound) / self.objective)

    @property
    def within_limits(self) -> bool | None:
        """Whether both limits are kept; None where a share is not defined."""
        figures = self.figures
        if figures is None or not figures.bad or not figures.good:
            return None
        enough = figures.caught >= self.limits.coverage * figures.bad
        return enough and figures.flagged <= self.limits.ffr * figures.good

    @property
    def within_limits_held_out(self) -> bool | None:
        """Whether both limits are kept on examples held out; None where that is not known."""
        held_out = self.held_out.shares if self.held_out else None
        coverage, ffr = (held_out.coverage, held_out.ffr) if held_out else (None, None)
        if coverage is None or ffr is None or coverage.estimate is None or ffr.estimate is None:
            return None
        return coverage.estimate >= float(self.limits.coverage) and ffr.estimate <= float(self.limits.ffr)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for ``--json``: without a selection the list is empty and the figures are null."""
        figures = self.figures
        return {
            "selection": list(self.chosen or ()),
            "coverage": figures and figures.coverage,
            "ffr": figures and figures.ffr,
            "size": None if self.chosen is None else len(self.chosen),
            "not_subsumed": figures and figures.not_subsumed,
            "objective": fraction_as_json(self.objective),
            "optimal": self.optimal,
            "gap": self.gap,
            "feasible": None if self.state == "undecided" else self.chosen is not None,
            "state": self.state,
            "method": self.method,
            "within_limits": self.within_limits,
            "not_subsumed_within_ffr": figures and figures.not_subsumed_within_ffr,
            "caught": figures and figures.caught,
            "bad": figures and figures.bad,
            "flagged": figures and figures.flagged,
            "good": figures and figures.good,
            "weight": fraction_as_json(figures.weight if figures else None),
            "bound": fraction_as_json(self.bound),
            "explanation": self.explanation.to_dict() if self.explanation else None,
            "intervals": self.on_all and self.on_all.to_dict(),
            "held_out": self.held_out and {**self.held_out.to_dict(), "within_limits": self.within_limits_held_out},
        }


def fraction_as_json(number: Fraction | None) -> int | float | None:
    if number is None:
        return None
    return int(number) if number.denominator == 1 else float(number)


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
