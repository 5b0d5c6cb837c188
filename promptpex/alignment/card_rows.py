"""The rows of a card about the chosen set and what was chosen for each criterion."""

from __future__ import annotations

from promptpex.alignment.card_data import CardContest
from promptpex.alignment.choose import GradedOutputs
from promptpex.alignment.cross_fit import (
    WHOLE_SET,
    HeldOutFigures,
    additions,
    as_bits,
    figures_of_folds,
    figures_of_part,
)
from promptpex.alignment.graded_outputs import GradedItems, measured_outputs
from promptpex.core.records import OUTPUT_SUBJECT, CardAddition, CardRow


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
