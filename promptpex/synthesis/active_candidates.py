"""Candidates that take part: those of criteria that a person has not set aside, and of the kind that these ask for."""

from __future__ import annotations

from promptpex.core.records import Candidate, Criterion, Synthesis
from promptpex.synthesis.results.matrix import may_ask


def in_force(synthesis: Synthesis) -> tuple[Candidate, ...]:
    """The candidates that are run and chosen from, in their order.

    One of several criteria takes part where one of these admits it, and so does one whose criteria are not there.
    """
    criteria = {criterion.id: criterion for criterion in synthesis.criteria}
    return tuple(candidate for candidate in synthesis.candidates if _takes_part(candidate, criteria))


def _takes_part(candidate: Candidate, criteria: dict[str, Criterion]) -> bool:
    own_criteria = [criteria[name] for name in candidate.criteria if name in criteria]
    return not own_criteria or any(admits(criterion, candidate) for criterion in own_criteria)


def admits(criterion: Criterion, candidate: Candidate) -> bool:
    """Whether a criterion takes part and is to be decided by such a candidate; one that has to be chosen is."""
    if not criterion.selected:
        return False
    if criterion.by == "both" or candidate.choice == "must":
        return True
    return may_ask(candidate.check) == (criterion.by == "judge")


def outdated(synthesis: Synthesis) -> dict[str, tuple[str, ...]]:
    """The candidates that were written for other words, each with the ids of the criteria that were reworded since."""
    made_for = {
        candidate.id: tuple(one.id for one in synthesis.criteria if candidate.is_outdated([one]))
        for candidate in synthesis.candidates
    }
    return {name: criteria for name, criteria in made_for.items() if criteria}
