"""Candidates that no method chooses from: results are missing, or they were written for other words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from promptpex.codecs.text.wording import named, plural
from promptpex.core.errors import SynthesisError
from promptpex.core.records import Candidate, Criterion
from promptpex.core.translation import stored
from promptpex.synthesis.active_candidates import admits
from promptpex.synthesis.choice.screens import Screened, ScreenState
from promptpex.synthesis.results.matrix import Matrix

NOT_COMPARABLE: tuple[ScreenState, ...] = ("not-run", "outdated")
"""States of candidates that no method chooses from; the other states are of candidates that tell nothing."""


def not_comparable(matrix: Matrix, criteria: Iterable[Criterion], graded: int = 0) -> tuple[Screened, ...]:
    """The candidates that no method chooses from, in order.

    Those that were not run on all examples that a choice is made by: those with a label, all where none has one. And
    those that were written for other words than a criterion of theirs has now, but for those of which a person said
    ``must``.

    Args:
        graded: further examples that a choice is made by than those with a label, as bits.
    """
    needed = _needed(matrix, graded)
    reworded = reworded_since(matrix.candidates, criteria)
    screens = (
        _not_run(matrix, number, needed) or _outdated(matrix, number, reworded)
        for number in range(len(matrix.candidates))
    )
    return tuple(one for one in screens if one is not None)


def reworded_since(candidates: Sequence[Candidate], criteria: Iterable[Criterion]) -> dict[int, list[str]]:
    """By the numbers of the candidates that were written for other words, the criteria that have new ones.

    Criteria that are set aside do not count, nor does a candidate that a person wants.
    """
    criteria_by_id = {one.id: one for one in criteria}
    reworded = {
        number: [
            name
            for name in candidate.criteria
            if name in criteria_by_id
            and admits(criteria_by_id[name], candidate)
            and candidate.is_outdated([criteria_by_id[name]])
        ]
        for number, candidate in enumerate(candidates)
        if candidate.choice != "must"
    }
    return {number: names for number, names in reworded.items() if names}


def require_run(matrix: Matrix, left_out: Iterable[Screened], path: Path, graded: int = 0) -> None:
    """Refuses to choose without results of a candidate that a person wants, and where no candidate is left for want of
    results.

    Args:
        left_out: the candidates that are not chosen from.
        path: of the folder.
        graded: as for ``not_comparable``.

    Raises:
        SynthesisError: which candidates were not run.
    """
    candidates, needed = matrix.candidates, _needed(matrix, graded)
    not_run = [number for number in range(len(candidates)) if _missing(matrix, number, needed)]
    required_ids = [candidates[number].id for number in not_run if candidates[number].choice == "must"]
    names = required_ids
    if not_run and len({one.candidate for one in left_out if one.state in NOT_COMPARABLE}) == len(candidates):
        names = [candidates[number].id for number in not_run]
    if not names:
        return
    were = "was" if len(names) == 1 else "were"
    missing = sum(_missing(matrix, number, needed) for number in not_run if candidates[number].id in names)
    judge = any(matrix.asking(number) for number in not_run if candidates[number].id in names)
    but = f", and you said `choice: must` of {named(required_ids)}" if required_ids else ""
    message = (
        f"{plural(len(names), 'candidate')} ({named(names)}) {were} not run on all examples"
        f" ({plural(missing, 'result')} missing){but}; {_run_them(judge)}"
    )
    raise SynthesisError(message, path=path)


def _run_them(judge: bool) -> str:
    alone = stored("`promptpex synthesize PROMPT` runs what is missing")
    return stored("`promptpex synthesize PROMPT --judge MODEL` runs what is missing") if judge else alone


def _needed(matrix: Matrix, graded: int) -> int:
    """The examples that a choice is made by, as bits; all where none has a label."""
    labelled = sum(1 << row for row, example in enumerate(matrix.examples) if example.label is not None)
    return labelled | graded or (1 << len(matrix.examples)) - 1


def _missing(matrix: Matrix, number: int, needed: int) -> int:
    return (matrix.unknown(number) & needed).bit_count()


def _not_run(matrix: Matrix, number: int, needed: int) -> Screened | None:
    missing, name = _missing(matrix, number, needed), matrix.candidates[number].id
    if not missing:
        return None
    asking = matrix.asking(number)
    words = (
        stored(
            "{candidate} was not run on {number} of {part}: no judge was named, or none gave an answer that can be "
            "used; {remedy}"
        )
        if asking
        else stored("{candidate} was not run on {number} of {part}; {remedy}")
    )
    examples = _examples(needed.bit_count(), of_all=needed.bit_count() == len(matrix.examples))
    sentence = words.format(candidate=name, number=missing, part=examples, remedy=_run_them(asking))
    return Screened(number, "not-run", sentence)


def _examples(count: int, *, of_all: bool) -> str:
    if of_all:
        return stored("{count} example", count=count) if count == 1 else stored("{count} examples", count=count)
    if count == 1:
        return stored("{count} labelled example", count=count)
    return stored("{count} labelled examples", count=count)


def _outdated(matrix: Matrix, number: int, reworded: dict[int, list[str]]) -> Screened | None:
    if number not in reworded:
        return None
    return Screened(
        number,
        "outdated",
        stored(
            "{candidate} was written for another wording of {names}; replace it, or keep it as it is: press “It "
            "still fits” on the criteria page, or remove its `wordings` from candidates.yaml",
            candidate=matrix.candidates[number].id,
            names=named(reworded[number]),
        ),
    )
