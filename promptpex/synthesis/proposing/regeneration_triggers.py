"""When an author is asked for candidates again, as people grade."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.core.records import Candidate, Criterion, Example
from promptpex.core.records.criteria_board import AskedCriterion
from promptpex.grading.book import GradeBook
from promptpex.synthesis.results.matrix import FAIL, PASS, Matrix

MOST_ROUNDS = 4
"""Requests for a criterion that nobody asked for: after 2, 4, 8 and 16 graded outputs that may be shown, which are
about 8, 16, 32 and 64 in all."""
FEWEST_SHOWN = 2


def may_be_shown(book: GradeBook, examples: Sequence[Example], subject: str) -> list[Example]:
    """The outputs with a grade on this subject that an author may be shown."""
    return [one for one in examples if one.is_shown and book.joint(one, subject).label is not None]


def is_due(criterion: Criterion, asked: AskedCriterion | None, shown: int, agreeing: bool) -> bool:
    """Whether an author shall be asked for candidates for a criterion, without a person's word.

    Once for each wording; then whenever there are twice as many graded outputs to show as the last time, as long as no
    candidate agrees with all of them, and ``MOST_ROUNDS`` times at most.

    Args:
        shown: graded outputs that may be shown.
        agreeing: whether a candidate agrees with all of these.
    """
    if not criterion.selected:
        return False
    if asked is None or asked.wording != criterion.wording:
        return True
    enough = shown >= max(FEWEST_SHOWN, 2 * asked.shown)
    return enough and not agreeing and asked.rounds < MOST_ROUNDS


def is_open(criterion: Criterion, asked: AskedCriterion | None, *, has_candidates: bool) -> bool:
    """Whether an author shall be asked for candidates for a criterion at a person's word for all: where nothing was
    asked for in its present words, or nothing came of it."""
    if not criterion.selected:
        return False
    return asked is None or asked.wording != criterion.wording or not has_candidates


def agrees(candidate: Candidate, matrix: Matrix, book: GradeBook, examples: list[Example], subject: str) -> bool:
    """Whether a candidate passes all good ones of these outputs and fails all bad ones; False without any."""
    number = next((at for at, one in enumerate(matrix.candidates) if one.id == candidate.id), None)
    if number is None or not examples:
        return False
    rows = {one.id: row for row, one in enumerate(matrix.examples)}
    passes, fails = matrix.where(number, PASS), matrix.where(number, FAIL)
    for one in examples:
        expected_verdict = passes if book.joint(one, subject).label == "good" else fails
        if one.id not in rows or not expected_verdict >> rows[one.id] & 1:
            return False
    return True
