"""The report card: everything that was held against people's grades, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
from promptpex.alignment.figures import as_figure
from promptpex.alignment.graded import GradedItems, may_be_seen, measured_outputs
from promptpex.alignment.table import columns_of, distributions_of, outputs_of
from promptpex.codecs.wording import plural
from promptpex.core.records import (
    OUTPUT_SUBJECT,
    CardAddition,
    CardCandidate,
    CardRow,
    Example,
    PeopleAgreement,
    ReportCard,
)
from promptpex.grading.opinions import Opinion, Opinions
from promptpex.stats import clustered_agreement

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
        by_example: whether judges were shown graded outputs: these do not measure them.
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
    by_example: bool = False
    notices: tuple[str, ...] = ()


def card(data: CardData) -> ReportCard:
    """The report card of these grades."""
    graded, contest = data.graded, data.contest
    rows = list(verdict_rows(data))
    added: tuple[CardAddition, ...] = ()
    if contest is not None:
        chosen_rows, added = _chosen_rows(contest, graded)
        rows = [*chosen_rows, *rows]
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
    """Everyone whose grades count."""
    book = graded.book
    return tuple(name for name in book.graders if book.rules.only in ("", name))


def _chosen_rows(contest: CardContest, graded: GradedItems) -> tuple[list[CardRow], tuple[CardAddition, ...]]:
    """The set and what was chosen for each criterion, each output counted with what was chosen without its case."""
    clusters = [example.cluster for example in contest.examples]
    folds = folds_of_graded(contest.graded, clusters, contest.choose)
    measured = measured_outputs(contest.examples, graded.book)
    empty = contest.empty_folds
    on_all = figures_of_folds(folds, contest.contenders, contest.graded, clusters, measured, empty)
    rows = []
    for name in (WHOLE_SET, *contest.criteria):
        if name in on_all and contest.chosen & _of_criterion(contest, name):
            counted = measured & _sample(contest, graded, name)
            known = contest.graded if name == WHOLE_SET else contest.graded.without_suspects()
            on_sample = figures_of_part(name, folds, contest.contenders, known, clusters, counted, empty)
            rows.append(_chosen_row(contest, name, on_all[name], on_sample if counted else None))
    added = additions(folds, contest.contenders, contest.graded, measured)
    return rows, tuple(one for one in added if one.id in contest.chosen)


def _sample(contest: CardContest, graded: GradedItems, name: str) -> int:
    """The examples of the random sample, as bits: of the whole output for the set, of a criterion for what it got."""
    subject = contest.subjects.get(name, name) or OUTPUT_SUBJECT
    if subject not in graded.book.subjects:
        return 0
    sample = graded.sample(subject) & {one.id for one in graded.of(subject)}
    return as_bits(number for number, one in enumerate(contest.examples) if one.id in sample)


def _notices(data: CardData) -> Iterator[str]:
    yield from data.notices
    contest = data.contest
    if contest is not None:
        book = data.graded.book
        seen = sum(may_be_seen(one, book) for one in contest.examples if one.label is not None)
        if not contest.chosen:
            yield "nothing is chosen, so there are no figures of a set"
        elif seen:
            yield (
                f"{plural(seen, 'graded output')} may be shown to those who write candidates, and so "
                f"{'is' if seen == 1 else 'are'} not counted for the chosen set"
            )


def _of_criterion(contest: CardContest, name: str) -> frozenset[str]:
    """Ids of the candidates of a criterion, or of all."""
    return frozenset(one.id for one in contest.contenders if name == WHOLE_SET or name in one.criteria)


def _chosen_row(contest: CardContest, name: str, on_all: HeldOutFigures, of_sample: HeldOutFigures | None) -> CardRow:
    choice = next((one for one in contest.choices if one.wanted.id == name), None)
    return CardRow(
        kind="set" if name == WHOLE_SET else "criterion",
        measured="cross-fitted",
        id=name,
        subject=name or OUTPUT_SUBJECT,
        text=contest.criteria.get(name, ""),
        by=tuple(sorted(contest.chosen & _of_criterion(contest, name))),
        graded=on_all.figures,
        sample=of_sample.figures if of_sample is not None else None,
        folds=on_all.folds,
        folds_without=on_all.without,
        empty_folds=contest.empty_folds if on_all.without else "",
        basis=choice.basis if choice is not None else "",
    )


def verdict_rows(data: CardData) -> Iterator[CardRow]:
    """All verdicts of the run together, against grades on the whole output, then checks and judges rule by rule."""
    if data.broken:
        yield _row(data, "verdicts", ALL_VERDICTS, OUTPUT_SUBJECT, (), data.broken)
    yield from _opinion_rows(data)


def _opinion_rows(data: CardData) -> Iterator[CardRow]:
    """Checks and judges of the run, rule by rule."""
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
        yield _row(data, "judge" if one.source == "judge" else "check", key[1], key[0], (by,), fails[key])


def _fails(one: Opinion) -> bool | None:
    return None if one.status == "none" else one.status == "fail"


def _row(
    data: CardData,
    kind: str,
    assertion: str,
    subject: str,
    by: tuple[str, ...],
    fails: Mapping[str, bool | None],
) -> CardRow:
    """A row of verdicts, on grades that had no part in choosing what gave them."""
    graded = data.graded
    chose = data.in_choice.get(assertion, frozenset[str]())
    by_example = data.by_example and kind != "check"
    sample = graded.sample(subject)

    def failed(item: Example) -> bool | None:
        return fails.get(item.id)

    def is_shown(item: Example) -> bool:
        return by_example and item.is_shown

    def measures(item: Example) -> bool:
        return item.id in fails and item.id not in chose and not is_shown(item)

    labelled = [one for one, _ in graded.labelled(subject) if one.id in fails]
    on_all, silent = graded.figures(subject, failed, measures)
    on_sample, _ = graded.figures(subject, failed, lambda item: measures(item) and item.id in sample)
    return CardRow.model_validate(
        {
            "kind": kind,
            "measured": "held-out",
            "id": "" if kind == "verdicts" else subject,
            "subject": subject,
            "text": graded.book.subjects[subject].text,
            "by": by,
            "graded": on_all,
            "sample": on_sample if sample else None,
            "on_whole": None if subject == OUTPUT_SUBJECT else graded.on_whole(failed),
            "silent": silent,
            "in_choice": sum(one.id in chose for one in labelled),
            "shown": sum(is_shown(one) and one.id not in chose for one in labelled),
        }
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
    made = clustered_agreement(tables)
    return PeopleAgreement(
        first=first,
        second=second,
        subject=subject,
        both_bad=made.table[0][0],
        first_bad=made.table[0][1],
        second_bad=made.table[1][0],
        both_good=made.table[1][1],
        agreed=as_figure(made.raw),
        kappa=as_figure(made.kappa),
    )
