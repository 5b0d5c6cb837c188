"""The report card: everything that was held against people's grades, put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptpex.alignment.alignment_measures import as_figure
from promptpex.alignment.card_data import CardContest, CardData
from promptpex.alignment.card_rows import chosen_rows
from promptpex.alignment.graded_outputs import GradedItems, may_be_seen
from promptpex.alignment.verdict_agreement import held_verdicts
from promptpex.alignment.verdict_table import columns_of, distributions_of, outputs_of
from promptpex.core.records import OUTPUT_SUBJECT, CardAddition, PeopleAgreement, ReportCard
from promptpex.core.translation import stored, stored_n
from promptpex.stats import clustered_agreement


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
    """Everyone whose grades count."""
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
    """Why nothing of the chosen set can be measured."""
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
