"""Choosing from a synthesis folder: a set by labels, or what agrees best with people, criterion by criterion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from promptpex.alignment.choose import Contender, CriterionChoice, GradedOutputs, Rated, Wanted, choose, chosen_of, why
from promptpex.alignment.cross_fit import WHOLE_SET, HeldOutFigures, as_bits, cross_fitted_choice
from promptpex.alignment.graded_outputs import graded_outputs, measured_outputs, with_labels
from promptpex.core.records import Candidate, Criterion, Example, Rule, Synthesis
from promptpex.documents.human_grades import read_grades
from promptpex.grading.book import GradeBook, subject_of_criterion, subjects_of
from promptpex.grading.labels import LabelRules, require_known_grader
from promptpex.promptfile import sibling
from promptpex.specs.file import rules_in
from promptpex.stats import PpiConditional
from promptpex.synthesis.choice.choose import CurvePoint, choosing_by_labels, curve, ffr_of_all_outputs, measured
from promptpex.synthesis.choice.problem_of_folder import FolderProblem, Shortage, read_folder, shortages_of
from promptpex.synthesis.choice.saved_choice import (
    CHOICE,
    ChoiceChange,
    SavedChoice,
    SavedCriterion,
    SavedLabelRules,
    SavedLabels,
    changed,
)
from promptpex.synthesis.choice.screens import Screened, indistinct, preference
from promptpex.synthesis.folder import SynthesisFolder, read_candidates
from promptpex.synthesis.results.matrix import admits
from promptpex.synthesis.selection.methods import SECONDS, Method, Selection, State
from promptpex.synthesis.selection.problem import SelectionLimits, figures


@dataclass(frozen=True)
class Contest:
    """What a folder gives to choose from by alignment.

    Attributes:
        wanted: the criteria that take part; a candidate without one is a criterion of its own.
        texts: their words, by id.
        contenders: the candidates that take part.
        graded: what people say of the examples of the matrix.
        clusters: what each example belongs to.
    """

    wanted: tuple[Wanted, ...]
    texts: Mapping[str, str]
    contenders: tuple[Contender, ...]
    graded: GradedOutputs
    clusters: tuple[str, ...]

    def choose(self, among: int | None = None) -> tuple[CriterionChoice, ...]:
        return choose(self.wanted, self.contenders, self.graded if among is None else self.graded.among(among))


@dataclass(frozen=True)
class Choice:
    """A choice from a synthesis folder, by labels (SPADE) or by grades (EvalGen).

    Attributes:
        source: what it was made from.
        selection: the choice, with its figures where it was made and on examples held out.
        all_outputs: the false failure rate on outputs with and without a label; None where all have one.
        points: coverage against false failure rate, where it was asked for.
        change: what it does otherwise than the last choice; None where there was none.
        shortages: what the labels are too few for.
        kept: as it is on file; None where nothing is chosen.
        by_grades: more of a choice by grades.
    """

    source: FolderProblem
    selection: Selection
    all_outputs: PpiConditional | None = None
    points: tuple[CurvePoint, ...] = ()
    change: ChoiceChange | None = None
    shortages: tuple[Shortage, ...] = ()
    kept: SavedChoice | None = None
    by_grades: ByGrades | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what ``Selection.to_dict`` has, and more."""
        problem, matrix = self.source.problem, self.source.matrix
        return {
            **self.selection.to_dict(),
            "candidates": [problem.names[number] for number in self.selection.chosen or ()],
            "names": list(problem.names),
            "ffr_of_all_outputs": self.all_outputs and asdict(self.all_outputs),
            "curve": [asdict(point) for point in self.points],
            "change": self.change and asdict(self.change),
            "screened": [_screened(one, matrix.candidates) for one in self.source.screens],
            "indistinct": [
                {"good": [problem.example_name(one) for one in good], "bad": [problem.example_name(one) for one in bad]}
                for good, bad in indistinct(problem)
            ],
            "shortages": [asdict(one) for one in self.shortages],
            "notices": list(self.source.notices),
            **(self.by_grades.to_dict() if self.by_grades else {}),
        }


@dataclass(frozen=True)
class ByGrades:
    """What there is to say of a choice by grades."""

    texts: Mapping[str, str]
    criteria: tuple[CriterionChoice, ...]
    held_out: Mapping[str, HeldOutFigures]
    labels: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data: each criterion with its candidates."""
        whole = self.held_out.get(WHOLE_SET)
        return {
            "labels": self.labels,
            "criteria": [self._criterion(one) for one in self.criteria],
            "held_out_figures": None if whole is None else _held_out(whole),
        }

    def _criterion(self, one: CriterionChoice) -> dict[str, Any]:
        held_out = self.held_out.get(one.wanted.id)
        return {
            "id": one.wanted.id,
            "text": self.texts[one.wanted.id],
            "max_ffr": float(one.wanted.limit),
            "must": one.wanted.must,
            "coverage_of": one.basis,
            "chosen": list(one.chosen),
            "candidates": [_rated(rated) for rated in one.rated],
            "held_out": None if held_out is None else _held_out(held_out),
        }


def choose_by_labels(
    path: Path,
    method: Method,
    limits: SelectionLimits,
    *,
    seconds: float = SECONDS,
    weigh_questions: bool = False,
    curve_seconds: float = 0.0,
) -> Choice:
    """Chooses a set from a synthesis folder by the labels of its examples, and keeps the choice in it.

    Args:
        path: such as ``prompt.synthesis``.
        seconds: for the choice; as much again for the figures on examples held out.
        weigh_questions: as for ``read_folder``.
        curve_seconds: for the search of coverage against FFR; 0: it is not wanted.
    """
    source = read_folder(path, limits, weigh_questions=weigh_questions)
    by = choosing_by_labels(source, method, limits, seconds=seconds)
    return _made(path, source, by, SavedChoice.under(method, limits), curve_seconds)


def choose_by_grades(
    path: Path, ffr: Fraction, *, graders: LabelRules | None = None, curve_seconds: float = 0.0
) -> Choice:
    """Chooses from a synthesis folder by alignment with people's grades, and keeps the choice in it.

    Args:
        ffr: the highest false failure rate of a single assertion, for criteria without a limit of their own.
        graders: how grades become labels: those of the examples are brought up to date first.
        curve_seconds: as for ``choose_by_labels``.
    """
    limits = SelectionLimits(Fraction(), ffr)
    folder, rules = SynthesisFolder(path), graders or LabelRules()
    synthesis = read_candidates(folder.candidates)
    book, criterion_of = _book(synthesis, folder, rules)
    require_known_grader(rules, {grade.grader for grade in book.grades})
    source = read_folder(
        path,
        limits,
        screens=False,
        labels=lambda some: with_labels(some, book) if book.grades else some,
        graded=lambda some: graded_outputs(some, book, criterion_of).any,
    )
    examples = source.matrix.examples
    _keep_labels(folder, folder.prompt(synthesis.prompt), examples)
    graded = graded_outputs(examples, book, criterion_of)
    contest = contest_of(source, synthesis, graded, ffr)
    choices, measured_ones = contest.choose(), measured_outputs(examples, book)
    held_out = cross_fitted_choice(contest.wanted, contest.contenders, graded, contest.clusters, measured_ones)
    kept = SavedChoice.under("aligned", limits).replace(
        label_rules=SavedLabelRules(**asdict(rules)) if book.grades else None,
        rule_labels=rule_labels(graded, examples),
        criteria={one.wanted.id: _kept(one, held_out.get(one.wanted.id)) for one in choices},
    )
    choice = _made(path, source, lambda some: _selection(source, contest, limits, some), kept, curve_seconds)
    words = rules.sentence() if book.grades else ""
    return replace(choice, by_grades=ByGrades(contest.texts, choices, held_out, words))


def _made(
    path: Path,
    source: FolderProblem,
    by: Callable[[Sequence[int] | None], Selection],
    kept: SavedChoice,
    curve_seconds: float,
) -> Choice:
    """The choice with its figures and what it changes, kept in the folder."""
    problem, file = source.problem, SynthesisFolder(path).selection
    before = CHOICE.read(file)
    short = shortages_of(source.examples, coverage=kept.coverage_limit, ffr=kept.ffr_limit)
    clusters = [example.cluster for example in source.examples]
    selection = measured(problem, by(None), clusters, lambda examples: by(examples).chosen)
    points = tuple(curve(problem, seconds=curve_seconds)) if curve_seconds else ()
    if selection.chosen is None:
        return Choice(source, selection, points=points, shortages=short)
    held_out = selection.held_out
    elsewhere = (
        ffr_of_all_outputs(source.matrix, problem, source.rows, source.columns, held_out)
        if held_out is not None
        else None
    )
    kept = kept.of(source, selection)
    CHOICE.write(file, kept)
    change = changed(before, kept, source) if before is not None else None
    return Choice(source, selection, elsewhere, points, change, short, kept)


def _screened(one: Screened, candidates: Sequence[Candidate]) -> dict[str, Any]:
    kept_id = None if one.kept is None else candidates[one.kept].id
    return {"candidate": candidates[one.candidate].id, "state": one.state, "kept": kept_id, "sentence": one.sentence}


def _kept(one: CriterionChoice, held_out: HeldOutFigures | None) -> SavedCriterion:
    return SavedCriterion(
        max_ffr=float(one.wanted.limit),
        must=one.wanted.must,
        held_out_ffr=held_out and held_out.figures.ffr.estimate,
        candidates=tuple(rated.contender.id for rated in one.rated),
        chosen=one.chosen,
    )


def rule_labels(graded: GradedOutputs, examples: Sequence[Example]) -> dict[str, SavedLabels]:
    """What people said of single criteria of the examples, by the id of the criterion, else of the rule."""
    labels: dict[str, SavedLabels] = {}
    for name, (bad, good) in graded.own.items():
        of_one: SavedLabels = {}
        for number, example in enumerate(examples):
            if (bad | good) >> number & 1:
                of_one[example.id] = "bad" if bad >> number & 1 else "good"
        labels[name] = of_one
    return labels


def _keep_labels(folder: SynthesisFolder, prompt: Path, examples: Iterable[Example]) -> None:
    """Puts these labels into the folder's file, where it has others; the prompt's file may be gone."""
    now = {one.id: one for one in examples}
    with folder.alone(prompt) if prompt.exists() else nullcontext():
        stored_examples = folder.read_examples()
        labelled = tuple(now.get(one.id, one) for one in stored_examples)
        if labelled != stored_examples:
            folder.write_examples(labelled)


def contest_of_kept(
    source: FolderProblem, synthesis: Synthesis, folder: SynthesisFolder, saved: SavedChoice
) -> Contest:
    """What a kept choice by alignment was made from, by the grades of now and the rules by which labels came about."""
    book, criterion_of = _book(synthesis, folder, label_rules_of(saved))
    graded = graded_outputs(source.matrix.examples, book, criterion_of)
    return contest_of(source, synthesis, graded, saved.limits.ffr)


def label_rules_of(saved: SavedChoice) -> LabelRules:
    """How grades became the labels of a kept choice; where that is not known, as they do by default."""
    return LabelRules(**saved.label_rules.model_dump()) if saved.label_rules is not None else LabelRules()


def reasons_in(source: FolderProblem, contest: Contest) -> dict[str, str]:
    """Why each candidate of a folder is chosen by alignment or not, by its id; of one with two criteria, by the first
    that it is chosen for. Of those that cannot be chosen from, why that is."""
    reasons = {source.matrix.candidates[number].id: why for number, why in source.not_comparable.items()}
    for choice in contest.choose():
        for one in choice.rated:
            if one.state == "chosen" or one.contender.id not in reasons:
                reasons[one.contender.id] = why(one, choice)
    return reasons


def contest_of(source: FolderProblem, synthesis: Synthesis, graded: GradedOutputs, ffr: Fraction) -> Contest:
    """The criteria of a folder, its candidates that can be compared, and what people say of the examples."""
    matrix, left_out = source.matrix, source.not_comparable
    criteria = {one.id: one for one in synthesis.criteria}
    contenders = []
    wanted_by_criterion = {
        one.id: Wanted(one.id, _limit(one, ffr), one.must) for one in synthesis.criteria if one.selected
    }
    texts = {one.id: one.text for one in synthesis.criteria}
    for number, candidate in enumerate(matrix.candidates):
        if number in left_out:
            continue
        own_criteria = [criteria[name] for name in candidate.criteria if name in criteria]
        admitting = [one.id for one in own_criteria if admits(one, candidate)] if own_criteria else [candidate.id]
        if not own_criteria:
            wanted_by_criterion[candidate.id] = Wanted(candidate.id, ffr)
            texts[candidate.id] = candidate.description or candidate.id
        order = preference(matrix, number)
        contenders.append(Contender(candidate.id, tuple(admitting), matrix.fails(number), order, candidate.choice))
    clusters = tuple(example.cluster for example in matrix.examples)
    return Contest(tuple(wanted_by_criterion.values()), texts, tuple(contenders), graded, clusters)


def _limit(criterion: Criterion, ffr: Fraction) -> Fraction:
    return ffr if criterion.max_ffr is None else Fraction(str(criterion.max_ffr))


def _book(synthesis: Synthesis, folder: SynthesisFolder, rules: LabelRules) -> tuple[GradeBook, dict[str, str]]:
    prompt = folder.prompt(synthesis.prompt)
    spec_rules = rules_in(sibling(prompt, "spec"))
    grades = read_grades(sibling(prompt, "grades"))
    book = GradeBook.of(grades, subjects_of(spec_rules, synthesis.criteria), rules)
    return book, criteria_by_subject(synthesis, spec_rules)


def criteria_by_subject(synthesis: Synthesis, rules: Iterable[Rule]) -> dict[str, str]:
    """By the id of what people grade, the criterion that it is, where it is one."""
    texts = {rule.id: rule.rule for rule in rules}
    return {subject_of_criterion(one, texts): one.id for one in synthesis.criteria}


def _selection(
    source: FolderProblem, contest: Contest, limits: SelectionLimits, examples: Sequence[int] | None
) -> Selection:
    """The set of a choice, by these examples of the problem; none of another one of their cases has a part in it."""
    among = None
    if examples is not None:
        clusters_kept = {source.examples[number].cluster for number in examples}
        out = {example.cluster for example in source.examples} - clusters_kept
        among = as_bits(row for row, cluster in enumerate(contest.clusters) if cluster not in out)
    names = chosen_of(contest.choose(among))
    problem = source.problem
    chosen = tuple(number for number in range(problem.candidates) if problem.name(number) in names)
    if not chosen:
        return Selection("aligned", limits, _why_none(contest.graded))
    selection_figures = figures(problem, chosen, limits.most_flagged(problem))
    return Selection("aligned", limits, "ok", chosen, selection_figures)


def _why_none(graded: GradedOutputs) -> State:
    if not graded.any:
        return "no-examples"
    if not graded.any_good:
        return "no-good-examples"
    return "infeasible" if graded.any_bad else "no-bad-examples"


def _rated(one: Rated) -> dict[str, Any]:
    return {
        "id": one.contender.id,
        "state": one.state,
        "caught": one.caught,
        "bad": one.bad,
        "flagged": one.flagged,
        "good": one.good,
        "alignment": None if one.alignment is None else float(one.alignment),
    }


def _held_out(one: HeldOutFigures) -> dict[str, Any]:
    figures_as_data = one.figures.model_dump(mode="json")
    return {**figures_as_data, "folds": one.folds, "folds_without_a_choice": one.without}
