"""The report card: everything that was held against people's grades, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from promptpex.alignment.choose import Contender, CriterionChoice, GradedOutputs
from promptpex.alignment.cross_fit import (
    WHOLE_SET,
    Chosen,
    EmptyFolds,
    HeldOutFigures,
    additions,
    as_bits,
    figures_of_folds,
    figures_of_part,
    folds_of_graded,
)
from promptpex.alignment.graded_outputs import (
    GradedItems,
    columns_of,
    distributions_of,
    may_be_seen,
    measured_outputs,
    outputs_of,
)
from promptpex.alignment.measures import Observation, as_figure, figures_of
from promptpex.core.records import (
    OUTPUT_SUBJECT,
    CardAddition,
    CardCandidate,
    CardRow,
    Example,
    Manifest,
    PeopleAgreement,
    ReportCard,
    RowKind,
)
from promptpex.core.translation import stored, stored_n
from promptpex.grading.next_item import Opinion, Opinions
from promptpex.stats import Fold, clustered_agreement

ALL_VERDICTS = ""
"""What stands for all verdicts of a run together in place of an assertion."""


@dataclass(frozen=True)
class CardContest:
    """The chosen set, and what it was chosen from, on examples whose candidates were all run.

    Attributes:
        method, limit, kept, choice_rules: as in ``ReportCard``.
        examples: with their labels, by the numbers that the bits of ``contenders`` and ``graded`` mean.
        contenders, graded: what is chosen from.
        choose: chooses by these examples, as bits.
        chosen: ids of the candidates of the set.
        criteria: words of the criteria, by id.
        subjects: what people grade of a criterion, by its id, where that is a rule.
        choices: of the choice by alignment, for each criterion.
        candidates: all of them, with what became of each.
        lacking: criteria without a good candidate and why, a sentence each.
        unknown: by the id of a contender, the examples that it was not run on, as bits; none where all were.
    """

    method: str
    limit: float
    kept: bool
    examples: tuple[Example, ...]
    contenders: tuple[Contender, ...]
    graded: GradedOutputs
    choose: Callable[[int], Chosen]
    chosen: frozenset[str]
    criteria: Mapping[str, str]
    subjects: Mapping[str, str] = field(default_factory=dict)
    choice_rules: str = ""
    choices: tuple[CriterionChoice, ...] = ()
    candidates: tuple[CardCandidate, ...] = ()
    lacking: tuple[str, ...] = ()
    unknown: Mapping[str, int] = field(default_factory=dict)

    def chosen_for(self, name: str) -> frozenset[str]:
        """What was chosen for a criterion, or in all: the ids of the candidates."""
        of_it = (one.id for one in self.contenders if name == WHOLE_SET or name in one.criteria)
        return self.chosen.intersection(of_it)

    @cached_property
    def folds(self) -> list[Fold[Chosen]]:
        """The labelled examples, held out fold by fold, with what is chosen by the others; none where they are few."""
        return folds_of_graded(self.graded, self.clusters, self.choose)

    @property
    def clusters(self) -> list[str]:
        return [example.cluster for example in self.examples]

    @property
    def empty_folds(self) -> EmptyFolds:
        """A choice by alignment may be of nothing; SPADE's has a set or none."""
        return "not-flagged" if self.method == "aligned" else "left-out"


@dataclass(frozen=True)
class CardData:
    """What a card is made from.

    Attributes:
        prompt, runs: their names.
        graded: the outputs, with labels and grades.
        opinions: what checks, judges and candidates say of them.
        broken: by the id of an output, whether the verdicts of the run that count break a rule; those of which that is
            not known are left out.
        measures: by name, of each output by its id.
        contest: None where there are no candidates, or none that can be chosen from.
        in_choice: by assertion, the ids of the outputs whose grades had a part in choosing the check that gave its
            verdict there: these do not measure it. ``ALL_VERDICTS``: of all verdicts together.
        manifests: of the runs: outputs that their judges were shown with grades do not measure them.
        notices: what to know, a sentence each.
    """

    prompt: str
    runs: tuple[str, ...]
    graded: GradedItems
    opinions: Opinions
    broken: Mapping[str, bool] = field(default_factory=dict)
    measures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    contest: CardContest | None = None
    in_choice: Mapping[str, frozenset[str]] = field(default_factory=dict)
    manifests: tuple[Manifest, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeldVerdicts:
    """What one assertion says, or all verdicts together, against what people say of a subject."""

    data: CardData
    kind: RowKind
    assertion: str
    subject: str
    by: tuple[str, ...]
    fails: Mapping[str, bool | None]

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        """What it has in common with the same assertion on other outputs."""
        return self.kind, self.subject, self.by

    @property
    def in_choice(self) -> int:
        """Labelled outputs that do not count, since their grades had a part in choosing the check."""
        chose = self._chose
        return sum(one.id in self.fails and one.id in chose for one, _ in self.data.graded.labelled(self.subject))

    @property
    def is_sampled(self) -> bool:
        return bool(self.data.graded.sample(self.subject))

    def observations(self, *, sampled: bool = False) -> tuple[list[Observation], int]:
        """What people and the assertion say of the outputs that measure it, and of how many it says nothing."""
        sample = self.data.graded.sample(self.subject) if sampled else None
        chose = self._chose

        def measures(item: Example) -> bool:
            measures_it = item.id in self.fails and item.id not in chose and not self._is_shown(item)
            return measures_it and (sample is None or item.id in sample)

        return self.data.graded.observations(self.subject, self._failed, measures)

    def row(self) -> CardRow:
        """The figures, on grades that had no part in choosing what gave the verdicts."""
        graded, (observations, silent) = self.data.graded, self.observations()
        chose = self._chose
        labelled = [one for one, _ in graded.labelled(self.subject) if one.id in self.fails]
        return CardRow(
            kind=self.kind,
            measured="held-out",
            id="" if self.kind == "verdicts" else self.subject,
            subject=self.subject,
            text=graded.book.subjects[self.subject].text,
            by=self.by,
            graded=figures_of(observations),
            sample=figures_of(self.observations(sampled=True)[0]) if self.is_sampled else None,
            on_whole=None if self.subject == OUTPUT_SUBJECT else graded.on_whole(self._failed),
            silent=silent,
            in_choice=self.in_choice,
            shown=sum(self._is_shown(one) and one.id not in chose for one in labelled),
        )

    @property
    def _chose(self) -> frozenset[str]:
        return self.data.in_choice.get(self.assertion, frozenset())

    def _failed(self, item: Example) -> bool | None:
        return self.fails.get(item.id)

    def _is_shown(self, item: Example) -> bool:
        if self.kind == "check" and not self.by[0].startswith("judges:"):
            return False
        needs = self.data.graded.book.subjects[self.subject].needs
        return any(one.may_have_shown(item, needs) for one in self.data.manifests)


def held_verdicts(data: CardData) -> Iterator[HeldVerdicts]:
    """All verdicts of the run together, against grades on the whole output, then checks and judges rule by rule."""
    if data.broken:
        yield HeldVerdicts(data, "verdicts", ALL_VERDICTS, OUTPUT_SUBJECT, (), data.broken)
    fails: dict[tuple[str, str], dict[str, bool | None]] = {}
    first: dict[tuple[str, str], Opinion] = {}
    for item, opinions in data.opinions.items():
        for one in opinions:
            if one.source != "candidate":
                first.setdefault((one.subject, one.assertion), one)
                fails.setdefault((one.subject, one.assertion), {})[item] = _fails(one)
    order = {name: place for place, name in enumerate(data.graded.book.subjects)}
    for key in sorted(fails, key=lambda key: (order.get(key[0], 0), first[key].source, key)):
        one = first[key]
        by = f"judge:{one.judge}" if one.source == "judge" else one.assertion.removeprefix(f"{one.subject} ")
        yield HeldVerdicts(data, "judge" if one.source == "judge" else "check", key[1], key[0], (by,), fails[key])


def _fails(one: Opinion) -> bool | None:
    return None if one.status == "none" else one.status == "fail"


def chosen_rows(contest: CardContest, graded: GradedItems) -> tuple[list[CardRow], tuple[CardAddition, ...]]:
    """The set and what was chosen for each criterion, each output counted with what was chosen without its case."""
    clusters, folds = contest.clusters, contest.folds
    measured = measured_outputs(contest.examples, graded.book)
    empty = contest.empty_folds
    on_all = figures_of_folds(folds, contest.contenders, contest.graded, clusters, measured, empty)
    rows = []
    for name in (WHOLE_SET, *contest.criteria):
        if name in on_all and contest.chosen_for(name):
            counted = measured & sample_of(contest, graded, name)
            graded_outputs = contest.graded if name == WHOLE_SET else contest.graded.without_suspects()
            on_sample = figures_of_part(name, folds, contest.contenders, graded_outputs, clusters, counted, empty)
            row = _chosen_row(contest, name, on_all[name], on_sample if counted else None)
            rows.append(row.replace(shown=(_known(contest.graded, name) & ~measured).bit_count()))
    added = additions(folds, contest.contenders, contest.graded, measured)
    return rows, tuple(one for one in added if one.id in contest.chosen)


def sample_of(contest: CardContest, graded: GradedItems, name: str) -> int:
    """The examples of the random sample, as bits: of the whole output for the set, of a criterion for what it got."""
    subject = contest.subjects.get(name, name) or OUTPUT_SUBJECT
    if subject not in graded.book.subjects:
        return 0
    sample = graded.sample(subject) & {one.id for one in graded.of(subject)}
    return as_bits(number for number, one in enumerate(contest.examples) if one.id in sample)


def _known(graded: GradedOutputs, name: str) -> int:
    """The outputs that figures of a criterion, or of the set, could be of."""
    evidence = graded.evidence(name)
    return graded.bad | graded.good if name == WHOLE_SET else evidence.to_catch | evidence.good


def _chosen_row(contest: CardContest, name: str, on_all: HeldOutFigures, of_sample: HeldOutFigures | None) -> CardRow:
    choice = next((one for one in contest.choices if one.wanted.id == name), None)
    return CardRow(
        kind="set" if name == WHOLE_SET else "criterion",
        measured="cross-fitted",
        id=name,
        subject=name or OUTPUT_SUBJECT,
        text=contest.criteria.get(name, ""),
        by=tuple(sorted(contest.chosen_for(name))),
        graded=on_all.figures,
        sample=of_sample.figures if of_sample is not None else None,
        folds=on_all.folds,
        folds_without=on_all.without,
        empty_folds=contest.empty_folds if on_all.without else "",
        basis=choice.basis if choice is not None else "",
    )


def card(data: CardData) -> ReportCard:
    """The report card of these grades."""
    graded, contest = data.graded, data.contest
    rows = [one.row() for one in held_verdicts(data)]
    added: tuple[CardAddition, ...] = ()
    if contest is not None:
        of_choice, added = chosen_rows(contest, graded)
        rows = [*of_choice, *rows]
    columns = columns_of(data.opinions, contest.chosen if contest is not None else frozenset())
    return ReportCard(
        prompt=data.prompt,
        runs=data.runs,
        rules=graded.book.rules.sentence(),
        graders=_counting(graded),
        method=contest.method if contest else "",
        limit=contest.limit if contest else None,
        kept=contest.kept if contest else False,
        choice_rules=contest.choice_rules if contest else "",
        labels=tuple(graded.labels(name) for name, one in graded.book.subjects.items() if one.asked),
        production=graded.of_production.labels(OUTPUT_SUBJECT) if graded.of_production is not None else None,
        rows=tuple(rows),
        additions=added,
        candidates=contest.candidates if contest else (),
        lacking=contest.lacking if contest else (),
        people=tuple(_people(graded)),
        columns=columns,
        outputs=outputs_of(graded, data.opinions, columns, data.measures),
        distributions=distributions_of(graded, data.measures),
        notices=tuple(_notices(data)),
    )


def _counting(graded: GradedItems) -> tuple[str, ...]:
    book = graded.book
    return tuple(name for name in book.graders if book.rules.only in ("", name))


def _notices(data: CardData) -> Iterator[str]:
    yield from data.notices
    contest = data.contest
    if contest is not None:
        book = data.graded.book
        shown_examples = sum(may_be_seen(one, book) for one in contest.examples if one.label is not None)
        if not contest.chosen:
            yield stored("nothing is chosen, so there are no figures for a set")
        elif not contest.folds:
            yield _why_no_folds(contest)
        elif shown_examples:
            yield stored_n(
                "{count} graded output may be shown to those who write candidates, and so is not counted for the "
                "chosen set",
                "{count} graded outputs may be shown to those who write candidates, and so are not counted for the "
                "chosen set",
                shown_examples,
            )


def _why_no_folds(contest: CardContest) -> str:
    bad, graded = contest.graded.any_bad, contest.graded.any
    cases = [
        len({cluster for number, cluster in enumerate(contest.clusters) if outputs >> number & 1})
        for outputs in (bad, graded & ~bad)
    ]
    return stored(
        "there are no figures for the chosen set and for single criteria, since there are too few labels to hold "
        "some out: two cases with a bad output and two with a good one are needed, and there are {failed} and "
        "{passed}",
        failed=cases[0],
        passed=cases[1],
    )


def _people(graded: GradedItems) -> Iterator[PeopleAgreement]:
    """Any two graders, on each subject that both graded."""
    for subject, described in graded.book.subjects.items():
        if described.asked:
            yield from _pairs(graded, subject)


def _pairs(graded: GradedItems, subject: str) -> Iterator[PeopleAgreement]:
    tables: dict[tuple[str, str], dict[str, list[list[int]]]] = {}
    for item in graded.of(subject):
        votes = sorted(graded.book.joint(item, subject).votes, key=lambda vote: vote.grader)
        clear = [vote for vote in votes if vote.value != "unsure" and not vote.derived]
        for place, first in enumerate(clear):
            for second in clear[place + 1 :]:
                cases = tables.setdefault((first.grader, second.grader), {})
                table = cases.setdefault(item.cluster, [[0, 0], [0, 0]])
                table[first.value == "good"][second.value == "good"] += 1
    for (first_name, second_name), cases in sorted(tables.items()):
        yield _agreement(first_name, second_name, subject, list(cases.values()))


def _agreement(first: str, second: str, subject: str, tables: Sequence[list[list[int]]]) -> PeopleAgreement:
    agreement = clustered_agreement(tables)
    return PeopleAgreement(
        first=first,
        second=second,
        subject=subject,
        both_bad=agreement.table[0][0],
        first_bad=agreement.table[0][1],
        second_bad=agreement.table[1][0],
        both_good=agreement.table[1][1],
        agreed=as_figure(agreement.raw),
        kappa=as_figure(agreement.kappa),
    )
