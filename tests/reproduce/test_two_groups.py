from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reproduce.two_groups import groups_p, permutation_p
from promptpex.core.errors import InputError
from promptpex.stats import Grid
from tests.stats.grids import Counts, grid_of

counts = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
small_groups = st.integers(1, 5).flatmap(
    lambda unit: st.tuples(
        st.just(unit),
        st.lists(st.integers(0, unit), min_size=1, max_size=6),
        st.lists(st.integers(0, unit), min_size=1, max_size=6),
    )
)


def zeros_and_ones(hits: int, n: int) -> npt.NDArray[np.int64]:
    return np.array([1] * hits + [0] * (n - hits), dtype=np.int64)


def by_hand(first: list[int], second: list[int], unit: int) -> Fraction:
    """Every choice of cases for the first group, one by one."""
    cases = [*first, *second]
    sums = [sum(cases[i] for i in chosen) for chosen in combinations(range(len(cases)), len(first))]

    def near(total: int) -> Fraction:
        inside = sum(2 * abs(one - total) < unit for one in sums)
        return inside + Fraction(sum(2 * abs(one - total) == unit for one in sums), 2)

    seen = near(sum(first))
    return Fraction(sum(near(total) <= seen for total in sums), len(sums))


def grid(*cases: Counts) -> Grid:
    return grid_of({"m": {str(number): of_case for number, of_case in enumerate(cases)}})


@given(counts, counts, st.integers(1, 6))
def test_one_repeat_is_fishers_exact_test_whatever_the_unit(a: tuple[int, int], b: tuple[int, int], unit: int) -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    fisher = scipy_stats.fisher_exact([[a[0], a[1] - a[0]], [b[0], b[1] - b[0]]]).pvalue
    first, second = unit * zeros_and_ones(*a), unit * zeros_and_ones(*b)
    assert permutation_p(first, second, unit) == pytest.approx(fisher, abs=1e-7)


@pytest.mark.parametrize(("hits", "others"), [(300, 200), (520, 480), (1000, 0), (3, 0)])
def test_fishers_test_on_2000_cases_neither_under_nor_overflows(hits: int, others: int) -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    fisher = scipy_stats.fisher_exact([[hits, 1000 - hits], [others, 1000 - others]]).pvalue
    p = permutation_p(zeros_and_ones(hits, 1000), zeros_and_ones(others, 1000))
    assert p == pytest.approx(fisher, rel=1e-6, abs=1e-300)


@given(small_groups)
def test_every_choice_of_cases_counted_one_by_one_says_the_same(groups: tuple[int, list[int], list[int]]) -> None:
    unit, first, second = groups
    p = permutation_p(np.array(first), np.array(second), unit)
    assert p == pytest.approx(float(by_hand(first, second, unit)), abs=1e-9)
    back = permutation_p(np.array(second), np.array(first), unit)
    assert p == pytest.approx(back, abs=1e-9)
    kept = permutation_p(unit - np.array(first), unit - np.array(second), unit)
    assert p == pytest.approx(kept, abs=1e-9)


@given(st.lists(st.integers(0, 3), min_size=7, max_size=9), st.sampled_from([0.01, 0.05, 0.2]))
def test_chance_alone_is_called_a_difference_no_more_often_than_alpha(values: list[int], alpha: float) -> None:
    called, cases = 0, np.array(values)
    for chosen in combinations(range(len(values)), 3):
        inside = np.isin(np.arange(len(values)), chosen)
        called += permutation_p(cases[inside], cases[~inside], 3) <= alpha
    assert called <= alpha * comb(len(values), 3)


def test_farther_sums_are_stronger_evidence_though_few_choices_of_cases_give_them() -> None:
    """Most cases are broken in all of five repeats or in none, so that sums between multiples of 5 are rare."""
    pool, p_values = [0] * 20 + [5] * 12 + [1, 2, 3, 4], []
    for fives, part in product(range(7, 13), range(5)):
        first = [5] * fives + [0] * (18 - fives - bool(part)) + [part] * bool(part)
        second = [*pool]
        for value in first:
            second.remove(value)
        p_values.append(permutation_p(np.array(first), np.array(second), 5))
    assert p_values == sorted(p_values, reverse=True)


@pytest.mark.parametrize(("first", "second"), [([], []), ([1], []), ([], [0, 1])])
def test_without_a_group_nothing_is_shown(first: list[int], second: list[int]) -> None:
    assert permutation_p(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)) == 1.0


@pytest.mark.parametrize(("first", "unit"), [([2], 1), ([-1], 1), ([0], 0)])
def test_a_value_that_no_case_can_have_is_refused(first: list[int], unit: int) -> None:
    with pytest.raises(InputError, match="parts"):
        permutation_p(np.array(first), np.array([0]), unit)


def test_unequal_numbers_of_repeats_are_compared_in_one_unit() -> None:
    first, second = grid((1, 2, 0), (2, 0, 0), (3, 1, 0)), grid((0, 3, 0), (0, 2, 0), (1, 1, 0))
    assert groups_p(first, second, 0) == pytest.approx(permutation_p(np.array([4, 12, 9]), np.array([0, 0, 6]), 12))


def test_repeats_of_a_case_do_not_make_a_difference_surer() -> None:
    once = groups_p(grid(*[(1, 0, 0)] * 4, (0, 1, 0)), grid(*[(0, 1, 0)] * 5), 0)
    often = groups_p(grid(*[(5, 0, 0)] * 4, (0, 5, 0)), grid(*[(0, 5, 0)] * 5), 0)
    assert once == often == pytest.approx(2 * 5 / comb(10, 4))


def test_what_is_open_is_read_against_the_difference() -> None:
    broken, kept, opened = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    p = groups_p(grid(*[broken] * 8, opened, opened), grid(*[kept] * 9, opened), 0)
    assert p == groups_p(grid(*[broken] * 8, kept, kept), grid(*[kept] * 9, broken), 0)
    assert p > groups_p(grid(*[broken] * 8), grid(*[kept] * 9), 0)
    assert groups_p(grid(*[broken] * 2, *[opened] * 8), grid(*[kept] * 9, opened), 0) == 1.0


def drawn(means: list[float], size: int) -> float:
    """The p-value by the distance of the means of two groups, from many random choices of the first."""
    rng, cases = np.random.default_rng(1), np.array(means)
    distance = np.array([abs(rng.permutation(cases)[:size].mean() - cases.mean()) for _ in range(4000)])
    return float((distance >= abs(cases[:size].mean() - cases.mean()) - 1e-12).mean())


@pytest.mark.parametrize(("fewest", "most", "apart"), [(5, 16, 0.03), (25, 60, 0.1)])
def test_very_many_numbers_of_repeats_are_rounded_to_what_can_be_counted(fewest: int, most: int, apart: float) -> None:
    rng = np.random.default_rng(2)
    asked = rng.integers(fewest, most + 1, 400)
    broken = rng.binomial(asked, 0.3)
    cases: list[Counts] = [(int(b), int(n - b), 0) for b, n in zip(broken, asked, strict=True)]
    p = groups_p(grid(*cases[:200]), grid(*cases[200:]), 0)
    assert p == pytest.approx(drawn([b / n for b, n in zip(broken, asked, strict=True)], 200), abs=apart)
