"""A choice from a synthesis folder, with figures that can be trusted and what it changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from promptpex.stats import Interval, PpiConditional, PpiItem, held_out, korn_graubard, ppi_conditional, worth_of_folds
from promptpex.synthesis.choice.problem_of_folder import FolderProblem
from promptpex.synthesis.results.matrix import Matrix
from promptpex.synthesis.selection.methods import SECONDS, CrossFitted, Method, Selection, Shares, select
from promptpex.synthesis.selection.problem import (
    SelectionLimits,
    SelectionProblem,
    bits,
    gathered,
    membership_patterns,
    union,
)
from promptpex.synthesis.selection.program import MOST_COVERAGE, Task
from promptpex.synthesis.selection.search import optimise

MOST_POINTS = 40


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A set with the most coverage that a limit on false alarms allows, and of these the least false alarms."""

    coverage: float
    ffr: float
    caught: int
    flagged: int
    selection: tuple[int, ...]
    proven: bool


def curve(problem: SelectionProblem, *, seconds: float, points: int = MOST_POINTS) -> list[CurvePoint]:
    """The points in which allowing more false alarms lets more be caught, from none to all that can be.

    With many good examples not every number of false alarms is tried: ``points`` of them, evenly spread.
    """
    good, bad = problem.good.bit_count(), problem.bad.bit_count()
    if not good or not bad:
        return []
    step = max(1, -(-(good + 1) // points))
    curve_points: list[CurvePoint] = []
    for most in [*range(0, good, step), good]:
        if curve_points and most <= curve_points[-1].flagged:
            continue
        optimum = optimise(Task(problem, MOST_COVERAGE, 0, most), seconds / points)
        if optimum.selection is None:
            continue
        flagged = problem.flagged_by(optimum.selection)
        caught, alarms = (flagged & problem.bad).bit_count(), (flagged & problem.good).bit_count()
        if not curve_points or caught > curve_points[-1].caught:
            proven = optimum.steps[0].proven
            curve_points.append(CurvePoint(caught / bad, alarms / good, caught, alarms, optimum.selection, proven))
        if caught == bad:
            break
    return curve_points


Choose = Callable[[Sequence[int]], Sequence[int] | None]
"""Chooses candidates by the examples of these numbers; None where no set keeps the limits."""


def shares(
    problem: SelectionProblem, flagged: int, clusters: Sequence[str], among: int | None = None, *, worth: float = 1.0
) -> Shares:
    """The share of bad and of good examples that are flagged.

    The intervals are exact ones at the effective number of examples (``korn_graubard``).

    Args:
        flagged: examples, as bits.
        clusters: what each example belongs to.
        among: the examples that count, as bits; None = all.
        worth: as for ``korn_graubard``.
    """
    counted = (1 << problem.examples) - 1 if among is None else among
    bad, good = problem.bad & counted, problem.good & counted
    return Shares(_share(bad, flagged, clusters, worth), _share(good, flagged, clusters, worth))


def _share(members: int, flagged: int, clusters: Sequence[str], worth: float) -> Interval | None:
    if not members:
        return None
    of_cluster: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for example in bits(members):
        of_cluster[clusters[example]][0] += flagged >> example & 1
        of_cluster[clusters[example]][1] += 1
    ones, sizes = zip(*of_cluster.values(), strict=True)
    return korn_graubard(ones, sizes, worth=worth)


def cross_fitted(problem: SelectionProblem, clusters: Sequence[str], choose: Choose) -> CrossFitted | None:
    """The figures of choosing in this way; None where the examples are too few to hold some out."""
    is_bad = [bool(problem.bad >> example & 1) for example in range(problem.examples)]
    folds = held_out(is_bad, clusters, choose)
    if not folds:
        return None
    flagged = counted = 0
    chosen: dict[int, tuple[int, ...]] = {}
    for number, fold in enumerate(folds):
        if fold.chosen is not None:
            members = sum(1 << example for example in fold.held_out)
            chosen[number] = tuple(fold.chosen)
            counted |= members
            flagged |= union(problem.fails, fold.chosen) & members
    cross_fitted_shares = shares(problem, flagged, clusters, counted, worth=worth_of_folds(len(folds)))
    fold_of = {example: number for number, fold in enumerate(folds) for example in fold.held_out}
    return CrossFitted(cross_fitted_shares, len(folds), len(folds) - len(chosen), chosen, fold_of)


def measured(problem: SelectionProblem, selection: Selection, clusters: Sequence[str], choose: Choose) -> Selection:
    """The selection with its figures: on the examples that it was made on, and of choosing in this way on others."""
    if selection.chosen is None:
        return selection
    on_all = shares(problem, problem.flagged_by(selection.chosen), clusters)
    return replace(selection, on_all=on_all, held_out=cross_fitted(problem, clusters, choose))


def only(problem: SelectionProblem, examples: Sequence[int]) -> SelectionProblem:
    """The problem with these examples alone."""
    return replace(
        problem,
        examples=len(examples),
        good=gathered(problem.good, examples),
        fails=tuple(gathered(failed, examples) for failed in problem.fails),
        example_names=tuple(problem.example_name(example) for example in examples),
    )


def ffr_of_all_outputs(
    matrix: Matrix,
    problem: SelectionProblem,
    rows: Sequence[int],
    columns: Sequence[int],
    fitted: CrossFitted,
) -> PpiConditional | None:
    """The false failure rate on all outputs, with and without a label (prediction-powered, ``ppi_conditional``).

    What is known of every output is whether the sets flag it; what is known of few is whether it is good. That is
    predicted by how many of the candidates it passes, which no label has a part in. A labelled example counts with the
    set that was chosen without it, one without a label with the sets of all folds, each as often as it has
    examples. One that a candidate was not run on does not count.

    Args:
        rows, columns: numbers in the matrix of the problem's examples and candidates.

    Returns:
        None where fewer than two good examples have a set, or all outputs have a label.
    """
    fold_sizes: dict[int, int] = {
        fold: sum(place == fold for place in fitted.fold_of.values()) for fold in fitted.chosen
    }
    total = sum(fold_sizes.values())
    flagged_by = {
        fold: union([matrix.fails(columns[number]) for number in chosen], range(len(chosen)))
        for fold, chosen in fitted.chosen.items()
    }
    guesses, settled = _predictions(matrix, columns), matrix.settled(columns)
    items = []
    place_of = {row: place for place, row in enumerate(rows)}
    for row, example in enumerate(matrix.examples):
        if row in place_of:
            fold = fitted.fold_of[place_of[row]]
            if fold in flagged_by:
                is_good = bool(problem.good >> place_of[row] & 1)
                items.append(PpiItem(flagged_by[fold] >> row & 1, guesses[row], example.cluster, is_good))
        elif total and settled >> row & 1:
            share = sum(size * (flagged_by[fold] >> row & 1) for fold, size in fold_sizes.items()) / total
            items.append(PpiItem(share, guesses[row], example.cluster))
    labelled_good = sum(item.is_kind is True for item in items)
    if labelled_good < 2 or all(item.is_kind is not None for item in items):
        return None
    return ppi_conditional(items, worth=worth_of_folds(fitted.folds))


def _predictions(matrix: Matrix, columns: Sequence[int]) -> list[float]:
    """Per example of the matrix how likely it is good: the share of candidates that it passes."""
    width = len(matrix.examples)
    fails = [matrix.fails(column) for column in columns]
    return [pattern.count("0") / max(1, len(columns)) for pattern in membership_patterns(fails, range(width), width)]


def choose_from_matrix(
    problem: SelectionProblem,
    method: Method,
    limits: SelectionLimits | None = None,
    *,
    seconds: float = SECONDS,
    screened: bool = False,
) -> Selection:
    """Chooses from a matrix, with figures on examples held out; each example is taken as a case of its own."""

    def by(examples: Sequence[int]) -> Sequence[int] | None:
        return select(only(problem, examples), method, limits, seconds=seconds / 5, screened=screened).chosen

    selection = select(problem, method, limits, seconds=seconds, screened=screened)
    return measured(problem, selection, [str(number) for number in range(problem.examples)], by)


def choosing_by_labels(
    source: FolderProblem, method: Method, limits: SelectionLimits, *, seconds: float
) -> Callable[[Sequence[int] | None], Selection]:
    """Chooses a set at once (SPADE, section 4), by the examples of these numbers alone; None: by all of them."""

    def by(examples: Sequence[int] | None) -> Selection:
        if examples is None:
            return select(source.problem, method, limits, seconds=seconds, screened=True, order=source.order)
        return select(only(source.problem, examples), method, limits, seconds=seconds / 5, order=source.order)

    return by
