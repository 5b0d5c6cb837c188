"""What is wrong with the candidates, the grades and the metrics beside a prompt, for ``validate``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from promptpex.codecs.text.wording import named, plural
from promptpex.core.errors import InputError, PromptFileError, SynthesisError
from promptpex.core.records import Criterion, Grade, Language, Metric, Problem, Spec, Synthesis
from promptpex.documents import human_grades
from promptpex.documents.editable_file import Reading
from promptpex.documents.record_problems import as_problem
from promptpex.grading.book import Subject, subjects_of
from promptpex.promptfile import render
from promptpex.promptfile.metric_files import (
    OTHER_NAMES,
    VARIABLES,
    examine_beside,
    examine_metric,
    metric_files,
    name_of,
)
from promptpex.synthesis.folder import ENDING, SynthesisFolder, examine
from promptpex.synthesis.proposing.propose_candidates import exclusions_by_phrases
from promptpex.synthesis.results.matrix import outdated
from promptpex.workflow.metrics import code_problem


def is_candidate_file(path: Path) -> bool:
    """Whether this is ``candidates.yaml`` of a synthesis folder."""
    return path.parent.name.endswith(ENDING) and path == SynthesisFolder(path.parent).candidates


def candidate_problems_beside(prompt: Path) -> list[Problem]:
    """The problems of the candidates of a prompt; none where it has no synthesis folder."""
    try:
        path = SynthesisFolder.of(prompt).candidates
    except SynthesisError as failure:
        return [as_problem(failure)]
    return candidate_problems_of(path) if path.exists() else []


def candidate_problems_of(path: Path) -> list[Problem]:
    """The problems of a file of candidates, and a hint at each that decides an exclusion by phrases."""
    reading = examine(path)
    problems = sorted(reading.problems, key=lambda problem: problem.line or 0)
    phrase_lists = exclusions_by_phrases(reading.record.criteria, reading.record.candidates)
    slips = "an answer in other words gets through; a question would catch it"
    hints = [
        Problem.info(
            path,
            reading.lines.get(name),
            f"the candidate {name!r} looks for fixed phrases to decide what an answer must not do",
            slips,
        )
        for name in phrase_lists
    ]
    return [*problems, *hints, *_outdated(path, reading)]


def _outdated(path: Path, reading: Reading[Synthesis]) -> list[Problem]:
    """A hint at each candidate that was written for other words than its criterion has now."""
    return [
        Problem.info(
            path,
            reading.lines.get(name),
            f"the candidate {name!r} was written for another wording of {named(criteria)}",
            "check whether it still decides it; without its 'wordings' it counts as up to date",
        )
        for name, criteria in outdated(reading.record).items()
    ]


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
        return examine(file).require().criteria if file.exists() else ()
    except InputError:
        return None


def metric_problems_beside(prompt: Path) -> list[Problem]:
    """The problems of all metric files in a prompt's folder, by file and line."""
    metrics, problems = examine_beside(prompt)
    files = {name_of(file): file for file in reversed(metric_files(prompt))}
    for metric in metrics:
        problems += _when_tried(metric, files[metric.name])
    return sorted(problems, key=lambda problem: (problem.path, problem.line or 0))


def metric_problems_of(file: Path) -> list[Problem]:
    metric, problems = examine_metric(file)
    tried = _when_tried(metric, file) if metric is not None else []
    return sorted([*problems, *tried], key=lambda problem: problem.line or 0)


def _when_tried(metric: Metric, file: Path) -> list[Problem]:
    failures = _of_code(metric.code, metric.language) if metric.code else _of_criteria(metric)
    return [Problem(path=str(file), message=message) for message in failures]


def _of_code(code: str, language: Language) -> Iterator[str]:
    problem = code_problem(code, language)
    if problem is not None:
        yield problem


def _of_criteria(metric: Metric) -> Iterator[str]:
    if metric.criteria is None:
        return
    try:
        render(metric.criteria, dict.fromkeys((*VARIABLES, *OTHER_NAMES), "x"))
    except PromptFileError as failure:
        yield failure.message
