"""What people's grades, in the file beside a prompt, say of a run: read for reports, and never in their way."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path

from promptpex.codecs.files.ordinary_files import is_inside, project_of, state_of
from promptpex.core.errors import InputError
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import (
    OUTPUT_SUBJECT,
    Example,
    Grade,
    JudgeCalibration,
    Run,
    Spec,
    output_key,
)
from promptpex.core.translation import stored
from promptpex.documents.human_grades import read_grades
from promptpex.grading.book import GradeBook, subjects_of
from promptpex.grading.labels import LabelRules, require_known_grader
from promptpex.grading.random_sample import place
from promptpex.promptfile import sibling
from promptpex.specs.file import read_spec
from promptpex.tables import AnyRun, rows_of
from promptpex.tables.peoples_grades import NO_ITEM, PeoplesGrades, item_number


class GradesOfRuns:
    """What people say of runs that are looked at again and again; warnings about files of theirs are left out."""

    def __init__(self) -> None:
        self._files: dict[Path, tuple[Path, ...]] = {}

    def stamp(self, folder: Path) -> Hashable:
        return tuple(map(state_of, self._files.get(folder, ())))

    def grades(self, folder: Path, run: AnyRun) -> PeoplesGrades | None:
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
    """The prompt's file as the run names it, from here, from the project's top or from a folder above it, where the
    command may have been given; None where it is not in the project that one works in."""
    place, own_project = run.prompt.path, project_of(Path.cwd())
    if place is None:
        return None
    files = dict.fromkeys((Path(place), *(folder / place for folder in (own_project, *own_project.parents))))
    return next((file for file in files if file.is_file() and is_inside(file, own_project)), None)


def grades_of_run(
    run: AnyRun,
    grades: Iterable[Grade],
    calibrations: Mapping[str, tuple[JudgeCalibration, ...]] | None = None,
    rules: LabelRules | None = None,
) -> PeoplesGrades:
    """What these grades come to on the whole outputs of a run, by its rules as they read in it.

    Only the random sample stands for all outputs of a model. Outputs that judges may have been shown with their grades
    are left out of it where the run's judges were shown any.
    """
    book = GradeBook.of(grades, subjects_of(run.spec.rules), rules)
    require_known_grader(book.rules, book.graders)
    seen_items = _SeenItems(book, {case.id: case.inputs for case in run.suite.cases}, run.manifest.shows_grades)
    for case, model, text in _answers(run):
        seen_items.add(case, model, text)
    labels = {
        model: {
            item_number(item.id): book.joint(item, OUTPUT_SUBJECT).label
            for item in book.random_sample(OUTPUT_SUBJECT, pool)
        }
        for model, pool in seen_items.pools()
    }
    return PeoplesGrades(
        items=seen_items.numbers,
        broken={
            model: {item: label == "bad" for item, label in of_model.items() if label is not None}
            for model, of_model in labels.items()
        },
        left_out={model: sum(label is None for label in of_model.values()) for model, of_model in labels.items()},
        graded=sum(book.joint(item, OUTPUT_SUBJECT).graded for item in seen_items.with_grades.values()),
        label_rules=book.rules.sentence(),
        calibrations=calibrations or {},
    )


class _SeenItems:
    """The usable outputs of a run as graders see them, one after the other; outputs of cases that the suite has lost
    are none.

    Kept of each is a number. Whole are those with a grade, and of each model the one that comes first of those without:
    where the random sample ends.

    Attributes:
        numbers: of each output its ``item_number``, or ``NO_ITEM``.
        with_grades: the items that somebody has graded.
    """

    def __init__(self, book: GradeBook, inputs: Mapping[str, Mapping[str, object]], without_shown: bool) -> None:
        self._book, self._inputs, self._without_shown = book, inputs, without_shown
        self.numbers = array("q")
        self.with_grades: dict[str, Example] = {}
        self._of_models: defaultdict[str, dict[str, Example]] = defaultdict(dict)
        self._open: dict[str, Example] = {}

    def add(self, case: str, model: str, text: str | None) -> None:
        """Looks at an output; ``text`` is None where it is not usable."""
        inputs = self._inputs.get(case)
        if inputs is None or text is None:
            self.numbers.append(NO_ITEM)
            return
        key, of_model = output_key(inputs, text), self._of_models[model]
        self.numbers.append(item_number(key))
        has_grades = self._book.has_grades_on(key, text)
        if not has_grades and model in self._open and place(self._open[model].id) <= place(key):
            return
        item = Example(id=key, inputs=dict(inputs), output=text, case=case, model=model)
        if has_grades:
            self.with_grades[key] = item
        if self._without_shown and item.is_shown:
            return
        if has_grades:
            of_model[key] = item
        else:
            self._open[model] = item

    def pools(self) -> Iterator[tuple[str, list[Example]]]:
        """By model the items that its random sample can be drawn from, as far as it reaches."""
        for model, items in self._of_models.items():
            yield model, [*items.values(), *([self._open[model]] if model in self._open else [])]


def _answers(run: AnyRun) -> Iterator[tuple[str, str, str | None]]:
    """Case, model and text of each output; no text of an unusable one."""
    if isinstance(run, Run):
        yield from ((one.case, one.model, one.text if one.error is None else None) for one in run.outputs)
    else:
        yield from rows_of(run).query("c.id, m.name, CASE WHEN o.error IS NULL THEN o.text END")


def with_calibrations_of_now(run: Run, emit: Listener) -> Run:
    """The run with the calibrations of judges that the spec beside its prompt has now; they change nothing it asked."""
    file = prompt_file_of(run)
    try:
        calibrations = {} if file is None else _calibrations(sibling(file, "spec"), run.spec)
    except InputError as error:
        emit(Notice(stored("the judges' calibrations are those kept with the run: {why}", why=error), "warning"))
        return run
    rules = tuple(
        rule.replace(judge=calibrations[rule.id]) if rule.id in calibrations else rule for rule in run.spec.rules
    )
    return run.replace(spec=run.spec.replace(rules=rules))


def _calibrations(path: Path, of_run: Spec) -> dict[str, tuple[JudgeCalibration, ...]]:
    """The calibrations in the spec beside the prompt as it is now; in that of the run where there is no such file."""
    return _kept(read_spec(path) if path.exists() else of_run)


def _kept(spec: Spec) -> dict[str, tuple[JudgeCalibration, ...]]:
    return {rule.id: rule.judge for rule in spec.rules if rule.judge}
