"""What is wrong with a file of grades, and which of them were given to words that are no longer there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from promptpex.codecs.text.wording import plural
from promptpex.core.errors import InputError
from promptpex.core.records import Criterion, Grade, Problem, Spec
from promptpex.documents import human_grades
from promptpex.grading.subjects import Subject, subjects_of
from promptpex.synthesis.candidate_file import examine as examine_candidates
from promptpex.synthesis.folder import SynthesisFolder


def problems_of_grades(path: Path, spec: Spec | None, prompt: Path | None) -> list[Problem]:
    """The problems of a file of grades, and the rules and criteria that were reworded since, or are gone.

    Args:
        spec: None where it cannot be read; grades are then held against nothing.
        prompt: beside which the criteria are.
    """
    grades, problems = human_grades.examine(path)
    if spec is None:
        return problems
    criteria = _criteria(prompt)
    subjects = {one.id: one for one in subjects_of(spec.rules, criteria or ())}
    current_grades = [one for one in human_grades.current(grades) if criteria is not None or one.subject in subjects]
    old = Counter(one.subject for one in current_grades if _is_old(one, subjects.get(one.subject)))
    return problems + [_problem(path, name, count, name in subjects) for name, count in old.items()]


def _is_old(grade: Grade, subject: Subject | None) -> bool:
    return subject is None or subject.digest != grade.subject_digest


def _problem(path: Path, name: str, count: int, is_there: bool) -> Problem:
    what = f"{plural(count, 'grade')} of {name!r} {'was' if count == 1 else 'were'} given to"
    if is_there:
        message, hint = f"{what} another wording of it", "they no longer count, and `promptpex grade` asks again"
    else:
        message, hint = f"{what} a rule or criterion that is no longer there", ""
    return Problem.info(path, None, message, hint)


def _criteria(prompt: Path | None) -> tuple[Criterion, ...] | None:
    """The criteria beside a prompt; None where they cannot be read, or it is not known of which prompt they are."""
    if prompt is None:
        return None
    try:
        file = SynthesisFolder.of(prompt).candidates
        return examine_candidates(file).require().criteria if file.exists() else ()
    except InputError:
        return None
