"""What people do to criteria and candidates on the page: each is written to ``candidates.yaml`` at once, as theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from promptpex.core.errors import SynthesisError
from promptpex.core.records import Choice, Means, Synthesis
from promptpex.core.records.criteria_board import CandidateForm
from promptpex.core.translation import tr
from promptpex.synthesis import edit_criteria
from promptpex.synthesis.candidate_notation import name_of, written
from promptpex.synthesis.proposing.suggest_criteria import LONGEST_CRITERION
from promptpex.workflow.criteria.criteria_files import CriteriaFiles, taken_ids


class CriteriaEdits:
    """Each does one thing, and says in a sentence what it did. Safe in several threads.

    Args:
        files: what is edited.
        took: told of criteria and candidates after each change.
    """

    def __init__(self, files: CriteriaFiles, took: Callable[[Synthesis], None]) -> None:
        self.files, self._took = files, took

    def add(self, text: str, title: str = "") -> str:
        """Adds a person's criterion, and says what it is called.

        Raises:
            InputError: it cannot be added.
        """
        return tr("{name} is a criterion now.", name=self._added(text, title, ()))

    def from_note(self, grader: str, output: str, subject: str) -> str:
        """Makes a criterion of what a grader noted on a subject of an output, and says what it is called.

        Args:
            output: its key.

        Raises:
            InputError: there is no such grade, or it has no note.
        """
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
        """Rewords a criterion.

        Raises:
            InputError: it cannot be done.
        """
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
        """Deletes a criterion with its candidates.

        Raises:
            InputError: it cannot be done.
        """
        self._edit(lambda synthesis: edit_criteria.delete(synthesis, name))
        return tr("{name} is deleted.", name=name)

    def settle(self, name: str, by: Means, selected: bool, max_ffr: float | None, must: bool) -> str:
        """Sets what a person decides of a criterion.

        Raises:
            InputError: it cannot be done.
        """
        self._edit(
            lambda synthesis: edit_criteria.settle(
                synthesis, name, by=by, selected=selected, max_ffr=max_ffr, must=must
            )
        )
        return tr("{name} is saved.", name=name)

    def add_candidate(self, criterion: str, form: CandidateForm, text: str) -> str:
        """Adds a person's candidate, which is run at once.

        Raises:
            InputError: it cannot be used, and why.
        """
        check = written(form, text)
        added_ids: list[str] = []

        def step(synthesis: Synthesis) -> Synthesis:
            after, name = edit_criteria.add_candidate(synthesis, criterion, name_of(form, text), check)
            added_ids.append(name)
            return after

        self._edit(step)
        return tr("{name} is a candidate now.", name=added_ids[-1])

    def edit_candidate(self, name: str, form: CandidateForm, text: str) -> str:
        """Puts another check under a candidate's name; it is run again.

        Raises:
            InputError: it cannot be used, and why.
        """
        check = written(form, text)
        self._edit(lambda synthesis: edit_criteria.edit_candidate(synthesis, name, check))
        return tr("{name} is edited, and run again.", name=name)

    def keep_candidate(self, name: str) -> str:
        """Says that a candidate fits the present words.

        Raises:
            InputError: it cannot be done.
        """
        self._edit(lambda synthesis: edit_criteria.keep_candidate(synthesis, name))
        return tr("{name} counts as up to date.", name=name)

    def choose(self, name: str, choice: Choice | None) -> str:
        """Sets a person's choice of a candidate.

        Raises:
            InputError: it cannot be done.
        """
        self._edit(lambda synthesis: edit_criteria.choose(synthesis, name, choice))
        if choice == "must":
            return tr("{name} is always chosen.", name=name)
        return (
            tr("{name} is never chosen.", name=name)
            if choice == "never"
            else tr("{name} is left to the choice.", name=name)
        )

    def delete_candidate(self, name: str) -> str:
        """Deletes a candidate.

        Raises:
            InputError: it cannot be done.
        """
        self._edit(lambda synthesis: edit_criteria.delete_candidate(synthesis, name))
        return tr("{name} is deleted.", name=name)

    def _edit(self, step: Callable[[Synthesis], Synthesis]) -> None:
        self._took(self.files.edit(step))
