"""``PROMPT.grades.jsonl``: what people said of outputs, one grade per line, appended and never changed.

Neither the order of the lines nor a line that is there twice means anything, and a correction is a further line that
names the one it replaces. So two such files are merged by putting one behind the other, as git's ``merge=union`` does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import from_json

from promptpex.codecs import json_text, jsonl
from promptpex.codecs.files.file_lock import append_whole
from promptpex.core.errors import GradeError
from promptpex.core.records import Grade, Problem, Severity, superseded
from promptpex.documents.record_problems import raise_first, record_problems

ENDING = ".grades.jsonl"
WHAT = "file of grades"
MAX_BYTES = 50_000_000
"""Some 100,000 grades: more than people give to one prompt, and read within seconds."""
LONGEST_LINE = 300_000
"""Bytes: above the longest grade, whose note and names may be written with six bytes a character."""
MOST_PROBLEMS = 100
"""A broken file is not improved by a longer list."""

_BEGINNING = re.compile(r'(?=\{"id":)')
"""How every line of ours begins. It cannot stand inside one: quotes in its texts are escaped."""


@dataclass
class _Reading:
    """The grades of a file so far, the line of each, and what is wrong.

    Attributes:
        foreign: whether the file is to be merged: ids are computed where they are missing, and held to the rest.
        known: grades of the file that it is merged into.
        refused: the numbers of the lines with a mistake, of all, however many problems are named.
    """

    path: Path
    foreign: bool = False
    known: Mapping[str, Grade] = field(default_factory=dict)
    grades: dict[str, Grade] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    refused: set[int | None] = field(default_factory=set)

    def add_problem(self, line: int, message: str, suggestion: str = "", severity: Severity = "error") -> None:
        if severity == "error":
            self.refused.add(line)
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(
                Problem(path=str(self.path), line=line, message=message, suggestion=suggestion, severity=severity)
            )

    def refuse(self, grade: Grade, message: str) -> None:
        self.add_problem(self.lines[grade.id], message)
        if self.foreign:
            del self.grades[grade.id]


@dataclass(frozen=True, slots=True)
class ImportedGrades:
    """What became of the lines of a file that was merged into ours.

    Attributes:
        problems: what is wrong with the lines that were refused; an unfinished last line is a warning among them.
    """

    new: tuple[Grade, ...]
    known: int
    problems: tuple[Problem, ...]
    refused: int


def read_grades(path: Path | str) -> tuple[Grade, ...]:
    """All grades of the file, each once, in the order of their first lines; none if there is no such file.

    A line that a killed program left unfinished is skipped; ``examine`` names it.
    """
    if not os.path.lexists(path):
        return ()
    grades, problems = examine(path)
    raise_first(problems, GradeError, path)
    return grades


def current(grades: Iterable[Grade]) -> tuple[Grade, ...]:
    """The grades that hold: those that no other one replaces, and that take none back."""
    grades = tuple(grades)
    replaced = superseded(grades)
    return tuple(grade for grade in grades if grade.id not in replaced)


def examine(path: Path | str) -> tuple[tuple[Grade, ...], list[Problem]]:
    """All grades of the file that can be read, and its problems, not just the first; at most ``MOST_PROBLEMS``."""
    return _examined(_Reading(Path(path)))


def import_grades(source: Path, into: Path) -> ImportedGrades:
    """Adds the grades of a file that was made elsewhere to ours, all that can be used at once.

    A line may lack its ``id``, which is then computed; one that does not belong to its line is refused.
    """
    known_grades = {grade.id: grade for grade in read_grades(into)}
    if not os.path.lexists(source):
        raise GradeError(f"there is no such {WHAT}", path=source)
    if source.is_dir():
        raise GradeError(f"this is a folder; name the {WHAT} in it", path=source)
    reading = _Reading(source, foreign=True, known=known_grades)
    grades, problems = _examined(reading)
    new = [grade for grade in grades if grade.id not in known_grades]
    append_grades(into, new)
    return ImportedGrades(tuple(new), len(grades) - len(new), tuple(problems), len(reading.refused))


def _examined(reading: _Reading) -> tuple[tuple[Grade, ...], list[Problem]]:
    path = reading.path
    try:
        for line in jsonl.raw_lines(path, what=WHAT, error=GradeError, longest=LONGEST_LINE):
            if line.end > MAX_BYTES:
                raise GradeError(f"the {WHAT} is larger than {MAX_BYTES // 1_000_000} MB", path=path, line=line.number)
            _take_line(line, reading)
    except GradeError as failure:
        reading.refused.add(failure.line)
        reading.problems.append(Problem(path=str(path), line=failure.line, message=failure.message))
    _check_replacements(reading)
    return tuple(reading.grades.values()), sorted(reading.problems, key=lambda problem: problem.line or 0)


def append_grades(path: Path | str, grades: Iterable[Grade]) -> None:
    """Adds grades to the end of the file, all or none; a new file is made. Several processes may do so at a time.

    A line that an earlier program left unfinished stays as it is, on a line of its own.
    """
    path, text = Path(path), "".join(map(jsonl.dump_record, grades))
    if not text:
        return
    try:
        append_whole(path, text.encode())
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise GradeError(f"the {WHAT} cannot be written ({reason}); make it writable", path=path) from None


def _take_line(line: jsonl.RawLine, reading: _Reading) -> None:
    try:
        text = line.data.decode("utf-8")
    except UnicodeDecodeError as failure:
        text = line.data.decode("utf-8", "ignore")
        if failure.reason != "unexpected end of data":
            reading.add_problem(line.number, f"the line is not UTF-8 text: byte {failure.start} cannot be read")
            return
    if not text.strip():
        return
    for part in _parts(text):
        _take_grade(part, line.number, reading)


def _parts(text: str) -> Iterator[str]:
    """The JSON texts of a line: one, or more where an unfinished line, or one without its end, met the next one."""
    try:
        json_text.loads(text)
        yield text
    except (ValueError, RecursionError):
        yield from (part for part in _BEGINNING.split(text) if part)


def _take_grade(text: str, line: int, reading: _Reading) -> None:
    try:
        data = json_text.loads(text)
    except (ValueError, RecursionError) as failure:
        if _is_unfinished(text):
            reading.add_problem(line, "the line is incomplete: a program was stopped while writing it", "", "warning")
        else:
            reason = json_text.why_not_json(failure)
            reading.add_problem(line, f"the line is not valid JSON: {reason}", "take it out, or restore it from git")
        return
    if not isinstance(data, dict):
        reading.add_problem(line, "each line must hold one grade, a JSON object")
        return
    try:
        grade = Grade.identified(data) if reading.foreign else Grade.model_validate(data)
    except ValidationError as failure:
        reading.refused.add(line)
        if len(reading.problems) < MOST_PROBLEMS:  # putting them into words takes longer than all the rest
            for problem in record_problems(failure, Grade):
                reading.add_problem(line, problem.message, problem.suggestion)
        return
    if data.get("id", grade.id) != grade.id:
        reading.add_problem(line, "the id does not match this line, which was changed after it was written")
        return
    first = reading.grades.setdefault(grade.id, grade)
    reading.lines.setdefault(grade.id, line)
    if first != grade:
        message = f"the grade {grade.id} differs from line {reading.lines[grade.id]}"
        reading.add_problem(line, message, "grades are not edited: restore the line, and add one that replaces it")


def _is_unfinished(text: str) -> bool:
    try:
        return text.startswith("{") and isinstance(
            from_json(text, allow_inf_nan=False, allow_partial="trailing-strings"), dict
        )
    except (ValueError, RecursionError):
        return False


def _check_replacements(reading: _Reading) -> None:
    """Names grades that replace one which is not there, or is on something else, or each other."""
    for grade in tuple(reading.grades.values()):
        if grade.replaces is None:
            continue
        line, old = reading.lines[grade.id], reading.grades.get(grade.replaces) or reading.known.get(grade.replaces)
        if old is None and not reading.foreign:
            message = f"the grade {grade.id} replaces {grade.replaces}, which is not in this file"
            reading.add_problem(line, message, "merge the file that contains it", "warning")
        elif old is not None and (old.key, old.subject) != (grade.key, grade.subject):
            reading.refuse(grade, f"the grade {grade.id} replaces {old.id}, which is about something else")
        elif old is not None and reading.foreign and old.grader != grade.grader:
            reading.refuse(grade, f"the grade {grade.id} replaces {old.id}, which another person gave")
    for name in _in_circles(reading.grades):
        reading.add_problem(reading.lines[name], f"the grade {name} replaces itself by way of others", "take it out")


def _in_circles(grades: dict[str, Grade]) -> list[str]:
    checked: set[str] = set()
    circles = []
    for start in grades:
        path: dict[str, None] = {}
        name: str | None = start
        while name in grades and name not in checked and name not in path:
            path[name] = None
            name = grades[name].replaces
        if name in path:
            circles.append(str(name))
        checked.update(path)
    return circles
