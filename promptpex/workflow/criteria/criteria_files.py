"""The files behind the page of criteria: each change is made to what they say at that moment."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from promptpex.codecs.files.ordinary_files import FileState, state_of
from promptpex.core.errors import SynthesisError
from promptpex.core.records import Criterion, Grade, History, Rule, Synthesis
from promptpex.core.records.criteria_board import AskedCriteria, AskedCriterion
from promptpex.documents.human_grades import current, read_grades
from promptpex.documents.ownership import edited
from promptpex.grading.book import GradeBook
from promptpex.grading.labels import LabelRules, moment
from promptpex.promptfile import sibling
from promptpex.specs.file import read_spec, rules_in, write_spec
from promptpex.synthesis import edit_criteria
from promptpex.synthesis.candidate_file import candidates_in, read_candidates, write_candidates
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.json_record_file import ASKED, HISTORY, history_in
from promptpex.synthesis.proposing.from_rules import from_rules
from promptpex.workflow.criteria.suggesting import book_of
from promptpex.workflow.project_files import Files
from promptpex.workflow.synthesis.synthesizing import with_rules


class CriteriaFiles:
    """The candidates of a prompt, its spec, its grades, and what authors were asked. Safe in several threads
    and in several processes: changes take turns.

    The rules of the spec are criteria, as for ``promptpex synthesize``; with the first change they stand in the file.

    Args:
        files: the prompt with its spec.
        how: how grades become labels.
    """

    def __init__(self, files: Files, how: LabelRules) -> None:
        self.prompt, self.spec, self.how = files.prompt, files.spec, how
        self.folder = SynthesisFolder.of(files.prompt)
        self.grades = sibling(files.prompt, "grades")
        self._lock = threading.RLock()
        self._depth = 0

    def rules(self) -> tuple[Rule, ...]:
        """The rules of the spec; none where there is no spec.

        Raises:
            SpecError: it cannot be read, with its line.
        """
        return rules_in(self.spec)

    def read(self) -> Synthesis:
        """Criteria and candidates as they are now.

        Raises:
            InputError: a file cannot be read, with its line.
        """
        return self._read()[1]

    def _read(self) -> tuple[History, Synthesis]:
        with self._lock:
            synthesis = candidates_in(self.folder.candidates, self.prompt.name)
            history = history_in(self.folder.versions, self.prompt.name)
            if self.spec.exists():
                history, synthesis = with_rules(history, synthesis, read_spec(self.spec))
            return history, synthesis

    def edit(self, step: Callable[[Synthesis], Synthesis]) -> Synthesis:
        """Carries out what a person asked for, and gives what the file then says.

        Raises:
            InputError: it cannot be done, or the file cannot be read or edited.
        """
        return self._write(step, by_hand=True)

    def add(self, step: Callable[[Synthesis], Synthesis]) -> Synthesis:
        """Adds what a machine made; what is a person's stays as it is.

        Raises:
            InputError: the file cannot be read or edited.
        """
        return self._write(step, by_hand=False)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other thread, and no other server on the same prompt, changes the files meanwhile.

        Raises:
            SynthesisError: another program keeps them locked.
        """
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

        Raises:
            InputError: it cannot be done, or a file cannot be read or edited.
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
        """What authors were asked.

        Raises:
            SynthesisError: the file cannot be read.
        """
        return ASKED.read(self.folder.asked) or AskedCriteria()

    def remember(self, new: AskedCriterion) -> None:
        """Keeps what an author was asked for a criterion.

        Raises:
            SynthesisError: the file cannot be read or written.
        """
        with self._alone():
            ASKED.write(self.folder.asked, self.asked().with_one(new))

    def book(self, synthesis: Synthesis) -> GradeBook:
        """People's grades, held against the rules and all criteria as they are now.

        Raises:
            GradeError: the file of grades cannot be read, with its line.
        """
        return book_of(self.prompt, self.rules(), synthesis.criteria, self.how)

    def grade(self, grader: str, output: str, subject: str) -> Grade:
        """What a grader said last of a subject of the output with this key.

        Raises:
            GradeError, SynthesisError: the file cannot be read; there is no such grade.
        """
        grade_key = (grader, output, subject)
        own_grades = [
            one for one in current(read_grades(self.grades)) if (one.grader, one.key, one.subject) == grade_key
        ]
        if not own_grades:
            raise SynthesisError("this grade is not in the file of grades; load the page again")
        return max(own_grades, key=moment)

    def stamp(self) -> tuple[FileState | None, ...]:
        """What changes whenever one of the files does."""
        folder = self.folder
        paths = (folder.candidates, folder.matrix, folder.asked, self.spec, self.grades, folder.versions)
        return tuple(map(state_of, paths))


def taken_ids(rules: tuple[Rule, ...]) -> frozenset[str]:
    """The ids that no criterion may have, since grades on rules have them as their subject."""
    return frozenset(rule.id for rule in rules)
