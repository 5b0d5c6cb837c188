"""What people's grades, in the file beside a prompt, say of a run: read for reports, and never in their way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path

from promptpex.codecs.file_state import state_of
from promptpex.codecs.ordinary_files import is_inside, project_of
from promptpex.core.errors import InputError
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import (
    OUTPUT_SUBJECT,
    AnyRun,
    Columns,
    Example,
    Grade,
    JudgeCalibration,
    Output,
    Run,
    Spec,
    output_key,
)
from promptpex.core.texts import stored
from promptpex.documents.human_grades import read_grades
from promptpex.grading.book import GradeBook
from promptpex.grading.labels import LabelRules, require_known_grader
from promptpex.grading.subjects import subjects_of
from promptpex.promptfile import sibling
from promptpex.specs.file import read_spec
from promptpex.tables import PeoplesGrades

Items = Mapping[tuple[str, str, int], Example]
"""What each usable output is for graders, by its key."""


class GradesOfRuns:
    """What people say of runs that are looked at again and again; warnings about files of theirs are left out."""

    def __init__(self) -> None:
        self._files: dict[Path, tuple[Path, ...]] = {}

    def stamp(self, folder: Path) -> Hashable:
        """What changes whenever a file does that ``grades`` read for the run in this folder."""
        return tuple(map(state_of, self._files.get(folder, ())))

    def grades(self, folder: Path, run: AnyRun) -> PeoplesGrades | None:
        """As ``peoples_grades``, for the run in this folder."""
        file = prompt_file_of(run)
        self._files[folder] = () if file is None else (sibling(file, "grades"), sibling(file, "spec"))
        return peoples_grades(run, ignore_events, prompt=file)


def peoples_grades(
    run: AnyRun, emit: Listener, *, prompt: Path | None = None, rules: LabelRules | None = None
) -> PeoplesGrades | None:
    """What people said of a run's outputs, and of the judges; None where there is neither.

    A file that cannot be read is a warning: the report is made without it.

    Args:
        prompt: the prompt's file; None: where the run says it is, if that is in the project that one works in.
        rules: how grades become labels.

    Raises:
        SynthesisError: the rules name a grader who gave no grade.
    """
    file = prompt or prompt_file_of(run)
    if file is None:
        return None
    try:
        grades = read_grades(sibling(file, "grades"))
        calibrations = _calibrations(sibling(file, "spec"), run.spec) if grades else _kept(run.spec)
    except InputError as error:
        emit(Notice(stored("the report is made without people's grades: {why}", why=error), "warning"))
        return None
    if not grades and not calibrations:
        return None
    return grades_of_run(run, grades, calibrations, rules or LabelRules())


def prompt_file_of(run: AnyRun) -> Path | None:
    """The prompt's file as the run names it; None where it is not in the project that one works in."""
    place, here = run.prompt.path, project_of(Path.cwd())
    if place is None:
        return None
    files = dict.fromkeys((Path(place), here / place))
    return next((file for file in files if file.is_file() and is_inside(file, here)), None)


def grades_of_run(
    run: AnyRun,
    grades: Iterable[Grade],
    calibrations: Mapping[str, tuple[JudgeCalibration, ...]] | None = None,
    rules: LabelRules | None = None,
) -> PeoplesGrades:
    """What these grades come to on the whole outputs of a run, by its rules as they read in it.

    Only the random sample stands for all outputs of a model. Outputs that judges may have been shown with their grades
    are left out of it where the run's judges were shown any.

    Raises:
        SynthesisError: the rules name a grader who gave no grade.
    """
    book, items = GradeBook.of(grades, subjects_of(run.spec.rules), rules), _items(run)
    require_known_grader(book.rules, book.graders)
    by_model: defaultdict[str, dict[str, Example]] = defaultdict(dict)
    for (_, model, _), item in items.items():
        by_model[model][item.id] = item
    every = {item.id: item for item in items.values()}
    graded = {name for name, item in every.items() if book.joint(item, OUTPUT_SUBJECT).graded}
    without_shown = run.manifest.shows_grades
    broken = {
        model: {
            name: label == "bad"
            for name, item in _sample(book, own, without_shown=without_shown).items()
            if (label := book.joint(item, OUTPUT_SUBJECT).label) is not None
        }
        for model, own in by_model.items()
    }
    return PeoplesGrades(
        items={key: item.id for key, item in items.items()},
        broken=broken,
        graded=len(graded),
        label_rules=book.rules.sentence(),
        calibrations=calibrations or {},
    )


def _sample(book: GradeBook, items: Mapping[str, Example], *, without_shown: bool) -> dict[str, Example]:
    """The random sample of these items, for grades on the whole output."""
    wanted = [item for item in items.values() if not (without_shown and item.is_shown)]
    return {item.id: item for item in book.random_sample(OUTPUT_SUBJECT, wanted)}


def _items(run: AnyRun) -> Items:
    """The usable outputs of a run as graders see them; outputs of cases that the suite has lost are left out."""
    inputs = {case.id: case.inputs for case in run.suite.cases}
    columns = Columns.of(run.outputs, Output)
    fields = zip(*(columns[name] for name in ("case", "model", "repeat", "text", "error")), strict=True)
    return {
        (case, model, repeat): Example(
            id=output_key(inputs[case], text), inputs=dict(inputs[case]), output=text, case=case, model=model
        )
        for case, model, repeat, text, error in fields
        if error is None and text is not None and case in inputs
    }


def with_calibrations_of_now(run: Run, emit: Listener) -> Run:
    """The run with the calibrations of judges that the spec beside its prompt has now; they change nothing it asked."""
    file = prompt_file_of(run)
    try:
        known = {} if file is None else _calibrations(sibling(file, "spec"), run.spec)
    except InputError as error:
        emit(Notice(stored("calibrations of judges are those that the run has: {why}", why=error), "warning"))
        return run
    rules = tuple(rule.replace(judge=known[rule.id]) if rule.id in known else rule for rule in run.spec.rules)
    return run.replace(spec=run.spec.replace(rules=rules))


def _calibrations(path: Path, of_run: Spec) -> dict[str, tuple[JudgeCalibration, ...]]:
    """The calibrations in the spec beside the prompt as it is now; in that of the run where there is no such file."""
    return _kept(read_spec(path) if path.exists() else of_run)


def _kept(spec: Spec) -> dict[str, tuple[JudgeCalibration, ...]]:
    return {rule.id: rule.judge for rule in spec.rules if rule.judge}
