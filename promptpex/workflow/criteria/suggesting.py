"""Criteria that an author suggests: from a prompt alone, and from what people noted on bad outputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.core.records import Criterion, Example, Prompt, Rule
from promptpex.documents.human_grades import read_grades
from promptpex.grading.book import GradeBook
from promptpex.grading.labels import LabelRules
from promptpex.grading.subjects import subjects_of
from promptpex.promptfile import sibling
from promptpex.synthesis.proposing.graded_examples import GradedExamples, examples_for_notes
from promptpex.synthesis.proposing.suggest_criteria import INFER, MOST_BAD, NOTES, suggest_criteria
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.session import Session

TYPICAL_SUGGESTIONS = 5
"""Criteria of a request for some, for estimates."""


@dataclass(frozen=True, slots=True)
class Suggesting:
    """What criteria are to be suggested from.

    Attributes:
        infer: whether from the prompt alone.
        graded: bad outputs with notes; none: not from notes.
        taken: ids that no new criterion may have, since grades on rules have them as their subject.
        turn: how often the same was asked in vain, so that a fresh answer comes.
    """

    infer: bool = False
    graded: GradedExamples = field(default_factory=GradedExamples)
    taken: frozenset[str] = frozenset()
    turn: int = 0

    @property
    def requests(self) -> int:
        """How many requests that takes."""
        return int(self.infer) + int(bool(self.graded))


def book_of(file: Path, rules: Iterable[Rule], criteria: Iterable[Criterion], how: LabelRules) -> GradeBook:
    """The grades of a prompt, held against its rules and criteria as they are now.

    Args:
        file: the prompt's file.

    Raises:
        GradeError: the file of grades cannot be read, with its line.
    """
    return GradeBook.of(read_grades(sibling(file, "grades")), subjects_of(rules, criteria), how)


def with_new_notes(
    book: GradeBook, criteria: Iterable[Criterion], examples: Iterable[Example], most_bad: int = MOST_BAD
) -> GradedExamples:
    """Bad outputs with notes that no criterion was made from yet, and a few good ones."""
    used = {name for criterion in criteria for name in criterion.notes}
    return examples_for_notes(book, examples, used=used, most_bad=most_bad)


def graded_for_notes(
    file: Path, rules: Iterable[Rule], criteria: Sequence[Criterion], examples: Iterable[Example], how: LabelRules
) -> GradedExamples:
    """As ``with_new_notes``; nothing without a bad one."""
    graded = with_new_notes(book_of(file, rules, criteria, how), criteria, examples)
    return graded if graded.bad else GradedExamples()


async def suggest(
    session: Session, prompt: Prompt, asking: Suggesting, known: Sequence[Criterion]
) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    """New criteria, and the stages in which the author gave nothing that can be used.

    Raises:
        ModelError: of a kind that holds for the whole author.
    """
    own = instructions_of(session.settings, prompt)
    requests: list[tuple[str, GradedExamples | None]] = [(INFER, None)] if asking.infer else []
    requests += [(NOTES, asking.graded)] if asking.graded else []
    proposed: list[Criterion] = []
    in_vain: list[str] = []
    for stage, graded in requests:
        new = await suggest_criteria(
            session.roles.author(),
            prompt,
            graded,
            known=[*known, *proposed],
            taken=asking.taken,
            instructions=own.get(stage, ""),
            turn=asking.turn,
            emit=session.emit,
        )
        proposed += new.criteria
        in_vain += [] if new.answered else [stage]
    return tuple(proposed), tuple(in_vain)
