"""The book of grades with its file: what others add is read, what is given here is on disk before it is in the book."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from promptpex.codecs import jsonl
from promptpex.codecs.files.ordinary_files import FileState, state_of
from promptpex.core.records import Grade
from promptpex.documents.human_grades import append_grades, read_grades
from promptpex.grading.book import GradeBook
from promptpex.grading.labels import LabelRules
from promptpex.grading.subjects import Subject


class KeptBook:
    """The grades of a file, to which several processes may add.

    Args:
        path: of the file; it need not exist.
        subjects: all that can be graded.
        rules: how grades become labels.

    Raises:
        GradeError: the file cannot be read, with its line; so do all methods.
    """

    def __init__(self, path: Path, subjects: Iterable[Subject], rules: LabelRules) -> None:
        self.path, self.rules = path, rules
        self._file: FileState | None = None
        self.regard(subjects)

    @property
    def book(self) -> GradeBook:
        """The state of all grades, as of the last look at the file."""
        return self._book

    def regard(self, subjects: Iterable[Subject]) -> None:
        """Takes up what can be graded now."""
        self._subjects = tuple(subjects)
        self._book = self._read()

    def refresh(self) -> GradeBook:
        """Reads what others have added."""
        if state_of(self.path) != self._file:
            self._book = self._read()
        return self._book

    def append(self, grade: Grade) -> None:
        """Writes a grade.

        Raises:
            GradeError: also where the file cannot be written.
        """
        before = 0 if self._file is None else self._file.size
        append_grades(self.path, [grade])
        self._file = state_of(self.path)
        alone = self._file is not None and self._file.size == before + len(jsonl.dump_record(grade).encode())
        self._book = self._book.adding(grade) if alone else self._read()

    def _read(self) -> GradeBook:
        self._file = state_of(self.path)
        return GradeBook.of(read_grades(self.path), self._subjects, self.rules)
