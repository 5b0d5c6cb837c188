"""Grading in a terminal, by keys."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.cli.grading.keys import BACK, END, FORWARD, Keys
from promptpex.cli.grading.screen import KEYS, KEYS_OF_RULES, show_all, show_help, show_item, show_keys, show_subject
from promptpex.cli.output import say
from promptpex.core.records import OUTPUT_SUBJECT, Grade, GradeValue
from promptpex.core.translation import from_data, tr
from promptpex.grading.desk import Assignment, GradingDesk
from promptpex.grading.subjects import Subject

VALUES: dict[str, GradeValue] = {"g": "good", "b": "bad", "u": "unsure"}


class TerminalGrading:
    """One person's grading at a desk: items one after the other, back and forth.

    Args:
        grader: who grades.
        keys: where keys come from.
    """

    def __init__(self, desk: GradingDesk, grader: str, keys: Keys) -> None:
        self._desk, self._grader, self._keys = desk, grader, keys
        self._seen: list[Assignment] = []
        self._place = 0
        self._note = ""
        self._has_asked = False

    def run(self) -> None:
        """Goes on until nothing is left to grade, or the person finishes."""
        last_screen = ""
        try:
            while (assignment := self._current()) is not None:
                if assignment.item.id != last_screen:
                    self._drop_note()
                last_screen = assignment.item.id
                show_item(assignment, self._desk.progress(self._grader), self._own(assignment), self._desk.subjects)
                show_keys(KEYS.tr())
                if not self._at(assignment):
                    return
        finally:
            self._drop_note()

    def _drop_note(self) -> None:
        """A note belongs to the output that it was written on; one that no grade has taken is not lost unsaid."""
        if self._note:
            say(tr("Your note was not saved, since no grade came after it: {note}", note=self._note))
        self._note = ""

    def _may_end(self, key: str) -> bool:
        """Whether the person finishes; with a note that no grade has taken they are asked once."""
        if key == END or not self._note or self._has_asked:
            return True
        self._has_asked = True
        say(tr("Your note is not saved yet: g, b or u saves it with a grade, q ends without it."))
        return False

    def _current(self) -> Assignment | None:
        if self._place == len(self._seen):
            assignment = self._desk.next(self._grader)
            if assignment is None:
                return None
            self._seen.append(assignment)
        return self._seen[self._place]

    def _at(self, assignment: Assignment) -> bool:
        """Takes keys until one leads on; False: the person finishes.

        What is open of it alone, such as a rule that has other words now, is asked at once.
        """
        if OUTPUT_SUBJECT not in {subject.id for subject in assignment.subjects} and self._left(assignment):
            if not self._grade_rules(assignment, self._left(assignment)):
                return False
            if not self._left(assignment):
                return True
        while True:
            key = self._keys.key()
            if key in ("q", END):
                if self._may_end(key):
                    return False
                continue
            if key in VALUES:
                self._give(assignment, OUTPUT_SUBJECT, VALUES[key])
                return self._grade_rules(assignment, left) if (left := self._left(assignment)) else self._forward()
            if key == "r":
                return self._grade_rules(assignment, self._rules())
            if key == "z" and self._undo():
                return True
            if key in ("p", BACK) and self._back():
                return True
            if key == FORWARD and self._has_grade(assignment) and self._forward():
                return True
            self._stay(key, assignment)

    def _stay(self, key: str, assignment: Assignment) -> None:
        """What keys do that lead nowhere else."""
        if key == "n":
            self._take_note(assignment)
        elif key == "m":
            show_all(assignment)
        elif key == "?":
            show_help()
        elif key == FORWARD:
            say(tr("Grade it first; u is unsure."))
        elif key not in ("z", "p", BACK, ""):
            say(tr("There is no key {key}; ? shows what there is.", key=repr(key)))

    def _give(self, assignment: Assignment, subject: str, value: GradeValue) -> None:
        """Gives a grade with the note, if there is one; the same grade again keeps the note that it has."""
        before = self._desk.book.tip(self._grader, assignment.item.id, subject)
        earlier_note = before.note if before is not None and before.value == value and not before.withdrawn else ""
        grade = self._desk.give(
            self._grader, assignment.item.id, subject, value, self._note or earlier_note, assignment
        )
        say(f"{from_data(value)}{f': {grade.note}' if grade.note else ''}")
        self._note = ""

    def _take_note(self, assignment: Assignment, subject: str = OUTPUT_SUBJECT) -> None:
        """Keeps a note for the next grade, or adds it to the one that is there."""
        say(tr("Note:"))
        self._note, self._has_asked = self._keys.line(), False
        latest_grade = self._desk.book.tip(self._grader, assignment.item.id, subject)
        if latest_grade is not None and not latest_grade.withdrawn:
            self._give(assignment, subject, latest_grade.value)
        else:
            say(tr("It goes with the next grade."))

    def _rules(self) -> list[Subject]:
        return [one for one in self._desk.subjects if one.asked and one.id != OUTPUT_SUBJECT]

    def _left(self, assignment: Assignment) -> list[Subject]:
        """The rules and criteria that are asked of the item and that this person has not graded."""
        subject_ids = {subject.id for subject in assignment.subjects}
        return [one for one in self._rules() if one.id in subject_ids and not self._has_vote(assignment, one)]

    def _grade_rules(self, assignment: Assignment, subjects: Sequence[Subject]) -> bool:
        """Asks for these rules and criteria, back and forth, and goes on where nothing is open of the item then.

        False: the person finishes.
        """
        if not subjects:
            say(tr("There are no rules or criteria to grade."))
        number = 0
        while number < len(subjects):
            subject = subjects[number]
            show_subject(subject, number + 1, len(subjects), self._grade_of(assignment, subject))
            show_keys(KEYS_OF_RULES.tr())
            key = self._keys.key()
            if key in ("q", END):
                if self._may_end(key):
                    return False
                continue
            if key == "x":
                break
            if key == "a":
                for each in subjects[number:]:
                    self._give(assignment, each.id, "good")
                break
            number = self._after(key, assignment, subjects, number)
        open_ones = [one for one in assignment.subjects if not self._has_vote(assignment, one)]
        return not subjects or bool(open_ones) or self._forward()

    def _after(self, key: str, assignment: Assignment, subjects: Sequence[Subject], number: int) -> int:
        """The number of the rule that is asked next."""
        subject = subjects[number]
        if key in VALUES:
            self._give(assignment, subject.id, VALUES[key])
            return number + 1
        if key == "n":
            self._take_note(assignment, subject.id)
        elif key in ("p", BACK):
            return max(0, number - 1)
        elif key in (FORWARD, ""):
            return number + 1
        elif key == "z":
            self._say_undone(self._desk.undo(self._grader))
            return max(0, number - 1)
        else:
            say(tr("There is no key {key} here.", key=repr(key)))
        return number

    def _forward(self) -> bool:
        self._place += 1
        return True

    def _back(self) -> bool:
        if self._place == 0:
            say(tr("This is the first one."))
            return False
        self._place -= 1
        return True

    def _undo(self) -> bool:
        """Takes the latest grade back and goes to its item; False where there is none."""
        undone = self._desk.undo(self._grader)
        self._say_undone(undone)
        if undone is not None:
            self._place = self._place_of(undone)
        return undone is not None

    def _say_undone(self, undone: Grade | None) -> None:
        if undone is None:
            say(tr("There is no grade of yours to take back."))
        else:
            values = {"grade": from_data(undone.value), "case": undone.case, "subject": undone.subject}
            if undone.subject == OUTPUT_SUBJECT:
                say(tr("Taken back: {grade}, case {case}", grade=values["grade"], case=undone.case))
            else:
                say(tr("Taken back: {grade} on {subject}, case {case}", **values))

    def _place_of(self, grade: Grade) -> int:
        for place, assignment in enumerate(self._seen):
            if assignment.item.id == grade.key:
                return place
        item = self._desk.item(grade.key)
        self._seen.insert(0, Assignment(item, grade.policy, grade.probability, self._desk.to_ask(item)))
        return 0

    def _own(self, assignment: Assignment) -> tuple[Grade, ...]:
        return tuple(one for one in self._desk.book.holding(assignment.item) if one.grader == self._grader)

    def _grade_of(self, assignment: Assignment, subject: Subject) -> Grade | None:
        return next((one for one in reversed(self._own(assignment)) if one.subject == subject.id), None)

    def _has_grade(self, assignment: Assignment) -> bool:
        return bool(self._own(assignment))

    def _has_vote(self, assignment: Assignment, subject: Subject) -> bool:
        votes = self._desk.book.joint(assignment.item, subject.id).votes
        return any(vote.grader == self._grader for vote in votes)
