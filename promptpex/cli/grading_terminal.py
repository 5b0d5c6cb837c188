"""Grading in a terminal: what it shows, and what keys do.

Foreign text has lines of its own, so that a text that runs from right to left does not take ours along; signs that a
terminal would obey are shown as U+FFFD.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from textwrap import wrap

import click

from promptpex.cli.grading_keys import BACK, END, FORWARD, Keys
from promptpex.cli.output import say
from promptpex.codecs.text.control_characters import visible
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import named
from promptpex.core.records import OUTPUT_SUBJECT, Grade, GradeValue
from promptpex.core.translation import Key, digits, from_data, tr, tr_n
from promptpex.grading.book import Subject
from promptpex.grading.desk import Assignment, GradingDesk
from promptpex.grading.labels import LabelRules
from promptpex.grading.next_item import Progress, missing_grades_sentence

KEYS = Key("g good  b bad  u unsure  n note  z undo  p back  r rules  m all  ? help  q end")
KEYS_OF_RULES = Key("g good  b bad  u unsure  n note  z undo  p back  a all others good  x leave  q end")
HELP = {
    "g b u": Key("the whole output is good, bad, or you are unsure"),
    "n": Key("a note, which goes with the next grade; on an output that you have graded, with that grade"),
    "r": Key("grade the rules and criteria one by one; there: g b u n, p the one before, a all others good, x leave"),
    "z": Key("undo your latest grade; press again for earlier ones"),
    "p, left": Key("back to the output before; right: on again"),
    "m": Key("the whole of it: all inputs, the prompt as it was sent, the output"),
    "q": Key("the end, for today; each grade is on disk as soon as you have given it"),
}
_KEYS_WIDTH = 11
ROWS = 24
"""Rows of a terminal that each of inputs and output takes at most, until all of it is asked for."""
_LONG = 200_000
_MOST_LACKING = 8
"""Sentences about grades that are missing: one for each rule that a judge decides, of a usual spec."""


def show_head(prompt: str, grader: str, rules: LabelRules) -> None:
    """What is graded, by whom, and what grades come to."""
    text = tr(
        "{prompt}, graded by {grader} (--as NAME); labels: {rules}",
        prompt=prompt,
        grader=grader,
        rules=from_data(rules.sentence()),
    )
    say(click.wrap_text(visible(text), _width(), preserve_paragraphs=False))


def show_item(assignment: Assignment, progress: Progress, own: Sequence[Grade], subjects: Sequence[Subject]) -> None:
    """An output with its inputs, and what the grader has said of it.

    Args:
        subjects: what can be graded.
    """
    subject_of = {subject.id: subject for subject in subjects}
    item = assignment.item
    where = [tr("case {case}", case=item.case)] if item.case else []
    if item.put_up and not item.case:
        where = [tr("production, {why}", why=item.put_up)]
    _title(" · ".join((graded_so_far(progress), *where)))
    for name, value in item.inputs.items():
        _named(name)
        _text(value_text(value), ROWS)
    _named(tr("output"))
    _text(item.output, ROWS)
    _title("")
    for grade in own:
        value = _value_of(grade, subject_of.get(grade.subject))
        if grade.subject == OUTPUT_SUBJECT:
            say(tr("You said {grade}", grade=value))
        else:
            say(tr("{subject}: you said {grade}", subject=grade.subject, grade=value))


def show_all(assignment: Assignment) -> None:
    """All of an item, the prompt as it was sent too."""
    item = assignment.item
    if item.prompt:
        _named(tr("prompt, as it was sent"))
        say(item.prompt)
    for name, value in item.inputs.items():
        _named(name)
        say(value_text(value))
    _named(tr("output"))
    say(item.output)
    _title("")


def show_subject(subject: Subject, number: int, of: int, own: Grade | None) -> None:
    _named(tr("{subject} ({number} of {all})", subject=subject.id, number=number, all=of))
    say(subject.text)
    if own is not None:
        say(tr("You said {grade}", grade=_value_of(own, subject)))


def _value_of(grade: Grade, subject: Subject | None) -> str:
    value = from_data(grade.value)
    if subject is not None and grade.subject_digest != subject.digest:
        value = tr("{grade} of older words of it", grade=value)
    return f"{value}{f': {grade.note}' if grade.note else ''}"


def show_help() -> None:
    width, indent = max(40, _width()), " " * _KEYS_WIDTH
    for keys, meaning in HELP.items():
        for line in wrap(meaning.tr(), width, initial_indent=keys.ljust(_KEYS_WIDTH), subsequent_indent=indent):
            say(line)


def show_keys(keys: str) -> None:
    click.secho(keys, dim=True)


def graded_so_far(progress: Progress) -> str:
    graded = tr_n(
        "{done} of {count} output graded", "{done} of {count} outputs graded", progress.items, done=progress.done
    )
    return f"{graded}, {tr('{count} more begun', count=progress.begun)}" if progress.begun else graded


def show_end(progress: Progress, path: str) -> None:
    """How far grading is."""
    open_items = progress.items - progress.done
    parts = [graded_so_far(progress)]
    for count, what in (
        (progress.unsure, Key("{count} of them unsure")),
        (progress.disputed, Key("{count} with graders who disagree")),
        (progress.stale, Key("{count} with grades on older words, which count no more")),
    ):
        parts += [what.tr(count=count)] if count else []
    say(tr("{what}; the grades are in {file}", what=", ".join(parts), file=path))
    if not open_items and progress.unseen:
        say(
            tr(
                "Nothing is left but {count} that others have graded and you have not: --second-opinions 1 shows them.",
                count=progress.unseen,
            )
        )
    elif not open_items:
        say(tr("Nothing is left to grade."))


def show_outlook(desk: GradingDesk) -> None:
    """How far graders agree, how accurate they are where that counts, and which grades are missing."""
    for pair in desk.book.person_pairs(OUTPUT_SUBJECT, desk.pool):
        both = sum(map(sum, pair.table))
        if both:
            same = pair.table[0][0] + pair.table[1][1]
            say(
                tr_n(
                    "{first} and {second} agree on {same} of {count} output that both have graded.",
                    "{first} and {second} agree on {same} of {count} outputs that both have graded.",
                    both,
                    first=pair.first,
                    second=pair.second,
                    same=same,
                )
            )
    accuracies = [f"{name} {share:.0%}" for name, share in desk.book.accuracies.items()]
    if accuracies:
        say(tr("Estimated accuracy: {names}.", names=named(accuracies)))
    for subject, count in list(desk.lacking().items())[:_MOST_LACKING]:
        say(missing_grades_sentence(subject, count))


def _title(text: str) -> None:
    line = f"── {text} " if text else ""
    click.secho(line + "─" * max(0, _width() - len(line)), dim=True)


def _width() -> int:
    return min(shutil.get_terminal_size().columns, 100)


def _named(name: str) -> None:
    click.secho(visible(name), bold=True)


def _text(text: str, rows: int) -> None:
    beginning = _beginning(visible(text), rows, shutil.get_terminal_size().columns)
    say(beginning.removesuffix("\n") if text.strip() else tr("(empty)"))
    if len(beginning) < len(text):
        left = digits(f"{len(text) - len(beginning):,}")
        click.secho(tr("... {count} more characters: m shows all of it", count=left), dim=True)


def _beginning(text: str, rows: int, columns: int) -> str:
    """As much of a text as fits, counting that a Chinese or Japanese character takes two columns."""
    from rich.cells import cell_len

    taken = used = 0
    for line in text[:_LONG].splitlines(keepends=True):
        height = max(1, -(-cell_len(line.rstrip("\n")) // max(1, columns)))
        if used + height > rows:
            return text[: taken + _fitting(line, (rows - used) * columns)] if used < rows else text[:taken]
        taken, used = taken + len(line), used + height
    return text[:taken]


def _fitting(line: str, cells: int) -> int:
    """How many characters of a line fit into so many columns."""
    from rich.cells import cell_len

    low, high = 0, min(len(line), cells)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cell_len(line[:middle]) <= cells else (low, middle - 1)
    return low


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
            if key == FORWARD and self._own(assignment) and self._forward():
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

    def _has_vote(self, assignment: Assignment, subject: Subject) -> bool:
        votes = self._desk.book.joint(assignment.item, subject.id).votes
        return any(vote.grader == self._grader for vote in votes)
