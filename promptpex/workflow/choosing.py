"""Choosing from a synthesis folder by alignment: for each criterion the candidate that agrees best with people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from promptpex.alignment.choose import Contender, CriterionChoice, GradedOutputs, Rated, Wanted, choose, chosen_of, why
from promptpex.alignment.cross_fit import WHOLE_SET, HeldOutFigures, as_bits, cross_fitted_choice
from promptpex.alignment.graded_outputs import graded_outputs, measured_outputs, with_labels
from promptpex.core.records import Criterion, Example, Rule, Synthesis
from promptpex.documents.human_grades import read_grades
from promptpex.grading.book import GradeBook, subject_of_criterion, subjects_of
from promptpex.grading.labels import LabelRules, require_known_grader
from promptpex.promptfile import sibling
from promptpex.specs.file import rules_in
from promptpex.synthesis.choice.choose import FolderChoice, WayToChoose, choose_from
from promptpex.synthesis.choice.problem_of_folder import FolderProblem, read_folder
from promptpex.synthesis.choice.saved_choice import SavedChoice, SavedCriterion, SavedLabelRules, SavedLabels
from promptpex.synthesis.choice.screens import preference
from promptpex.synthesis.folder import SynthesisFolder, read_candidates
from promptpex.synthesis.results.matrix import admits
from promptpex.synthesis.selection.methods import Selection, State
from promptpex.synthesis.selection.problem import SelectionLimits, figures


@dataclass(frozen=True)
class FolderContest:
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
class AlignedChoice:
    """A choice by alignment.

    Attributes:
        choice: the set, as any other choice from a folder.
        texts: the words of the criteria, by id.
        criteria: what was chosen for each criterion, and what was not.
        held_out: the figures of choosing in this way, on examples held out: by criterion, and of the whole set.
        kept: what is kept of each criterion.
        labels: how grades became labels, in words; empty where there are none.
    """

    choice: FolderChoice
    texts: Mapping[str, str]
    criteria: tuple[CriterionChoice, ...]
    held_out: Mapping[str, HeldOutFigures]
    kept: Mapping[str, SavedCriterion]
    labels: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what ``FolderChoice.to_dict`` has, and each criterion with its candidates."""
        whole = self.held_out.get(WHOLE_SET)
        return {
            **self.choice.to_dict(),
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


def choose_aligned(
    path: Path, ffr: Fraction, *, graders: LabelRules | None = None, curve_seconds: float = 0.0
) -> AlignedChoice:
    """Chooses from a synthesis folder by alignment, and keeps the choice in it.

    Args:
        path: such as ``prompt.synthesis``.
        ffr: the highest false failure rate of a single assertion, for criteria without a limit of their own.
        graders: how grades become labels: those of the examples are brought up to date first.
        curve_seconds: as for ``choose_from``.
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
    _keep_labels(folder, folder.prompt(synthesis.prompt), source.matrix.examples)
    graded = graded_outputs(source.matrix.examples, book, criterion_of)
    measured = measured_outputs(source.matrix.examples, book)
    contest = contest_of(source, synthesis, graded, ffr)
    choices = contest.choose()
    held_out = cross_fitted_choice(contest.wanted, contest.contenders, contest.graded, contest.clusters, measured)
    kept = {one.wanted.id: _kept(one, held_out.get(one.wanted.id)) for one in choices}
    way = WayToChoose(
        "aligned",
        limits,
        lambda examples: _selection(source, contest, limits, examples),
        label_rules=SavedLabelRules(**asdict(rules)) if book.grades else None,
        rule_labels=rule_labels(graded, source.matrix.examples),
        criteria=kept,
    )
    choice = choose_from(source, folder, way, curve_seconds=curve_seconds)
    return AlignedChoice(choice, contest.texts, choices, held_out, kept, rules.sentence() if book.grades else "")


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
) -> FolderContest:
    """What a kept choice by alignment was made from, by the grades of now and the rules by which labels came about."""
    book, criterion_of = _book(synthesis, folder, label_rules_of(saved))
    graded = graded_outputs(source.matrix.examples, book, criterion_of)
    return contest_of(source, synthesis, graded, Fraction(str(saved.ffr_limit)))


def label_rules_of(saved: SavedChoice) -> LabelRules:
    """How grades became the labels of a kept choice; where that is not known, as they do by default."""
    return LabelRules(**saved.label_rules.model_dump()) if saved.label_rules is not None else LabelRules()


def reasons_in(source: FolderProblem, contest: FolderContest) -> dict[str, str]:
    """Why each candidate of a folder is chosen by alignment or not, by its id; of one with two criteria, by the first
    that it is chosen for. Of those that cannot be chosen from, why that is."""
    reasons = {source.matrix.candidates[number].id: why for number, why in source.not_comparable.items()}
    for choice in contest.choose():
        for one in choice.rated:
            if one.state == "chosen" or one.contender.id not in reasons:
                reasons[one.contender.id] = why(one, choice)
    return reasons


def contest_of(source: FolderProblem, synthesis: Synthesis, graded: GradedOutputs, ffr: Fraction) -> FolderContest:
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
    return FolderContest(tuple(wanted_by_criterion.values()), texts, tuple(contenders), graded, clusters)


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
    source: FolderProblem, contest: FolderContest, limits: SelectionLimits, examples: Sequence[int] | None
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
