"""The share of a model and its interval: the mean over cases of the mean over repeats, and what it is worth."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.stats import clopper_pearson, repeat_correlation, share, share_interval
from promptpex.stats.proportions import effective_cases
from tests.stats.grids import drawn, grid, grid_of
from tests.stats.references import covers

SPREAD = st.lists(st.integers(0, 3), min_size=4, max_size=40)


def test_a_case_counts_by_the_mean_of_its_repeats() -> None:
    made = grid_of({"m": {"often": (1, 9, 0), "once": (1, 0, 0), "never": (0, 0, 3)}})
    assert share(made, 0) == pytest.approx((0.1 + 1.0) / 2)
    assert share(made, 0, "best") == pytest.approx((0.1 + 1.0 + 0.0) / 3)
    assert share(made, 0, "worst") == pytest.approx((0.1 + 1.0 + 1.0) / 3)


def test_asked_once_the_interval_is_clopper_and_pearsons() -> None:
    made = grid([[1] * 7 + [0] * 53])
    interval = share_interval(made, 0)
    plain = clopper_pearson(7, 60)
    assert (interval.low, interval.high) == pytest.approx((plain.low, plain.high))
    assert (interval.method, interval.n) == ("exact", 60)


@settings(deadline=None)
@given(SPREAD)
def test_upper_ends_rise_with_the_failures(counts: list[int]) -> None:
    """Two models of one report on the same cases: the one that breaks less never has the higher end."""
    other = [min(3, n + (k % 3 == 0)) for k, n in enumerate(counts)]
    made = grid([counts, other, [0] * len(counts)], repeats=3)
    ends = [share_interval(made, m) for m in range(3)]
    order = sorted(ends, key=lambda one: one.estimate or 0.0)
    assert all(less.high <= more.high + 1e-12 for less, more in itertools.pairwise(order))


@pytest.mark.parametrize("cases", [96, 304])
def test_none_broken_has_the_least_upper_end(cases: int) -> None:
    made = grid([[1] * k + [0] * (cases - k) for k in range(6)])
    ends = [share_interval(made, m).high for m in range(6)]
    assert ends == sorted(ends)
    assert len(set(ends)) == 6


def test_repeats_that_are_all_alike_add_nothing_and_independent_ones_nearly_count_in_full() -> None:
    rng = np.random.default_rng(3)
    alike = grid([rng.integers(0, 2, 200) * 4], repeats=4)
    apart = grid([rng.binomial(4, 0.5, 200)], repeats=4)
    assert repeat_correlation(alike, 0) == pytest.approx(1.0)
    assert repeat_correlation(apart, 0) < 0.15
    sizes = apart.sizes("seen")[0]
    assert effective_cases(apart, sizes, 1.0, at=0.3) == pytest.approx(200)
    assert effective_cases(apart, sizes, 0.0, at=0.3) == pytest.approx(800)


def test_an_interval_is_the_same_whoever_is_beside() -> None:
    rng = np.random.default_rng(4)
    coins = rng.binomial(4, 0.5, 200)
    beside = grid([coins, [0] * 200], repeats=4)
    assert share_interval(beside, 0) == share_interval(grid([coins], repeats=4), 0)
    assert repeat_correlation(beside, 1) == 1.0


def test_weights_make_cases_count_several_times_and_none_leave_them_out() -> None:
    counts = {"m": {"x": (1, 0, 0), "y": (0, 1, 0), "z": (1, 0, 0)}}
    weighed = grid_of(counts, weights={"x": 3, "z": 0})
    assert share(weighed, 0) == 0.75
    assert effective_cases(weighed, weighed.sizes("seen")[0], 1.0, at=0.75) == pytest.approx(3 / 2)


@pytest.mark.parametrize("at", [0.0, 0.01, 0.2, 0.5, 0.9])
def test_weighted_cases_are_worth_what_the_worst_spread_of_the_share_leaves(at: float) -> None:
    """Two weights: all ways to come to the share are tried."""
    made = replace(grid([[0] * 50]), weights=np.array([7] * 10 + [2] * 40))
    heavy = np.linspace(0, 1, 20_001)
    light = (150 * at - 70 * heavy) / 80
    inside = (light >= 0) & (light <= 1)
    variance = (490 * heavy * (1 - heavy) + 160 * light * (1 - light))[inside].max() / 150**2
    worth = effective_cases(made, made.sizes("seen")[0], 1.0, at=at)
    assert worth == pytest.approx(at * (1 - at) / variance if at else 150 / 7, rel=1e-3)
    even = replace(made, weights=np.array([7] * 50))
    assert effective_cases(even, even.sizes("seen")[0], 1.0, at=at) == pytest.approx(50)


def test_the_interval_covers_where_few_heavy_cases_alone_break() -> None:
    rng, rounds, covered = np.random.default_rng(11), 400, 0
    weights = np.array([10] * 10 + [1] * 90)
    for _ in range(rounds):
        broken = np.concatenate([rng.binomial(1, 0.5, 10), np.zeros(90, dtype=np.int64)])
        made = replace(grid([broken]), weights=weights)
        covered += covers(share_interval(made, 0), 50 / 190)
    assert covered / rounds > 0.95


def test_with_weights_too_the_upper_end_rises_with_the_share() -> None:
    rng, upper_ends = np.random.default_rng(12), dict[float, float]()
    weights = np.array([9] * 5 + [3] * 15 + [1] * 40)
    for rate in np.linspace(0, 1, 150):
        broken = rng.binomial(1, rate * rng.random(), 60)
        one = share_interval(replace(grid([broken]), weights=weights), 0)
        upper_ends[one.estimate or 0.0] = one.high
    ends = [upper_ends[estimate] for estimate in sorted(upper_ends)]
    assert len(ends) > 50
    assert ends == sorted(ends)


@pytest.mark.parametrize(("repeats", "alike"), [(1, 0.0), (3, 0.3), (3, 0.9)])
@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_the_interval_covers(repeats: int, alike: float, rate: float) -> None:
    rng, rounds = np.random.default_rng(5), 300
    covered = 0
    for _ in range(rounds):
        made = drawn(rng, [rate, 0.1, 0.4], 60, repeats=repeats, alike=alike)
        covered += covers(share_interval(made, 0), rate)
    assert covered / rounds > 0.93
