"""What a selection is chosen for, in order: the first goal counts, each further one decides among equals.

Every goal is a whole number to be made as small as possible, counted from the matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Literal

from promptpex.synthesis.selection.bitsets import union
from promptpex.synthesis.selection.problem import SelectionProblem

Goal = Literal["weight", "weight-and-left-out", "left-out", "uncaught", "flagged"]

COV: tuple[Goal, ...] = ("weight", "uncaught", "flagged")
"""The smallest set, then the most coverage, then the least FFR: the order that reaches the paper's Table 4."""
SUB: tuple[Goal, ...] = ("weight-and-left-out", "left-out", "uncaught", "flagged")
"""|F'| + |G|, then |G|, then the most coverage, then the least FFR."""
MOST_COVERAGE: tuple[Goal, ...] = ("uncaught", "flagged", "weight")
LEAST_FFR: tuple[Goal, ...] = ("flagged", "uncaught", "weight")

Score = tuple[int, ...]
"""A number per goal; the lower tuple is the better selection."""


@dataclass(frozen=True)
class Task:
    """A program to be solved: the goals in order, and the limits as numbers of examples.

    Attributes:
        least_caught: bad examples that have to be caught.
        most_flagged: good examples that may be flagged.
    """

    problem: SelectionProblem
    goals: tuple[Goal, ...]
    least_caught: int
    most_flagged: int

    @cached_property
    def unit(self) -> int:
        """How many units of the first goal make 1: all weights are whole numbers of units."""
        return lcm(*(weight.denominator for weight in self.problem.weights))

    @property
    def counts_left_out(self) -> bool:
        """Whether a goal is about the candidates that are neither chosen nor implied."""
        return "left-out" in self.goals

    @cached_property
    def costs(self) -> tuple[int, ...]:
        """The weight of each candidate in units."""
        weights = self.problem.weights
        return tuple(int(weight * self.unit) for weight in weights) or (1,) * self.problem.candidates

    def score(self, selection: Iterable[int]) -> Score | None:
        """The number per goal; None where the selection does not keep the limits."""
        chosen = tuple(selection)
        flagged = union(self.problem.fails, chosen)
        false_alarms = (flagged & self.problem.good).bit_count()
        caught = (flagged & self.problem.bad).bit_count()
        if caught < self.least_caught or false_alarms > self.most_flagged:
            return None
        weight = sum(self.costs[candidate] for candidate in chosen)
        left_out = self.problem.not_spared(chosen).bit_count() if self.counts_left_out else 0
        numbers: dict[Goal, int] = {
            "weight": weight,
            "weight-and-left-out": weight + self.unit * left_out,
            "left-out": left_out,
            "uncaught": self.problem.bad.bit_count() - caught,
            "flagged": false_alarms,
        }
        return tuple(numbers[goal] for goal in self.goals)
