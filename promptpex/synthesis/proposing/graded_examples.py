"""Graded outputs that an author is shown: good and bad ones, with the reasons that people gave."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from promptpex.codecs.text.inputs_as_text import named_text
from promptpex.codecs.text.wording import cut
from promptpex.core.records import OUTPUT_SUBJECT, Candidate, Criterion, Example, Grade
from promptpex.core.records.criteria_board import AskedCriterion
from promptpex.grading.book import GradeBook
from promptpex.synthesis.results.matrix import FAIL, PASS, Matrix

MOST_OF_A_KIND = 4
"""Good outputs of a request, and bad ones."""
LONGEST_TEXT = 2_000
"""Characters that are shown of inputs, of an output, and of the reasons for its grade."""


@dataclass(frozen=True, slots=True)
class GradedExample:
    """A graded output as an author sees it.

    Attributes:
        id: what it is called in the request.
        inputs, output, reason: as text, cut to a bounded length.
        grades: ids of the grades that speak of it.
    """

    id: str
    inputs: str
    output: str
    reason: str = ""
    grades: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GradedExamples:
    """Good and bad outputs; which ones are shown does not depend on the order in which they were graded."""

    good: tuple[GradedExample, ...] = ()
    bad: tuple[GradedExample, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.good or self.bad)


def examples_for(book: GradeBook, examples: Iterable[Example], subject: str) -> GradedExamples:
    """What an author of candidates for a criterion is shown: of ``Example.is_shown`` alone, so that what it writes can
    be measured on the others.

    A bad one is bad by this criterion, with the reason that was given; or as a whole with a reason, which may be about
    another criterion. A good one is good by the criterion or as a whole.

    Args:
        subject: the id of the criterion, or of the rule that it is.
    """
    shown_examples = [one for one in examples if one.is_shown]
    bad = _described("b", _of_label(book, shown_examples, subject, "bad"), _reasons(book, subject))
    whole = [
        one for one in _of_label(book, shown_examples, OUTPUT_SUBJECT, "bad") if book.joint(one, subject).label is None
    ]
    others = [one for one in _described("b", whole, _reasons(book, OUTPUT_SUBJECT)) if one.reason]
    good = _described("g", _of_label(book, shown_examples, subject, "good"), _reasons(book, subject))
    named = [replace(one, id=f"b{number}") for number, one in enumerate([*bad, *others][:MOST_OF_A_KIND], start=1)]
    return GradedExamples(tuple(good[:MOST_OF_A_KIND]), tuple(named))


def examples_for_notes(
    book: GradeBook, examples: Iterable[Example], *, used: Collection[str] = (), most_bad: int
) -> GradedExamples:
    """What an author of criteria is shown: outputs that were called bad as a whole, with the reasons, and a few good
    ones. Criteria are words that nobody measures, so all grades may be shown. What was noted on a rule or criterion is
    about that."""
    examples = list(examples)
    bad = _described("b", _of_label(book, examples, OUTPUT_SUBJECT, "bad"), _bad_notes(book, set(used)))
    good = _described("g", _of_label(book, examples, OUTPUT_SUBJECT, "good"), _reasons(book, OUTPUT_SUBJECT))
    with_reason = [one for one in bad if one.reason]
    return GradedExamples(tuple(good[:MOST_OF_A_KIND]), tuple(with_reason[:most_bad]))


def _of_label(book: GradeBook, examples: Sequence[Example], subject: str, label: str) -> list[Example]:
    return [one for one in examples if book.joint(one, subject).label == label]


def _reasons(book: GradeBook, subject: str) -> Callable[[Example], list[Grade]]:
    """The grades with a note on an output: on this subject and on the whole of it."""

    def of(example: Example) -> list[Grade]:
        noted = [one for one in book.holding(example) if one.note.strip()]
        return [one for one in noted if one.subject in (subject, OUTPUT_SUBJECT)]

    return of


def _bad_notes(book: GradeBook, used: Collection[str]) -> Callable[[Example], list[Grade]]:
    """The grades that call the whole of an output bad and say why, without those that are ``used``, by their ids."""

    def of(example: Example) -> list[Grade]:
        noted = [one for one in book.holding(example, OUTPUT_SUBJECT) if one.note.strip()]
        return [one for one in noted if one.value == "bad" and one.id not in used]

    return of


def _described(
    letter: str, examples: Sequence[Example], notes: Callable[[Example], list[Grade]]
) -> list[GradedExample]:
    """The examples as text, those with a reason first, one of each inputs before a second one of any."""
    with_notes = [(example, notes(example)) for example in sorted(examples, key=lambda one: one.id)]
    seen: dict[str, int] = {}
    ordered = []
    for example, grades in sorted(with_notes, key=lambda pair: not pair[1]):
        times = seen[example.cluster] = seen.get(example.cluster, 0) + 1
        ordered.append((times, not grades, example, grades))
    ordered.sort(key=lambda each: each[:2])
    return [_graded(f"{letter}{number}", *each[2:]) for number, each in enumerate(ordered, start=1)]


def _graded(name: str, example: Example, grades: Sequence[Grade]) -> GradedExample:
    reasons = list(dict.fromkeys(" ".join(grade.note.split()) for grade in grades))
    return GradedExample(
        name,
        cut(named_text(example.inputs), LONGEST_TEXT),
        cut(example.output, LONGEST_TEXT),
        cut("\n".join(reasons), LONGEST_TEXT),
        tuple(grade.id for grade in grades),
    )


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
