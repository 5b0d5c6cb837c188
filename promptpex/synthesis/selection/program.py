"""A selection as a mixed integer program: the paper's (section 4.3), with fewer variables and the same optima.

Of the paper's variables, x (a candidate is chosen) stays binary. Which candidate flags which example (w) and which
chosen candidate implies which other (r) follow from x and need no variables. Whether a bad example is caught (u here),
a good one flagged (z) and a candidate left out (s) may be continuous, because each is pushed to 0 or 1 once x is whole.

Candidates that people chose or refused, and those that alone pass the limit, are decided; where nothing counts what is
left out, so are those that another candidate is at least as good as in every respect. Examples that the same candidates
fail are one example with a weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Literal

from promptpex.synthesis.selection.problem import SelectionProblem, bits, transposed, union
from promptpex.synthesis.selection.solver import Program

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
    """A program to be solved: the goals in order, and the limits as numbers of examples."""

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


Group = tuple[int, ...]
"""The columns that an example, or a candidate that may be left out, depends on."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """The undecided part of a task.

    Attributes:
        columns: the candidates that may be chosen or not; a column is a place in this tuple.
        fixed: those that are chosen in any case.
        caught, flagged: bad and good examples that these flag.
        bad, good: further examples, by the columns that fail them, and how many there are of each sort.
        left_out: candidates that are left out unless one of these columns is chosen, and how many.
        always_left_out: candidates that nothing which may be chosen implies.
    """

    columns: tuple[int, ...]
    fixed: tuple[int, ...]
    caught: int
    flagged: int
    bad: dict[Group, int]
    good: dict[Group, int]
    left_out: dict[Group, int]
    always_left_out: int


def reduced(task: Task) -> Reduction:
    """The undecided part of a task."""
    problem = task.problem
    fixed = tuple(sorted(problem.must))
    flagged = union(problem.fails, fixed)
    columns = _columns(task, flagged)
    bad, good = problem.bad & ~flagged, problem.good & ~flagged
    fails = [problem.fails[candidate] for candidate in columns]
    left_out = _left_out(task, columns, fixed) if task.counts_left_out else {}
    always = left_out.pop((), 0)
    return Reduction(
        columns=columns,
        fixed=fixed,
        caught=(flagged & problem.bad).bit_count(),
        flagged=(flagged & problem.good).bit_count(),
        bad=_groups(fails, bad, problem.examples),
        good=_groups(fails, good, problem.examples),
        left_out=left_out,
        always_left_out=always,
    )


def _columns(task: Task, flagged: int) -> tuple[int, ...]:
    problem = task.problem
    free = [
        candidate
        for candidate, failed in enumerate(problem.fails)
        if candidate not in problem.must
        and candidate not in problem.must_not
        and ((failed | flagged) & problem.good).bit_count() <= task.most_flagged
    ]
    return tuple(free) if task.counts_left_out else tuple(_undominated(task, free, flagged))


def _undominated(task: Task, candidates: list[int], flagged: int) -> list[int]:
    """The candidates without those that another catches as much as, flags no more than and costs no more than."""
    problem = task.problem
    bad, good = problem.bad & ~flagged, problem.good & ~flagged
    catching = [(problem.fails[candidate] & bad, candidate) for candidate in candidates]
    catching.sort(key=lambda pair: (-pair[0].bit_count(), pair[1]))
    undominated: list[tuple[int, int, int, int]] = []
    for caught, candidate in catching:
        alarms, cost = problem.fails[candidate] & good, task.costs[candidate]
        if not caught or any(
            not caught & ~other_caught and not other_alarms & ~alarms and other_cost <= cost
            for other_caught, other_alarms, other_cost, _ in undominated
        ):
            continue
        undominated = [
            other for other in undominated if not (other[0] == caught and not alarms & ~other[1] and cost <= other[2])
        ]
        undominated.append((caught, alarms, cost, candidate))
    return sorted(candidate for *_, candidate in undominated)


def _groups(fails: list[int], examples: int, width: int) -> dict[Group, int]:
    """The examples that at least one column fails, by these columns."""
    patterns = transposed(fails, bits(examples), width)
    groups = {_ones(pattern): count for pattern, count in patterns.items()}
    groups.pop((), None)
    return groups


def _left_out(task: Task, columns: tuple[int, ...], fixed: tuple[int, ...]) -> dict[Group, int]:
    problem = task.problem
    open_candidates = problem.not_spared(fixed)
    spares = [problem.spares[candidate] for candidate in columns]
    patterns = transposed(spares, bits(open_candidates), problem.candidates)
    return {_ones(pattern): count for pattern, count in patterns.items()}


def _ones(pattern: str) -> Group:
    return tuple(column for column, sign in enumerate(pattern) if sign == "1")


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
        reduction = self.reduction
        return len(reduction.columns) + len(reduction.bad) + len(reduction.good) + len(reduction.left_out)

    @property
    def rows(self) -> int:
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
