"""The files behind the page of criteria, and what people change in them: each change is made to what they say then."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from promptpex.codecs.files.ordinary_files import FileState, state_of
from promptpex.core.errors import SynthesisError
from promptpex.core.records import Choice, Criterion, Grade, History, Means, Rule, Synthesis
from promptpex.core.records.criteria_board import AskedCriteria, AskedCriterion, CandidateForm
from promptpex.core.translation import tr
from promptpex.documents.human_grades import current, read_grades
from promptpex.documents.ownership import edited
from promptpex.grading.book import GradeBook
from promptpex.grading.labels import LabelRules, moment
from promptpex.promptfile import sibling
from promptpex.specs.file import read_spec, rules_in, write_spec
from promptpex.synthesis import edit_criteria
from promptpex.synthesis.edit_criteria import name_of, written
from promptpex.synthesis.folder import (
    ASKED,
    HISTORY,
    SynthesisFolder,
    candidates_in,
    history_in,
    read_candidates,
    write_candidates,
)
from promptpex.synthesis.proposing.criteria import LONGEST_CRITERION
from promptpex.synthesis.proposing.from_rules import from_rules
from promptpex.workflow.project_files import Files
from promptpex.workflow.suggesting import book_of
from promptpex.workflow.synthesizing import with_rules


class CriteriaFiles:
    """The candidates of a prompt, its spec, its grades, and what authors were asked. Safe in several threads
    and in several processes: changes take turns.

    The rules of the spec are criteria, as for ``promptpex synthesize``; with the first change they stand in the file.
    """

    def __init__(self, files: Files, how: LabelRules) -> None:
        self.prompt, self.spec, self.how = files.prompt, files.spec, how
        self.folder = SynthesisFolder.of(files.prompt)
        self.grades = sibling(files.prompt, "grades")
        self._lock = threading.RLock()
        self._depth = 0

    def rules(self) -> tuple[Rule, ...]:
        return rules_in(self.spec)

    def read(self) -> Synthesis:
        return self._read()[1]

    def _read(self) -> tuple[History, Synthesis]:
        with self._lock:
            synthesis = candidates_in(self.folder.candidates, self.prompt.name)
            history = history_in(self.folder.versions, self.prompt.name)
            if self.spec.exists():
                history, synthesis = with_rules(history, synthesis, read_spec(self.spec))
            return history, synthesis

    def edit(self, step: Callable[[Synthesis], Synthesis]) -> Synthesis:
        """Carries out what a person asked for, and gives what the file then says."""
        return self._write(step, by_hand=True)

    def add(self, step: Callable[[Synthesis], Synthesis]) -> Synthesis:
        """Adds what a machine made; what is a person's stays as it is."""
        return self._write(step, by_hand=False)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other thread, and no other server on the same prompt, changes the files meanwhile."""
        with self._lock, contextlib.ExitStack() as locks:
            if not self._depth:
                locks.enter_context(self.folder.alone(self.prompt))
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    def _write(self, step: Callable[[Synthesis], Synthesis], *, by_hand: bool) -> Synthesis:
        with self._alone():
            history, before = self._read()
            after = step(before)
            try:
                written = write_candidates(self.folder.candidates, after, by_hand=by_hand)
            except OSError as failure:
                reason = failure.strerror or str(failure)
                message = f"the file of candidates cannot be written ({reason}); make it writable"
                raise SynthesisError(message, path=self.folder.candidates) from None
            if HISTORY.read(self.folder.versions) != history:
                HISTORY.write(self.folder.versions, history)
            return written

    def reword(self, name: str, text: str) -> Synthesis:
        """Rewords a criterion, and gives what the file then says; one that is a rule of the spec is reworded there,
        too.
        """
        with self._alone():
            before = edit_criteria.find(self.read(), name)
            written = self.edit(lambda synthesis: edit_criteria.reword(synthesis, name, text))
            after = edit_criteria.find(written, name)
            if after.rule is not None and after.text != before.text and self.spec.exists():
                self._reword_rule(after)
                return self.read()
            return written

    def _reword_rule(self, criterion: Criterion) -> None:
        """Gives the rule that a criterion is its words; the rule's checks stay candidates for the older words."""
        spec = read_spec(self.spec)
        rules = [edited(rule, rule=criterion.text) if rule.id == criterion.rule else rule for rule in spec.rules]
        new = write_spec(self.spec, spec.replace(rules=tuple(rules)), by_hand=True)
        history = history_in(self.folder.versions, self.prompt.name)
        criteria_of_rules = from_rules(new, read_candidates(self.folder.candidates), history.rules, history.criteria)
        HISTORY.write(self.folder.versions, history.replace(rules=dict(criteria_of_rules.rules)))

    def asked(self) -> AskedCriteria:
        return ASKED.read(self.folder.asked) or AskedCriteria()

    def remember(self, new: AskedCriterion) -> None:
        with self._alone():
            ASKED.write(self.folder.asked, self.asked().with_one(new))

    def book(self, synthesis: Synthesis) -> GradeBook:
        return book_of(self.prompt, self.rules(), synthesis.criteria, self.how)

    def grade(self, grader: str, output: str, subject: str) -> Grade:
        """What a grader said last of a subject of the output with this key."""
        grade_key = (grader, output, subject)
        own_grades = [
            one for one in current(read_grades(self.grades)) if (one.grader, one.key, one.subject) == grade_key
        ]
        if not own_grades:
            raise SynthesisError("this grade is not in the file of grades; load the page again")
        return max(own_grades, key=moment)

    def stamp(self) -> tuple[FileState | None, ...]:
        folder = self.folder
        paths = (folder.candidates, folder.matrix, folder.asked, self.spec, self.grades, folder.versions)
        return tuple(map(state_of, paths))


def taken_ids(rules: tuple[Rule, ...]) -> frozenset[str]:
    """The ids that no criterion may have, since grades on rules have them as their subject."""
    return frozenset(rule.id for rule in rules)


class CriteriaEdits:
    """Each does one thing, and says in a sentence what it did. Safe in several threads."""

    def __init__(self, files: CriteriaFiles, took: Callable[[Synthesis], None]) -> None:
        self.files, self._took = files, took

    def add(self, text: str, title: str = "") -> str:
        return tr("{name} is a criterion now.", name=self._added(text, title, ()))

    def from_note(self, grader: str, output: str, subject: str) -> str:
        """Makes a criterion of what a grader noted on a subject of an output, and says what it is called."""
        grade = self.files.grade(grader, output, subject)
        known_id = next((one.id for one in self.files.read().criteria if grade.id in one.notes), None)
        if known_id is not None:
            return tr("{name} was made from this note.", name=known_id)
        if not grade.note.strip():
            raise SynthesisError("this grade has no note; write what is wrong with the output first")
        text = " ".join(grade.note.split())[:LONGEST_CRITERION]
        name = self._added(text, "", (grade.id,))
        return tr("{name} is a criterion now; reword it so that it holds for all outputs.", name=name)

    def _added(self, text: str, title: str, notes: Sequence[str]) -> str:
        added_ids: list[str] = []
        taken_by_rules = taken_ids(self.files.rules())

        def step(synthesis: Synthesis) -> Synthesis:
            after, name = edit_criteria.add(synthesis, text, title=title, taken=taken_by_rules, notes=notes)
            added_ids.append(name)
            return after

        self._edit(step)
        return added_ids[-1]

    def reword(self, name: str, text: str) -> str:
        """Rewords a criterion."""
        before = edit_criteria.find(self.files.read(), name)
        written = self.files.reword(name, text)
        after = edit_criteria.find(written, name)
        if before.text == after.text:
            return tr("Nothing has changed.")
        self._took(written)
        if after.rule is not None:
            return tr(
                "{name} is reworded, and so is the rule {rule} of the spec. Its grades and candidates were for the "
                "old wording.",
                name=name,
                rule=after.rule,
            )
        return tr("{name} is reworded. Its grades and candidates were for the old wording.", name=name)

    def delete(self, name: str) -> str:
        self._edit(lambda synthesis: edit_criteria.delete(synthesis, name))
        return tr("{name} is deleted.", name=name)

    def settle(self, name: str, by: Means, selected: bool, max_ffr: float | None, must: bool) -> str:
        """Sets what a person decides of a criterion."""
        self._edit(
            lambda synthesis: edit_criteria.settle(
                synthesis, name, by=by, selected=selected, max_ffr=max_ffr, must=must
            )
        )
        return tr("{name} is saved.", name=name)

    def add_candidate(self, criterion: str, form: CandidateForm, text: str) -> str:
        """Adds a person's candidate, which is run at once."""
        check = written(form, text)
        added_ids: list[str] = []

        def step(synthesis: Synthesis) -> Synthesis:
            after, name = edit_criteria.add_candidate(synthesis, criterion, name_of(form, text), check)
            added_ids.append(name)
            return after

        self._edit(step)
        return tr("{name} is a candidate now.", name=added_ids[-1])

    def edit_candidate(self, name: str, form: CandidateForm, text: str) -> str:
        check = written(form, text)
        self._edit(lambda synthesis: edit_criteria.edit_candidate(synthesis, name, check))
        return tr("{name} is edited, and run again.", name=name)

    def keep_candidate(self, name: str) -> str:
        self._edit(lambda synthesis: edit_criteria.keep_candidate(synthesis, name))
        return tr("{name} counts as up to date.", name=name)

    def choose(self, name: str, choice: Choice | None) -> str:
        """Sets a person's choice of a candidate."""
        self._edit(lambda synthesis: edit_criteria.choose(synthesis, name, choice))
        if choice == "must":
            return tr("{name} is always chosen.", name=name)
        return (
            tr("{name} is never chosen.", name=name)
            if choice == "never"
            else tr("{name} is left to the choice.", name=name)
        )

    def delete_candidate(self, name: str) -> str:
        self._edit(lambda synthesis: edit_criteria.delete_candidate(synthesis, name))
        return tr("{name} is deleted.", name=name)

    def _edit(self, step: Callable[[Synthesis], Synthesis]) -> None:
        self._took(self.files.edit(step))
