"""What a selection is reported as."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from promptpex.synthesis.selection.infeasibility import Explanation
from promptpex.synthesis.selection.lexicographic import GoalReached
from promptpex.synthesis.selection.problem import SelectionFigures
from promptpex.synthesis.selection.thresholds import SelectionLimits

State = Literal["ok", "infeasible", "undecided", "no-examples", "no-good-examples", "no-bad-examples"]
"""Whether there is a selection, and why not. ``undecided``: the time did not suffice to find one or to rule it out.
With ``all``, ``baseline`` and ``topological`` the last three name a share that is not defined."""


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
        }


def fraction_as_json(number: Fraction | None) -> int | float | None:
    """A fraction as JSON has it: whole where it is whole."""
    if number is None:
        return None
    return int(number) if number.denominator == 1 else float(number)
