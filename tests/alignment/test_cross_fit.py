"""Figures of a choice on outputs that had no part in it."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.alignment.choose import Contender, GradedOutputs, Wanted, choose
from promptpex.alignment.cross_fit import (
    WHOLE_SET,
    Chosen,
    chosen_by,
    cross_fitted_choice,
    figures_of_folds,
    folds_of_graded,
)


def noise(seed: int, *, outputs: int = 40, candidates: int = 25) -> tuple[list[Contender], GradedOutputs]:
    """Candidates that have nothing to do with the labels."""
    rng = random.Random(seed)
    bad = sum(1 << number for number in range(outputs) if rng.random() < 0.4)
    fails = [sum(1 << n for n in range(outputs) if rng.random() < 0.15) for _ in range(candidates)]
    contenders = [Contender(f"a{number}", ("c",), failed, (number,)) for number, failed in enumerate(fails)]
    return contenders, GradedOutputs(bad, ((1 << outputs) - 1) & ~bad)


def test_noise_is_aligned_where_it_was_chosen_and_not_elsewhere() -> None:
    here, elsewhere, clusters = [], [], [str(number) for number in range(40)]
    for seed in range(6):
        contenders, graded = noise(seed)
        (choice,) = choose([Wanted("c")], contenders, graded)
        best = choice.rated[0]
        here.append(best.caught / best.bad - best.flagged / best.good)
        figures = cross_fitted_choice([Wanted("c")], contenders, graded, clusters)["c"].figures
        elsewhere.append((figures.coverage.estimate or 0.0) - (figures.ffr.estimate or 0.0))
    assert sum(here) / 6 > 0.15
    assert abs(sum(elsewhere)) / 6 < 0.1


def test_a_candidate_that_is_right_throughout_is_right_on_what_is_held_out() -> None:
    graded = GradedOutputs(bad=0b1111100000, good=0b0000011111)
    right, wrong = Contender("right", ("c",), 0b1111100000), Contender("wrong", ("c",), 0b0000000011)
    made = cross_fitted_choice([Wanted("c")], [right, wrong], graded, [str(number) for number in range(10)])
    for name in ("c", WHOLE_SET):
        assert (made[name].folds, made[name].without) == (5, 0)
        assert made[name].figures.alignment.estimate == 1.0
        assert made[name].figures.n == 10


def test_where_nothing_is_good_enough_in_a_fold_nothing_is_flagged_there() -> None:
    graded = GradedOutputs(bad=0b0011, good=0b1100)
    only_one = Contender("a", ("c",), 0b0001)
    made = cross_fitted_choice([Wanted("c")], [only_one], graded, list("wxyz"))
    for name in ("c", WHOLE_SET):
        assert (made[name].folds, made[name].without) == (2, 1)
        counts = made[name].figures.counts
        assert (counts.caught, counts.missed, counts.flagged, counts.kept) == (0, 2, 0, 2)
    folds = folds_of_graded(graded, list("wxyz"), lambda outputs: {"c": frozenset("a" * (outputs & 1))})
    assert figures_of_folds(folds, [only_one], graded, list("wxyz"), empty="left-out")["c"].figures.n == 2


def test_a_choice_of_nothing_has_no_figures_even_if_a_fold_has_one() -> None:
    # By all outputs the only candidate flags a quarter of the good ones; without the fold of the first, none.
    graded = GradedOutputs(bad=0b11110000, good=0b00001111)
    only_one = Contender("a", ("c",), 0b11110001)
    clusters = list("stuvwxyz")
    folds = folds_of_graded(graded, clusters, lambda some: chosen_by([Wanted("c")], [only_one], graded.among(some)))
    assert any(fold.chosen["c"] for fold in folds)
    assert cross_fitted_choice([Wanted("c")], [only_one], graded, clusters) == {}


def test_too_few_cases_leave_nothing_to_hold_out() -> None:
    contenders, graded = noise(0)
    assert cross_fitted_choice([Wanted("c")], contenders, graded, ["one"] * 40) == {}
    assert cross_fitted_choice([Wanted("c")], contenders, GradedOutputs(0b1, 0), list("abcd")) == {}


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**16 - 1),
    st.integers(0, 2**16 - 1),
    st.integers(0, 2**16 - 1),
    st.lists(st.integers(0, 7), min_size=16, max_size=16),
)
def test_no_output_is_counted_with_a_choice_that_its_case_had_a_part_in(
    bad: int, labelled: int, own: int, groups: list[int]
) -> None:
    graded = GradedOutputs(bad & labelled, labelled & ~bad, {"c": (own & bad, own & ~bad)})
    clusters = [str(group) for group in groups]
    seen: list[int] = []

    def by(outputs: int) -> Chosen:
        seen.append(outputs)
        return {WHOLE_SET: frozenset()}

    folds = folds_of_graded(graded, clusters, by)
    counted: list[int] = []
    for fold, used in zip(folds, seen, strict=True):
        counted += fold.held_out
        cases = {clusters[number] for number in fold.held_out}
        assert not any(used >> number & 1 and clusters[number] in cases for number in range(16))
    assert sorted(counted) == ([number for number in range(16) if (labelled | own) >> number & 1] if folds else [])
