"""Of each implication on file whether it counts in a choice, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptpex.core.records import Implication
from promptpex.core.translation import stored
from promptpex.synthesis.choice.problem_of_folder import implied
from promptpex.synthesis.results.matrix import ERROR, FAIL, Matrix
from promptpex.synthesis.selection.thresholds import SelectionLimits


@dataclass(frozen=True, slots=True)
class ImplicationStates:
    """The implications on file, each with its state in words, and how many further ones follow from those that count.

    Those that name a candidate which is not there are left out.
    """

    states: tuple[tuple[Implication, str], ...]
    followed: int


def implication_states(
    matrix: Matrix, implications: Sequence[Implication], limits: SelectionLimits
) -> ImplicationStates:
    """Which implications count, by the same rules as in a choice (``implied``)."""
    numbers = {candidate.id: number for number, candidate in enumerate(matrix.candidates)}
    counting = set(implied(matrix, implications, limits)[0])
    among_candidates = [one for one in implications if one.stronger in numbers and one.weaker in numbers]
    pairs = [(numbers[one.stronger], numbers[one.weaker]) for one in among_candidates]
    states = tuple(
        (one, stored("counts") if pair in counting else _why_not(matrix, one, *pair))
        for one, pair in zip(among_candidates, pairs, strict=True)
    )
    return ImplicationStates(states, len(counting - set(pairs)))


def _why_not(matrix: Matrix, one: Implication, stronger: int, weaker: int) -> str:
    if one.accepted is False:
        return stored("does not count: struck")
    against = (matrix.where(weaker, FAIL, ERROR) & ~matrix.fails(stronger)).bit_count()
    if against:
        one_does = stored("does not count: {count} output passes the first and fails the second")
        several = stored("does not count: {count} outputs pass the first and fail the second")
        return (one_does if against == 1 else several).format(count=against)
    return stored("does not count: one of the two flags too many good outputs")
