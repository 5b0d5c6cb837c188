"""The report card of a run: outputs, people's grades, what machines say, and what an edit of the prompt did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from promptpex.alignment.card import card
from promptpex.alignment.card_data import CardData
from promptpex.alignment.edit_effect import effects, left_out_of_effects, verdict_pairs
from promptpex.alignment.graded_outputs import GradedItems, with_labels
from promptpex.core.errors import RunError
from promptpex.core.events import Listener
from promptpex.core.outcomes import outcome_of
from promptpex.core.records import Example, OutputKey, ReportCard, Run, Verdict
from promptpex.core.translation import stored
from promptpex.grading.labels import LabelRules, require_known_grader
from promptpex.report import runs
from promptpex.synthesis.choice.saved_choice import CHOICE, SavedChoice
from promptpex.synthesis.examples import examples_of
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.workflow.alignment.choose_candidates import criteria_by_subject
from promptpex.workflow.alignment.chosen_set_for_card import card_contest
from promptpex.workflow.alignment.chosen_set_on_other_run import contest_on, not_run_sentence
from promptpex.workflow.alignment.output_measures import measures_of
from promptpex.workflow.alignment.training_outputs import outputs_in_choice
from promptpex.workflow.grading.machine_opinions import opinions_of
from promptpex.workflow.grading.open_desk import GradingProject, GradingWishes, open_desk


@dataclass(frozen=True, slots=True)
class CardWishes:
    """What a card is made of.

    Attributes:
        prompt: the prompt's file; None: where the run says it is.
        rules: how grades become labels.
        ffr: the limit of a choice by alignment to look at; None: the kept choice.
        against: the folder or id of a run of an older wording, or a newer one.
    """

    prompt: Path | None = None
    rules: LabelRules = field(default_factory=LabelRules)
    ffr: Fraction | None = None
    against: Path | None = None


def counting(graders: str) -> LabelRules:
    """The rules by which these graders count, and all else is as usual."""
    return LabelRules(graders=graders)


@dataclass(frozen=True, slots=True)
class Aligned:
    """A card, and what it was made from."""

    project: GradingProject
    card: ReportCard


def align(sources: Sequence[Path], results: Path, wishes: CardWishes, emit: Listener) -> Aligned:
    """The report card of one or more runs of a prompt.

    Args:
        sources: folders or ids of runs, or the prompt's file, which stands for its latest run; none: the latest run.
        results: the folder of the runs.

    Raises:
        InputError: a file that cannot be used, a grader who gave no grade, or a run of another prompt.
    """
    desk = GradingWishes(prompt=wishes.prompt, rules=wishes.rules)
    project = open_desk(sources, results, desk, emit)
    return Aligned(project, card_of(project, results, wishes))


def card_of(project: GradingProject, results: Path, wishes: CardWishes) -> ReportCard:
    """The report card of an open project, by the grades as of the last look at its file.

    Raises:
        InputError: as ``align``.
    """
    book = project.desk.book
    require_known_grader(wishes.rules, book.graders)
    contest = card_contest(project.folder, project.synthesis, project.spec, book, wishes.ffr)
    graded = _graded(project.desk.pool, project)
    saved = CHOICE.read(project.folder.selection)
    data = CardData(
        prompt=project.prompt.name,
        runs=tuple(run.manifest.run for run in project.runs),
        graded=graded,
        opinions=project.opinions,
        broken=_broken(project.runs),
        measures=measures_of(graded.items, project.spec, project.runs),
        contest=contest.contest,
        in_choice=outputs_in_choice(project.runs, saved),
        manifests=tuple(run.manifest for run in project.runs),
        notices=contest.notices,
    )
    report_card = card(data)
    if wishes.against is None:
        return report_card
    return _with_effect(report_card, data, project, runs.resolve(wishes.against, results), saved)


def _graded(pool: Sequence[Example], project: GradingProject) -> GradedItems:
    """The outputs with their labels: of a table that people filled in, else of their grades."""
    tables = {one.id: one for one in project.folder.read_examples() if one.from_table}
    items = [
        item.replace(label=tables[item.id].label, label_from=tables[item.id].label_from, from_table=True)
        if item.id in tables
        else item
        for item in pool
    ]
    return GradedItems(with_labels(items, project.desk.book), project.desk.book)


def _broken(read_runs: Iterable[Run]) -> dict[str, bool]:
    """Whether an output breaks a rule, by its id; not of those without a verdict. The first of equal outputs counts."""
    broken: dict[str, bool] = {}
    for run in read_runs:
        ids = run.item_ids
        by_output: defaultdict[OutputKey, list[Verdict]] = defaultdict(list)
        for verdict in run.verdicts:
            if verdict.key in ids:
                by_output[verdict.key].append(verdict)
        for key, verdicts in by_output.items():
            outcome = outcome_of(verdicts)
            if outcome.status != "unscored":
                broken.setdefault(ids[key], outcome.status == "fail")
    return broken


def _with_effect(
    made: ReportCard, data: CardData, project: GradingProject, folder: Path, saved: SavedChoice | None
) -> ReportCard:
    """The card with what changed since another run of the prompt.

    Raises:
        RunError: it is a run of another prompt, or one that the card is of.
    """
    run = runs.read(folder)
    if run.prompt.name != project.prompt.name:
        message = f"the run {folder.name} is of {run.prompt.name}, not of {project.prompt.name}"
        raise RunError(message, path=folder)
    if run in project.runs:
        message = f"the card is of the run {folder.name} already: compare it with another run of {made.prompt}"
        raise RunError(message, path=folder)
    before = _before(run, data, project, saved)
    pairs = verdict_pairs(before, data)
    same = stored("the run {run} was made with the prompt as it is now", run=folder.name)
    not_run = not_run_sentence(before.contest, folder.name) if before.contest is not None else ""
    notices = (*made.notices, *left_out_of_effects(pairs), *filter(None, [not_run]))
    notices = (*notices, same) if run.prompt.fingerprint == project.prompt.fingerprint else notices
    return made.replace(against=folder.name, effects=effects(before, data, pairs), notices=notices)


def _before(run: Run, data: CardData, project: GradingProject, saved: SavedChoice | None) -> CardData:
    """What the outputs of another run are held against people by."""
    pool, folder = examples_of(run).examples, SynthesisFolder(project.folder.path)
    graded, contest = _graded(pool, project), None
    if data.contest is not None:
        criterion_of = criteria_by_subject(project.synthesis, project.spec.rules)
        contest = contest_on(data.contest, graded.items, project.synthesis, folder, project.desk.book, criterion_of)
    return CardData(
        prompt=data.prompt,
        runs=(run.manifest.run,),
        graded=graded,
        opinions=opinions_of(pool, [run], project.spec, project.synthesis, folder),
        broken=_broken([run]),
        contest=contest,
        in_choice=outputs_in_choice([run], saved),
        manifests=(run.manifest,),
    )
