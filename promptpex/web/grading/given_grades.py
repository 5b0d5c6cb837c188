"""Grades as the page sends them, and how they get into the file."""

from __future__ import annotations

from pydantic import Field, ValidationError

from promptpex.core.errors import GradeError, InputError
from promptpex.core.records import GradeValue
from promptpex.core.records._base import Record
from promptpex.core.records.grade import LONGEST_NAME, LONGEST_NOTE, Digest, Name
from promptpex.documents.record_problems import record_problems
from promptpex.grading.desk import Assignment, GradingDesk

MOST_AT_ONCE = 1_000
"""Grades in one request: more than an output has rules."""


class GivenGrade(Record):
    """A grade on its way from the page.

    Attributes:
        grader: who gave it.
        item: the output's key.
        subject: ``output``, or the id of a rule or criterion.
        wording: the digest of the rule's or criterion's text as the person read it; None for the whole output.
        value: the verdict.
        note: the person's words.
        policy, probability: how the output was chosen.
    """

    grader: Name
    item: Digest
    subject: Name
    wording: Digest | None = None
    value: GradeValue
    note: str = Field(default="", max_length=LONGEST_NOTE)
    policy: str = Field(default="", max_length=LONGEST_NAME)
    probability: float | None = Field(default=None, gt=0, le=1)


def take(desk: GradingDesk, grades: object) -> list[dict[str, str]]:
    """Writes the grades that a request brings, and says of each ``{}`` (it is on disk) or why it was not taken.

    Raises:
        InputError: the request holds no list of grades.
        GradeError: with its path, where the file cannot be read or written: nothing is lost, it can be sent again.
    """
    if not isinstance(grades, list) or len(grades) > MOST_AT_ONCE:
        raise InputError(f"send a list of at most {MOST_AT_ONCE} grades")
    return [_taken(desk, one) for one in grades]


def _taken(desk: GradingDesk, data: object) -> dict[str, str]:
    try:
        grade = _read(data)
        _require_wording(desk, grade)
        how = Assignment(desk.item(grade.item), grade.policy, grade.probability, ()) if grade.policy else None
        desk.give(grade.grader, grade.item, grade.subject, grade.value, grade.note, how)
    except GradeError as failure:
        if failure.path is not None:
            raise
        return {"problem": failure.message}
    return {}


def _read(data: object) -> GivenGrade:
    try:
        return GivenGrade.model_validate(data)
    except ValidationError as failure:
        raise GradeError(record_problems(failure, GivenGrade)[0].message) from None


def _require_wording(desk: GradingDesk, grade: GivenGrade) -> None:
    """Refuses a grade on words that the rule no longer has: the person has not read the present ones."""
    if desk.subject(grade.subject).digest != grade.wording:
        raise GradeError(f"{grade.subject} was reworded meanwhile: load the page again and read it")
