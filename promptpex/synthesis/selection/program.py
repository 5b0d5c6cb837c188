"""A selection as a mixed integer program: the paper's (section 4.3), with fewer variables and the same optima.

Of the paper's variables, x (a candidate is chosen) stays binary. Which candidate flags which example (w) and which
chosen candidate implies which other (r) follow from x and need no variables. Whether a bad example is caught (u here),
a good one flagged (z) and a candidate left out (s) may be continuous, because each is pushed to 0 or 1 once x is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from promptpex.synthesis.selection.goals import Goal, Task
from promptpex.synthesis.selection.reduction import Group, Reduction
from promptpex.synthesis.selection.solver import Program


@dataclass(frozen=True)
class SelectionProgram:
    """The program of a reduced task, and its goals as sums over the variables."""

    task: Task
    reduction: Reduction

    @cached_property
    def program(self) -> Program:
        """The variables in the order chosen, caught, flagged, left out; and the rows that hold them together."""
        reduction = self.reduction
        chosen, caught, flagged = len(reduction.columns), len(reduction.bad), len(reduction.good)
        program = Program(chosen, self.variables)
        for variable, group in enumerate(reduction.bad, start=chosen):
            program.add([*group, variable], [1] * len(group) + [-1], least=0)
        for variable, group in enumerate(reduction.good, start=chosen + caught):
            for column in group:
                program.add([variable, column], [1, -1], least=0)
        for variable, group in enumerate(reduction.left_out, start=chosen + caught + flagged):
            program.add([*group, variable], [1] * (len(group) + 1), least=1)
        self._add_limits(program)
        return program

    def _add_limits(self, program: Program) -> None:
        reduction, task = self.reduction, self.task
        first = len(reduction.columns)
        counts = list(reduction.bad.values())
        if task.least_caught > reduction.caught:
            places = list(range(first, first + len(counts)))
            program.add(places, counts, least=task.least_caught - reduction.caught)
        first += len(counts)
        counts = list(reduction.good.values())
        if sum(counts) > task.most_flagged - reduction.flagged:
            places = list(range(first, first + len(counts)))
            program.add(places, counts, most=task.most_flagged - reduction.flagged)

    @cached_property
    def _objectives(self) -> dict[Goal, list[int]]:
        return {goal: self._objective(goal) for goal in self.task.goals}

    def objective(self, goal: Goal) -> list[int]:
        """What each variable adds to a goal."""
        return self._objectives[goal]

    def _objective(self, goal: Goal) -> list[int]:
        reduction, unit = self.reduction, self.task.unit
        costs = [self.task.costs[candidate] for candidate in reduction.columns]
        nothing = [0] * len(costs)
        caught, flagged = [0] * len(reduction.bad), [0] * len(reduction.good)
        left_out = list(reduction.left_out.values())
        none_left_out = [0] * len(left_out)
        match goal:
            case "weight":
                return [*costs, *caught, *flagged, *none_left_out]
            case "weight-and-left-out":
                return [*costs, *caught, *flagged, *(unit * count for count in left_out)]
            case "left-out":
                return [*nothing, *caught, *flagged, *left_out]
            case "uncaught":
                return [*nothing, *(-count for count in reduction.bad.values()), *flagged, *none_left_out]
            case "flagged":
                return [*nothing, *caught, *reduction.good.values(), *none_left_out]

    def constant(self, goal: Goal) -> int:
        """What a goal amounts to where all variables are 0."""
        reduction, task = self.reduction, self.task
        weight = sum(task.costs[candidate] for candidate in reduction.fixed)
        match goal:
            case "weight":
                return weight
            case "weight-and-left-out":
                return weight + task.unit * reduction.always_left_out
            case "left-out":
                return reduction.always_left_out
            case "uncaught":
                return task.problem.bad.bit_count() - reduction.caught
            case "flagged":
                return reduction.flagged

    @property
    def variables(self) -> int:
        """How many variables there are."""
        reduction = self.reduction
        return len(reduction.columns) + len(reduction.bad) + len(reduction.good) + len(reduction.left_out)

    @property
    def rows(self) -> int:
        """How many rows the program has, without the limits."""
        reduction = self.reduction
        return len(reduction.bad) + sum(map(len, reduction.good)) + len(reduction.left_out)

    def require_more_than(self, size: int) -> None:
        """Excludes sets of so many columns, and smaller ones."""
        columns = range(len(self.reduction.columns))
        self.program.add(columns, [1] * len(columns), least=size + 1)

    def hold(self, goal: Goal, value: int) -> None:
        """Lets no further solution have more of a goal than this."""
        terms = [(variable, number) for variable, number in enumerate(self.objective(goal)) if number]
        if terms:
            variables, numbers = zip(*terms, strict=True)
            self.program.add(variables, numbers, most=value - self.constant(goal))

    def least(self, goal: Goal) -> int:
        """What a goal cannot be below, whatever is chosen."""
        return self.constant(goal) + sum(min(number, 0) for number in self.objective(goal))

    def most(self, goal: Goal) -> int:
        """What a goal cannot be above."""
        most = self.constant(goal) + sum(max(number, 0) for number in self.objective(goal))
        if goal == "flagged":
            return min(most, self.task.most_flagged)
        if goal == "uncaught":
            return min(most, self.task.problem.bad.bit_count() - self.task.least_caught)
        return most

    @cached_property
    def spans(self) -> dict[Goal, int]:
        """By how much each goal can differ from one selection to another."""
        return {goal: self.most(goal) - self.least(goal) for goal in self.task.goals}

    def joined(self, goals: Sequence[Goal], factors: Sequence[int]) -> list[int]:
        """The sum of the goals, each times its factor, as what each variable adds to it."""
        objective = [0] * self.variables
        for goal, factor in zip(goals, factors, strict=True):
            for variable, number in enumerate(self.objective(goal)):
                if number:
                    objective[variable] += factor * number
        return objective

    def selection(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """The candidates that these columns stand for, with those that are chosen in any case."""
        return tuple(sorted([*self.reduction.fixed, *(self.reduction.columns[column] for column in columns)]))

    def solution(self, selection: tuple[int, ...]) -> list[float]:
        """The values of all variables for a selection."""
        reduction = self.reduction
        members = set(selection)
        chosen = {column for column, candidate in enumerate(reduction.columns) if candidate in members}

        def meets(group: Group) -> bool:
            return not chosen.isdisjoint(group)

        return [
            *(float(column in chosen) for column in range(len(reduction.columns))),
            *(float(meets(group)) for group in reduction.bad),
            *(float(meets(group)) for group in reduction.good),
            *(float(not meets(group)) for group in reduction.left_out),
        ]
