"""What is left to decide of a selection: candidates that can be chosen, and examples that differ between them.

Candidates that people chose or refused, and those that alone pass the limit, are decided; where nothing counts what is
left out, so are those that another candidate is at least as good as in every respect. Examples that the same candidates
fail are one example with a weight.
"""

from __future__ import annotations

from dataclasses import dataclass

from promptpex.synthesis.selection.bitsets import bits, transposed, union
from promptpex.synthesis.selection.goals import Task

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
    """The candidates that may be chosen or not."""
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
    """The candidates that no fixed one spares, by the columns that would."""
    problem = task.problem
    open_candidates = problem.not_spared(fixed)
    spares = [problem.spares[candidate] for candidate in columns]
    patterns = transposed(spares, bits(open_candidates), problem.candidates)
    return {_ones(pattern): count for pattern, count in patterns.items()}


def _ones(pattern: str) -> Group:
    return tuple(column for column, sign in enumerate(pattern) if sign == "1")
