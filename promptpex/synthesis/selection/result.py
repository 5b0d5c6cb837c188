"""What a selection is reported as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from promptpex.stats import Interval
from promptpex.synthesis.selection.infeasibility import Explanation
from promptpex.synthesis.selection.lexicographic import GoalReached
from promptpex.synthesis.selection.problem import SelectionFigures
from promptpex.synthesis.selection.thresholds import SelectionLimits

State = Literal["ok", "infeasible", "undecided", "no-examples", "no-good-examples", "no-bad-examples"]
"""Whether there is a selection, and why not. ``undecided``: the time did not suffice to find one or to rule it out.
With ``all``, ``baseline`` and ``topological`` the last three name a share that is not defined."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Coverage and false failure rate with their intervals; None where there are no such examples."""

    coverage: Interval | None
    ffr: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for ``--json``."""
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
        """Plain data, for ``--json``."""
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
    """A fraction as JSON has it: whole where it is whole."""
    if number is None:
        return None
    return int(number) if number.denominator == 1 else float(number)
