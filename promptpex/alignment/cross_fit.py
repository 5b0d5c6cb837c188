"""Figures of a choice by alignment on outputs that had no part in it.

The candidate that looks best on some outputs looks worse on others, the more so the more candidates there were. So for
each fold of the cases the choice is made by the others, and what was chosen is counted on the fold alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from promptpex.alignment.choose import Contender, GradedOutputs, Wanted, choose, chosen_of
from promptpex.alignment.measures import Observation, figures_of
from promptpex.core.records import AlignmentFigures, CardAddition
from promptpex.stats import Fold, held_out, worth_of_folds

Chosen = Mapping[str, frozenset[str]]
"""The ids of the candidates that were chosen, by criterion; ``WHOLE_SET``: all of them."""

WHOLE_SET = ""
"""What stands for the chosen set in place of a criterion's id."""


EmptyFolds = Literal["not-flagged", "left-out"]
"""What becomes of the outputs of a fold without which nothing is chosen: a set of nothing flags none of them, or they
are left out, where the way to choose then gives no set rather than an empty one."""

EVERY = -1
"""All outputs, as bits."""


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """The figures of a way to choose, each output counted with what was chosen without its case.

    Attributes:
        figures: over all folds. The intervals are for what all outputs choose (``worth_of_folds``).
        folds: how many there are.
        without: those in which nothing was chosen; see ``EmptyFolds``.
    """

    figures: AlignmentFigures
    folds: int
    without: int


def cross_fitted_choice(
    wanted: Sequence[Wanted],
    contenders: Sequence[Contender],
    graded: GradedOutputs,
    clusters: Sequence[str],
    counted: int = EVERY,
) -> dict[str, HeldOutFigures]:
    """The figures of ``choose``, by criterion and, under ``WHOLE_SET``, of the set; empty where labels are too few.

    A fold without which nothing is chosen counts: nothing flags none of its outputs. Left out are criteria for which
    nothing is chosen by all outputs, and so is a set of nothing: there is nothing to give figures of.
    """
    folds = folds_of_graded(graded, clusters, lambda outputs: chosen_by(wanted, contenders, graded.among(outputs)))
    fold_figures = figures_of_folds(folds, contenders, graded, clusters, counted)
    chosen = chosen_by(wanted, contenders, graded)
    return {name: figures for name, figures in fold_figures.items() if chosen[name]}


def chosen_by(wanted: Sequence[Wanted], contenders: Sequence[Contender], graded: GradedOutputs) -> Chosen:
    choices = choose(wanted, contenders, graded)
    return {**{one.wanted.id: frozenset(one.chosen) for one in choices}, WHOLE_SET: chosen_of(choices)}


def folds_of_graded(
    graded: GradedOutputs, clusters: Sequence[str], choose_by: Callable[[int], Chosen]
) -> list[Fold[Chosen]]:
    """The folds of the outputs that were graded, each with what is chosen by the others.

    Args:
        choose_by: chooses by these outputs, as bits. None of them shares a cluster with one that is held out.
    """
    graded_outputs, bad = graded.any, graded.any_bad
    outputs = [number for number in range(len(clusters)) if graded_outputs >> number & 1]
    kinds = [bool(bad >> number & 1) for number in outputs]
    folds = held_out(
        kinds, [clusters[number] for number in outputs], lambda kept: choose_by(as_bits(outputs[one] for one in kept))
    )
    return [Fold(tuple(outputs[one] for one in fold.held_out), fold.chosen) for fold in folds]


def figures_of_folds(
    folds: Sequence[Fold[Chosen]],
    contenders: Sequence[Contender],
    graded: GradedOutputs,
    clusters: Sequence[str],
    counted: int = EVERY,
    empty: EmptyFolds = "not-flagged",
) -> dict[str, HeldOutFigures]:
    """What was chosen in each fold, counted on the fold, by criterion and of the set."""
    names = folds[0].chosen if folds else ()
    return {name: figures_of_part(name, folds, contenders, graded, clusters, counted, empty) for name in names}


def figures_of_part(
    name: str,
    folds: Sequence[Fold[Chosen]],
    contenders: Sequence[Contender],
    graded: GradedOutputs,
    clusters: Sequence[str],
    counted: int = EVERY,
    empty: EmptyFolds = "not-flagged",
) -> HeldOutFigures:
    observations = observations_of_part(name, folds, contenders, graded, clusters, counted, empty)
    figures = figures_of(observations, worth=worth_of_folds(len(folds)))
    return HeldOutFigures(figures, len(folds), sum(not fold.chosen[name] for fold in folds))


def observations_of_part(
    name: str,
    folds: Sequence[Fold[Chosen]],
    contenders: Sequence[Contender],
    graded: GradedOutputs,
    clusters: Sequence[str],
    counted: int = EVERY,
    empty: EmptyFolds = "not-flagged",
) -> list[Observation]:
    """What ``figures_of_part`` is of."""
    fails = {one.id: one.fails for one in contenders}
    evidence = graded.evidence(name)
    bad, good = (graded.bad, graded.good) if name == WHOLE_SET else (evidence.to_catch, evidence.good)
    observations: list[Observation] = []
    for fold in folds:
        flagged = union(fails[one] for one in fold.chosen[name])
        members = as_bits(fold.held_out) & counted if fold.chosen[name] or empty == "not-flagged" else 0
        observations += observed(bad & members, good & members, flagged, clusters)
    return observations


def folds_of_others(
    folds: Sequence[Fold[Chosen]], clusters: Sequence[str], others: Sequence[str], by_all: Chosen
) -> list[Fold[Chosen]]:
    """Folds of other outputs that choose nothing: each output with what was chosen without its cluster."""
    fold_of = {clusters[number]: place for place, fold in enumerate(folds) for number in fold.held_out}
    members: dict[int, list[int]] = {}
    for number, cluster in enumerate(others):
        members.setdefault(fold_of.get(cluster, len(folds)), []).append(number)
    chosen = [*(fold.chosen for fold in folds), by_all]
    return [Fold(tuple(numbers), chosen[place]) for place, numbers in sorted(members.items())]


def additions(
    folds: Sequence[Fold[Chosen]], contenders: Sequence[Contender], graded: GradedOutputs, counted: int = EVERY
) -> tuple[CardAddition, ...]:
    """What each assertion that was chosen in a fold adds to the set there, counted on it; the most useful first."""
    fails = {one.id: one.fails for one in contenders}
    names = dict.fromkeys(one for fold in folds for one in sorted(fold.chosen[WHOLE_SET]))
    additions_by_name = [_addition(name, folds, fails, graded, counted) for name in names]
    return tuple(sorted(additions_by_name, key=lambda one: (-one.caught, one.flagged, one.id)))


def _addition(
    name: str, folds: Sequence[Fold[Chosen]], fails: Mapping[str, int], graded: GradedOutputs, counted: int
) -> CardAddition:
    among = alone = 0
    chosen_in = [fold for fold in folds if name in fold.chosen[WHOLE_SET]]
    for fold in chosen_in:
        members = as_bits(fold.held_out) & counted
        among |= members
        alone |= members & fails[name] & ~union(fails[one] for one in fold.chosen[WHOLE_SET] if one != name)
    return CardAddition(
        id=name,
        chosen_in=len(chosen_in),
        folds=len(folds),
        caught=(alone & graded.bad).bit_count(),
        bad=(among & graded.bad).bit_count(),
        flagged=(alone & graded.good).bit_count(),
        good=(among & graded.good).bit_count(),
    )


def observed(bad: int, good: int, fails: int, clusters: Sequence[str]) -> Iterable[Observation]:
    for number in range((bad | good).bit_length()):
        if (bad | good) >> number & 1:
            yield Observation(bool(bad >> number & 1), bool(fails >> number & 1), clusters[number])


def as_bits(numbers: Iterable[int]) -> int:
    members = 0
    for number in numbers:
        members |= 1 << number
    return members


def union(sets: Iterable[int]) -> int:
    joined = 0
    for one in sets:
        joined |= one
    return joined
