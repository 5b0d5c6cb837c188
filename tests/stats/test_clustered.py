"""Cluster-robust intervals and the clustered bootstrap: statsmodels as oracle, coverage by simulation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.errors import InputError
from promptpex.stats.bootstrap import resampled_bounds
from promptpex.stats.clustered import cluster_interval, cluster_sums
from promptpex.stats.intervals import wilson
from promptpex.stats.special import t_quantile, two_sided_z

np = pytest.importorskip("numpy")

columns = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=60)


@settings(deadline=None)
@given(columns)
def test_ends_stay_within_bounds_around_the_mean_and_never_meet(rows: list[tuple[bool, int]]) -> None:
    values, clusters = [float(v) for v, _ in rows], [c for _, c in rows]
    got = cluster_interval(values, clusters)
    assert got.estimate == pytest.approx(sum(values) / len(values))
    assert got.estimate is not None
    assert 0 <= got.low <= got.estimate + 1e-12
    assert got.estimate - 1e-12 <= got.high <= 1
    assert got.width > 0
    assert got.width >= wilson(int(sum(values)), len(values)).width - 1e-9


@settings(deadline=None)
@given(columns)
def test_exchanging_pass_and_fail_mirrors_the_interval(rows: list[tuple[bool, int]]) -> None:
    clusters = [c for _, c in rows]
    got = cluster_interval([float(v) for v, _ in rows], clusters)
    mirror = cluster_interval([float(not v) for v, _ in rows], clusters)
    assert (got.low, got.high) == pytest.approx((1 - mirror.high, 1 - mirror.low), abs=1e-9)


def test_equal_values_count_as_one_observation_per_cluster() -> None:
    got = cluster_interval([0.0] * 30, [i // 3 for i in range(30)])
    plain = wilson(0, 10)
    assert (got.low, got.high) == pytest.approx((plain.low, plain.high))
    assert got.n == 30


def test_one_cluster_is_one_observation() -> None:
    got = cluster_interval([1.0, 1.0, 0.0, 1.0], ["a"] * 4)
    assert got.width > 0.8


def test_the_effective_size_is_that_of_the_sandwich_variance() -> None:
    sandwich = pytest.importorskip("statsmodels.stats.sandwich_covariance")
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(12), 5)
    values = (rng.random(60) < np.repeat(rng.beta(1, 2, 12), 5)).astype(float)
    middle = sandwich.S_crosssection((values - values.mean())[:, None], clusters)
    variance = float(middle[0, 0]) / 60**2 * 12 / 11
    share = values.mean()
    size = share * (1 - share) / variance * (two_sided_z(0.95) / t_quantile(0.975, 11)) ** 2
    got = cluster_interval(values.tolist(), clusters.tolist())
    z2 = two_sided_z(0.95) ** 2
    assert got.low + got.high == pytest.approx(2 * (share + z2 / 2 / size) / (1 + z2 / size))


def test_values_that_are_differences_use_their_bounds() -> None:
    got = cluster_interval([-1.0, 0.0, 1.0, 0.0, 0.0, 1.0], list("aabbcc"), bounds=(-1.0, 1.0))
    assert got.estimate == pytest.approx(1 / 6)
    assert -1 <= got.low < 0 < got.high <= 1
    with pytest.raises(InputError):
        cluster_interval([-1.0], ["a"])


def test_nothing_leaves_everything_open() -> None:
    got = cluster_interval([], [], bounds=(-1.0, 1.0))
    assert (got.estimate, got.low, got.high) == (None, -1, 1)
    with pytest.raises(InputError):
        cluster_sums([1.0], [])


@pytest.mark.parametrize(("k", "size", "share", "spread"), [(10, 3, 0.2, 1.0), (20, 3, 0.1, 0.5), (40, 5, 0.3, 2.0)])
def test_coverage_where_the_plain_interval_fails(k: int, size: int, share: float, spread: float) -> None:
    rng = np.random.default_rng(11)
    covered = plain = 0
    rounds = 400
    clusters = np.repeat(np.arange(k), size).tolist()
    for _ in range(rounds):
        rates = rng.beta(share * spread, (1 - share) * spread, size=k)
        values = (rng.random((k, size)) < rates[:, None]).astype(float).ravel().tolist()
        covered += cluster_interval(values, clusters).contains(share)
        plain += wilson(int(sum(values)), k * size).contains(share)
    assert covered / rounds > 0.91
    assert plain / rounds < 0.9


def test_bootstrap_ends_are_those_of_drawing_clusters_by_hand() -> None:
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, 5, 12), np.full(12, 4)])

    def bounds(rows: Any, seed: int) -> tuple[float, float]:
        return resampled_bounds(rows, ratio, seed=seed, confidence=0.95, draws=20_000)

    drawn = rng.integers(12, size=(20_000, 12))
    by_hand = np.sort(rows[drawn, 0].sum(axis=1) / 48)
    got = bounds(rows, 1)
    assert got == pytest.approx((by_hand[500], by_hand[19_499]), abs=0.022)
    assert got == bounds(rows[::-1], 1)
    assert bounds([(1.0, 2.0)] * 9, 1) == (0.5, 0.5)


def ratio(sums: Any) -> Any:
    return sums[:, 0] / sums[:, 1]


def test_large_tables_are_drawn_in_blocks() -> None:
    rows = [(float(i % 2), 1.0, float(i)) for i in range(3000)]
    low, high = resampled_bounds(rows, ratio, seed=1, confidence=0.95, draws=2500)
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / 3000**0.5, rel=0.1)
