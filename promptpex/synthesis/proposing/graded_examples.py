"""Graded outputs that an author is shown: good and bad ones, with the reasons that people gave."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from promptpex.codecs.text.inputs_as_text import named_text
from promptpex.codecs.text.wording import cut
from promptpex.core.records import OUTPUT_SUBJECT, Example, Grade
from promptpex.grading.book import GradeBook

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
    about that.

    Args:
        used: ids of grades that criteria were made from; outputs without another reason are left out.
        most_bad: bad ones of a request.
    """
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
