"""The report card of a run: outputs, people's grades, what machines say, and what an edit of the prompt did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from promptpex.alignment.card import ALL_VERDICTS, CardContest, CardData, card
from promptpex.alignment.cross_fit import union
from promptpex.alignment.edit_effect import effects, left_out_of_effects, verdict_pairs
from promptpex.alignment.graded_outputs import GradedItems, graded_outputs, with_labels
from promptpex.assertions import check, check_time
from promptpex.assertions.kinds.measures import counted
from promptpex.codecs.files.ordinary_files import state_of
from promptpex.codecs.text.wording import named
from promptpex.core.errors import RunError
from promptpex.core.events import Listener, ignore_events
from promptpex.core.outcomes import outcome_of
from promptpex.core.records import Candidate, Check, Example, OutputKey, ReportCard, Run, Spec, Synthesis, Verdict
from promptpex.core.shares import share
from promptpex.core.translation import stored, stored_n
from promptpex.grading.book import GradeBook
from promptpex.grading.labels import LabelRules, require_known_grader
from promptpex.promptfile import sibling
from promptpex.report import runs
from promptpex.report.runs.listing import FILES
from promptpex.synthesis.choice.saved_choice import CHOICE, SavedChoice
from promptpex.synthesis.examples import examples_of
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.results.matrix import Matrix, MatrixCell, MatrixFile, in_force
from promptpex.workflow.choosing import criteria_by_subject
from promptpex.workflow.chosen_set_for_card import card_contest
from promptpex.workflow.grading_desk import GradingProject, GradingWishes, open_desk, opinions_of

UNITS = ("words", "characters")
_SCRIPTS = ("python", "javascript", "question", "llm-rubric", "assert-set")
"""Kinds whose score is a script's or a judge's, and not a measure of the text."""
MOST_SCORED = 20_000
"""Outputs times checks up to which checks are evaluated for their scores: some seconds."""


def measures_of(items: Sequence[Example], spec: Spec, runs: Iterable[Run]) -> dict[str, dict[str, float]]:
    measures = {unit: {item.id: float(counted(item.output, unit)) for item in items} for unit in UNITS}
    return measures | _scores_of_checks(items, spec) | _metrics(runs)


def _scores_of_checks(items: Sequence[Example], spec: Spec) -> dict[str, dict[str, float]]:
    measuring = [(rule.id, one) for rule in spec.rules for one in rule.checks if _measures(one)]
    if len(measuring) * len(items) > MOST_SCORED:
        return {}
    scores: dict[str, dict[str, float]] = {}
    with check_time():
        for rule, one in measuring:
            values = scores.setdefault(f"{rule} {one.kind}", {})
            for item in items:
                score = check(item.output, [one], vars=item.inputs, prompt=item.prompt).results[0].score
                if score is not None:
                    values[item.id] = score
    return scores


def _measures(one: Check) -> bool:
    return one.threshold is not None and one.kind.removeprefix("not-") not in _SCRIPTS


def _metrics(runs: Iterable[Run]) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for run in runs:
        ids = run.item_ids
        for score in run.scores:
            item = ids.get(score.key)
            if item is not None and score.counts and score.turn == 0 and score.value is not None:
                scores.setdefault(score.name, {}).setdefault(item, score.value)
    return scores


def outputs_in_choice(read_runs: Iterable[Run], saved: SavedChoice | None) -> Mapping[str, frozenset[str]]:
    """By assertion, the ids of the outputs whose grades chose the check that gave its verdict there.

    Judges have no part in a choice, nor has a check that a run was made without: what counts is the spec of each run.
    Under ``ALL_VERDICTS`` are those of the runs in which a chosen check gave a verdict that counts; all of them, also
    where the check passes, since what it fails is not like the rest. As for opinions, the first of several runs with
    the same output counts.
    """
    if saved is None:
        return {}
    in_choice: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for run in read_runs:
        _note(run, saved.chosen, in_choice)
    labelled = saved.labelled
    return {
        name: frozenset(one for one, is_chosen in outputs.items() if is_chosen and one in labelled)
        for name, outputs in in_choice.items()
    }


def _note(run: Run, chosen: Collection[str], in_choice: Mapping[str, dict[str, bool]]) -> None:
    ids = run.item_ids
    rules = {rule.id for rule in run.spec.rules if any(check.metric in chosen for check in rule.checks)}

    def of_choice(verdict: Verdict) -> bool:
        return verdict.rule in rules and verdict.source.startswith("check:")

    verdicts = [one for one in run.verdicts if one.turn == 0 and one.key in ids]
    decides = any(one.counts and of_choice(one) for one in verdicts)
    for one in verdicts:
        in_choice[f"{one.rule} {one.source}"].setdefault(ids[one.key], of_choice(one))
        if one.counts:
            in_choice[ALL_VERDICTS].setdefault(ids[one.key], decides)


MOST_RUN = 20_000
"""Results of code that are made for a comparison: some seconds; more are left to ``promptpex synthesize``."""


def contest_on(
    contest: CardContest,
    items: Sequence[Example],
    synthesis: Synthesis,
    folder: SynthesisFolder,
    book: GradeBook,
    criterion_of: Mapping[str, str],
) -> CardContest:
    """The same candidates on other outputs, and what people say of these.

    Results on file count. What is missing there is made where code alone decides, and kept nowhere; nobody is asked.
    """
    contender_ids = {one.id for one in contest.contenders}
    candidates = [one for one in in_force(synthesis) if one.id in contender_ids]
    matrix = Matrix(candidates, items)
    matrix.take(MatrixFile(folder.matrix).read())
    _run_code(matrix)
    numbers = {one.id: number for number, one in enumerate(candidates)}
    return replace(
        contest,
        examples=tuple(items),
        contenders=tuple(replace(one, fails=matrix.fails(numbers[one.id])) for one in contest.contenders),
        graded=graded_outputs(items, book, criterion_of),
        unknown={name: matrix.unknown(number) for name, number in numbers.items()},
    )


def not_run_sentence(contest: CardContest, run: str) -> str:
    """Which graded outputs of a run a chosen candidate was not run on; empty where that is none."""
    names = [name for name in sorted(contest.chosen) if contest.unknown.get(name, 0) & contest.graded.any]
    outputs = union(contest.unknown[name] for name in names) & contest.graded.any
    if not outputs:
        return ""
    return stored_n(
        "the chosen set is compared without {outputs} of the run {run}, on which {names} was not run",
        "the chosen set is compared without {outputs} of the run {run}, on which {names} were not run",
        len(names),
        outputs=stored_n("{count} graded output", "{count} graded outputs", outputs.bit_count()),
        run=run,
        names=named(names),
    )


def _run_code(matrix: Matrix) -> None:
    all_examples = range(len(matrix.examples))
    missing = [
        (number, candidate, matrix.open_cells(number, all_examples))
        for number, candidate in enumerate(matrix.candidates)
        if not matrix.asking(number)
    ]
    if sum(len(cells) for _, _, cells in missing) > MOST_RUN:
        return
    with check_time():
        for number, candidate, cells in missing:
            for cell in cells:
                matrix.add(_cell(number, cell, candidate, matrix.examples[cell]))


def _cell(number: int, place: int, candidate: Candidate, item: Example) -> MatrixCell:
    result = check(item.output, [candidate.check], vars=item.inputs, prompt=item.prompt or None).results[0]
    return MatrixCell(number, place, result.status if result.status in ("pass", "fail") else "error", result.reason)


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
    """The report card of one or more runs of a prompt."""
    desk = GradingWishes(prompt=wishes.prompt, rules=wishes.rules)
    project = open_desk(sources, results, desk, emit)
    return Aligned(project, card_of(project, results, wishes))


def card_of(project: GradingProject, results: Path, wishes: CardWishes) -> ReportCard:
    """The report card of an open project, by the grades as of the last look at its file."""
    book = project.desk.book
    require_known_grader(wishes.rules, book.graders)
    contest, notices = card_contest(project.folder, project.synthesis, project.spec, book, wishes.ffr)
    graded = _graded(project.desk.pool, project)
    saved = CHOICE.read(project.folder.selection)
    data = CardData(
        prompt=project.prompt.name,
        runs=tuple(run.manifest.run for run in project.runs),
        graded=graded,
        opinions=project.opinions,
        broken=_broken(project.runs),
        measures=measures_of(graded.items, project.spec, project.runs),
        contest=contest,
        in_choice=outputs_in_choice(project.runs, saved),
        manifests=tuple(run.manifest for run in project.runs),
        notices=notices,
    )
    report_card = card(data)
    if wishes.against is None:
        return report_card
    return _with_effect(report_card, data, project, runs.resolve(wishes.against, results), saved)


def _graded(pool: Sequence[Example], project: GradingProject) -> GradedItems:
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
    """The card with what changed since another run of the prompt."""
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


class CardOfRuns:
    """The card of some runs, or of a prompt's latest one."""

    def __init__(self, sources: Sequence[Path], results: Path, wishes: CardWishes) -> None:
        self._sources, self._results, self._wishes = tuple(sources), results, wishes
        self._files: tuple[Path, ...] = ()

    def stamp(self) -> Hashable:
        """What changes whenever a file does that the card is made from; the latest run is one of them."""
        named: Sequence[Path | None] = self._sources or (None,)
        folders = [runs.resolve(one, self._results) for one in named if one is None or not one.is_file()]
        files = [folder / name for folder in folders for name in FILES]
        return (*folders, len(self._files), *map(state_of, (*self._files, *files)))

    def card(self, limit: str = "", against: Path | None = None) -> ReportCard:
        """The card."""
        wishes = replace(self._wishes, ffr=share(limit)) if limit.strip() else self._wishes
        wishes = wishes if against is None else replace(wishes, against=against)
        alignment = align(self._sources, self._results, wishes, ignore_events)
        project = alignment.project
        self._files = (
            project.file,
            project.grades,
            sibling(project.file, "spec"),
            *(project.folder.path / name for name in ("candidates.yaml", "examples.jsonl", "matrix.jsonl")),
            project.folder.selection,
        )
        return alignment.card
