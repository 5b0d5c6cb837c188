"""How far grading is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptpex.core.records import Example
from promptpex.core.translation import tr_n
from promptpex.grading.book import GradeBook


@dataclass(frozen=True, slots=True)
class Progress:
    """How far grading is.

    Attributes:
        items: in the pool.
        done: items of which all that is asked has been graded by somebody who counts.
        mine: items of which this grader has graded something that still holds.
        stale: items with grades on older words that wait for new ones.
        disputed: items whose graders disagree.
        unsure: items of which all who graded them are unsure.
        unseen: items that others have done and this grader has not seen.
        begun: items that are not done, and of which something has been graded.
    """

    items: int
    done: int = 0
    mine: int = 0
    stale: int = 0
    disputed: int = 0
    unsure: int = 0
    unseen: int = 0
    begun: int = 0


def progress_of(book: GradeBook, items: Sequence[Example], ask: Sequence[str], grader: str) -> Progress:
    """How far the grading of these items is, for one grader.

    Args:
        ask: the ids of the subjects that must be graded before an item is done.
    """
    kinds = [_kinds(book, item, ask, grader) for item in book.having_grades(items)]
    return Progress(len(items), *map(sum, zip(*kinds, strict=True)))


def is_unseen(book: GradeBook, item: Example, ask: Sequence[str], grader: str) -> bool:
    """Whether others have done the item and this grader has not graded any of it."""
    joints = [book.joint(item, name) for name in ask]
    return all(joint.graded for joint in joints) and not any(
        vote.grader == grader for joint in joints for vote in joint.votes
    )


def _kinds(book: GradeBook, item: Example, ask: Sequence[str], grader: str) -> tuple[bool, ...]:
    """As the fields of ``Progress``, for one item."""
    joints = [book.joint(item, name) for name in ask]
    holding, all_graded = book.holding(item), all(joint.graded for joint in joints)
    return (
        all_graded,
        any(grade.grader == grader for grade in holding),
        any(book.joint(item, name).stale for name in book.subjects) if book.has_stale else False,
        any(joint.disputed for joint in joints),
        any(joint.graded and joint.label is None and not joint.disputed for joint in joints),
        is_unseen(book, item, ask, grader),
        bool(holding) and not all_graded,
    )


def missing_grades_sentence(subject: str, count: int) -> str:
    """That outputs which are bad on the whole have no grade on a subject, and how to give it.

    Args:
        count: how many; 1 or more.
    """
    return tr_n(
        "{count} bad output is still to be graded on {subject}: go back, or run {command}.",
        "{count} bad outputs are still to be graded on {subject}: go back, or run {command}.",
        count,
        subject=subject,
        command=f"`promptpex grade --on {subject}`",
    )
