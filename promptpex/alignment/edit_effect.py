"""What an edit of the prompt did: to how many outputs people call bad, and to how far the chosen set, checks and judges
agree with them.

Grades are given to texts, so those of an older run's outputs are still there, and both runs are held against people by
the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from promptpex.alignment.card import CardContest, CardData, HeldVerdicts, held_verdicts, sample_of
from promptpex.alignment.choose import GradedOutputs
from promptpex.alignment.cross_fit import (
    EVERY,
    WHOLE_SET,
    folds_of_others,
    observations_of_part,
    union,
)
from promptpex.alignment.graded_outputs import measured_outputs
from promptpex.alignment.measures import Compared, Observation, as_figure, difference, figure_of, figures_of
from promptpex.core.records import CardEffect, RowKind
from promptpex.core.translation import stored, stored_n
from promptpex.stats import worth_of_folds

_OF_VERDICTS: tuple[Compared, ...] = ("coverage", "ffr", "alignment")

VerdictsPair = tuple[HeldVerdicts, HeldVerdicts]


@dataclass(frozen=True)
class ComparedOutputs:
    """What is compared, on the outputs of the older wording and of the newer one."""

    kind: RowKind | Literal["people"]
    what: str
    by: str
    sampled: bool
    before: Sequence[Observation]
    after: Sequence[Observation]
    worth: float = 1.0

    def effects(self, names: Sequence[Compared]) -> Iterator[CardEffect]:
        """The figures of either, and their differences; none of a figure that neither has."""
        old, new = figures_of(self.before, worth=self.worth), figures_of(self.after, worth=self.worth)
        both = {one.cluster for one in self.before} & {one.cluster for one in self.after}
        for name in names:
            if figure_of(old, name).estimate is None and figure_of(new, name).estimate is None:
                continue
            effect = difference(name, (self.before, old), (self.after, new))
            yield CardEffect(
                kind=self.kind,
                what=self.what,
                by=self.by,
                figure=name,
                before=figure_of(old, name),
                after=figure_of(new, name),
                difference=as_figure(effect) if effect.estimate is not None else None,
                sampled=self.sampled,
                cases=len(both),
            )


def verdict_pairs(before: CardData, after: CardData) -> tuple[VerdictsPair, ...]:
    """The verdicts that the older outputs and the newer ones both have."""
    old = {one.key: one for one in held_verdicts(before)}
    return tuple((old[one.key], one) for one in held_verdicts(after) if one.key in old)


def effects(before: CardData, after: CardData, pairs: Iterable[VerdictsPair]) -> tuple[CardEffect, ...]:
    """What changed from the outputs of an older wording to those of a newer one: what people call bad, the chosen set
    and what is chosen for each criterion, the verdicts."""
    all_effects = [effect for one in _shares(before, after) for effect in one.effects(["bad"])]
    all_effects += [effect for one in _chosen(before, after) for effect in one.effects(_OF_VERDICTS)]
    all_effects += [effect for one in map(_verdicts, pairs) for effect in one.effects(_OF_VERDICTS)]
    return tuple(all_effects)


def _shares(before: CardData, after: CardData) -> Iterator[ComparedOutputs]:
    """How many outputs people call bad, on the whole and by each rule and criterion."""
    for name, subject in after.graded.book.subjects.items():
        if subject.asked and before.graded.labelled(name) and after.graded.labelled(name):
            sampled = [_labels(data, name, sampled=True) for data in (before, after)]
            of_all = [_labels(data, name, sampled=False) for data in (before, after)]
            one, other = sampled if all(sampled) else of_all
            yield ComparedOutputs("people", name, "", all(sampled), one, other)


def _labels(data: CardData, subject: str, *, sampled: bool) -> list[Observation]:
    counted = data.graded.sample(subject) if sampled else {item.id for item in data.graded.of_runs}
    return [
        Observation(label == "bad", False, item.cluster)
        for item, label in data.graded.labelled(subject)
        if item.id in counted
    ]


def _chosen(before: CardData, after: CardData) -> Iterator[ComparedOutputs]:
    """The chosen set and what is chosen for each criterion; each output with what is chosen without its case."""
    older, contest = before.contest, after.contest
    if older is None or contest is None or not contest.chosen:
        return
    folds = contest.folds
    others = folds_of_others(folds, contest.clusters, older.clusters, contest.choose(EVERY))
    chosen = frozenset[str]().union(*(fold.chosen[WHOLE_SET] for fold in others))
    known_outputs = ~union(older.unknown.get(name, 0) for name in chosen)
    measured = measured_outputs(contest.examples, after.graded.book)
    older_measured = measured_outputs(older.examples, before.graded.book) & known_outputs
    for name in (WHOLE_SET, *contest.criteria):
        if not folds or not contest.chosen_for(name):
            continue
        samples = (
            older_measured & sample_of(older, before.graded, name),
            measured & sample_of(contest, after.graded, name),
        )
        counted = samples if all(samples) else (older_measured, measured)
        then, now = _of_one_basis(name, older, contest, sampled=all(samples))
        empty = contest.empty_folds
        old = observations_of_part(name, others, older.contenders, then, older.clusters, counted[0], empty)
        new = observations_of_part(name, folds, contest.contenders, now, contest.clusters, counted[1], empty)
        by = ", ".join(sorted(contest.chosen_for(name)))
        worth = worth_of_folds(len(folds))
        yield ComparedOutputs("criterion" if name else "set", name, by, all(samples), old, new, worth)


def _of_one_basis(
    name: str, older: CardContest, contest: CardContest, *, sampled: bool
) -> tuple[GradedOutputs, GradedOutputs]:
    """What people say of either outputs; without suspects where of one of them the bad ones are known."""
    graded = older.graded, contest.graded
    bases = {one.evidence(name).basis for one in graded}
    if name == WHOLE_SET or (not sampled and bases == {"known-and-suspect"}):
        return graded
    return graded[0].without_suspects(), graded[1].without_suspects()


def left_out_of_effects(pairs: Iterable[VerdictsPair]) -> Iterator[str]:
    """Which rows are compared on fewer outputs than were graded, or not at all, since the grades of the others had a
    part in choosing the checks; a sentence each."""
    for earlier, one in pairs:
        if not earlier.in_choice and not one.in_choice:
            continue
        name = f"{one.subject} {', '.join(one.by)}" if one.by else stored("all verdicts together")
        old, new = len(earlier.observations()[0]), len(one.observations()[0])
        if old and new:
            yield stored(
                "{shown}: compared on {outputs} before and {number} now that were not used in the choice",
                shown=name,
                outputs=stored_n("{count} graded output", "{count} graded outputs", old),
                number=new,
            )
        elif old:
            yield stored(
                "{shown}: not compared, since every output graded now had a part in the choice",
                shown=name,
            )
        else:
            yield stored(
                "{shown}: not compared, since every graded output of that run had a part in the choice",
                shown=name,
            )


def _verdicts(pair: VerdictsPair) -> ComparedOutputs:
    earlier, one = pair
    sampled = earlier.is_sampled and one.is_sampled
    old, new = (each.observations(sampled=sampled)[0] for each in pair)
    return ComparedOutputs(one.kind, one.subject, ", ".join(one.by), sampled, old, new)
