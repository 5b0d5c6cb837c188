"""Agreement on items in clusters: the same figures as item by item, and intervals that know of the clusters."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats import clopper_pearson, clustered_agreement, korn_graubard
from promptpex.stats.agreement import cohens_kappa
from promptpex.stats.clustered_agreement import BOOTSTRAP_UP_TO, kappa_bootstrap, kappa_delta
from tests.stats.rated import singles
from tests.stats.references import covers

np = pytest.importorskip("numpy")

cells = st.tuples(*[st.integers(0, 4)] * 4).map(lambda c: [[c[0], c[1]], [c[2], c[3]]])


@settings(deadline=None, max_examples=60)
@given(st.lists(cells, min_size=1, max_size=12))
def test_the_figures_are_those_of_the_items(tables: list[list[list[int]]]) -> None:
    items = [
        (i, j) for table in tables for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)
    ]
    got, n, agreed = clustered_agreement(tables, draws=50), len(items), sum(i == j for i, j in items)
    assert (got.n, got.table) == (n, tuple(tuple(items.count((i, j)) for j in range(2)) for i in range(2)))
    if not n:
        return
    assert got.raw.estimate == pytest.approx(agreed / n)
    assert got.adjusted == pytest.approx(2 * agreed / n - 1)
    chance = sum(sum(a == x for a, _ in items) * sum(b == x for _, b in items) for x in range(2)) / n**2
    if chance == 1:
        assert got.kappa.estimate is None
    else:
        assert got.kappa.estimate == pytest.approx((agreed / n - chance) / (1 - chance))


@settings(deadline=None, max_examples=60)
@given(st.lists(cells, min_size=1, max_size=12))
def test_only_items_that_hang_together_need_an_interval_by_cluster(tables: list[list[list[int]]]) -> None:
    got = clustered_agreement(tables, draws=50)
    if all(sum(map(sum, table)) <= 1 for table in tables):
        assert got.raw == clopper_pearson(sum(table[i][i] for table in tables for i in range(2)), got.n)
        assert got.kappa == cohens_kappa(got.table)
    else:
        assert got.raw.method == "korn-graubard"
        assert got.kappa == kappa_bootstrap(tables, seed=0, draws=50)


def test_raw_agreement_is_by_cluster() -> None:
    tables = [[[2, 1], [0, 2]], [[0, 0], [0, 5]], [[1, 0], [3, 1]]] * 10
    assert clustered_agreement(tables).raw == korn_graubard([4, 5, 2] * 10, [5] * 30)
    assert clustered_agreement(np.zeros((0, 2, 2))).kappa.estimate is None
    for wrong in ([], [[1, 2]], [[[1, 2, 3], [4, 5, 6]]]):
        with pytest.raises(InputError, match="labels"):
            clustered_agreement(wrong)


def test_the_bootstrap_of_single_items_is_near_the_large_sample_interval() -> None:
    items = singles([[65, 15], [10, 60]])
    large, got = cohens_kappa([[65, 15], [10, 60]]), kappa_bootstrap(items, seed=2, draws=5_000)
    assert got.estimate == large.estimate
    assert (got.low, got.high) == pytest.approx((large.low, large.high), abs=0.03)
    tight = kappa_bootstrap(4 * items, seed=2, draws=5_000)
    assert tight.width == pytest.approx(got.width, rel=0.1), "four copies of each item in its cluster tell no more"
    assert kappa_bootstrap(items, seed=2, draws=5_000) == got
    assert kappa_bootstrap(items[::-1], seed=2, draws=5_000) == got
    assert kappa_bootstrap([[[1, 0], [0, 0]]], seed=1, draws=50).estimate is None


@pytest.mark.parametrize("table", [[[60, 10], [15, 65]], [[75, 1, 4], [5, 4, 1], [0, 0, 10]]])
def test_of_single_items_the_delta_method_is_that_of_fleiss_cohen_and_everitt(table: list[list[int]]) -> None:
    items = singles(table)
    known, got = cohens_kappa(table), kappa_delta(items)
    assert known.estimate is not None
    assert got.estimate == known.estimate
    scale = 1 - known.estimate**2
    assert (math.atanh(got.high) - math.atanh(got.low)) * scale == pytest.approx(known.width, rel=0.02)
    doubled = kappa_delta(2 * items)
    assert (doubled.low, doubled.high) == pytest.approx((got.low, got.high))


def test_perfect_agreement_in_many_clusters_is_not_certainty() -> None:
    tables = [[[2, 0], [0, 0]], [[0, 0], [0, 2]]] * 40
    got = kappa_delta(tables)
    assert (got.estimate, got.high, got.method) == (1, 1, "clusters-as-items")
    assert got.low < 0.95
    assert kappa_delta([[[0, 0], [0, 3]]] * 3).estimate is None
    assert kappa_delta([*tables, [[0, 0], [0, 0]]]) == got


@pytest.mark.parametrize(("per", "prevalence"), [(5, 0.2), (15, 0.5)])
def test_kappa_covers_beyond_the_bootstrap(per: int, prevalence: float) -> None:
    rng = np.random.default_rng(2)
    clusters, rounds = BOOTSTRAP_UP_TO + 100, 150
    sens, spec = 0.6, 0.9
    positive_rate = prevalence * sens + (1 - prevalence) * (1 - spec)
    observed = prevalence * sens + (1 - prevalence) * spec
    chance = prevalence * positive_rate + (1 - prevalence) * (1 - positive_rate)
    kappa = (observed - chance) / (1 - chance)
    covered = plain = 0
    for _ in range(rounds):
        tables = drawn(rng, clusters, per, (prevalence, sens, 1 - spec))
        got = clustered_agreement(tables).kappa
        assert got.method == "cluster-delta"
        covered += covers(got, kappa)
        plain += covers(cohens_kappa(tables.sum(axis=0).tolist()), kappa)
    assert covered / rounds >= 0.91
    assert plain < covered - 5


def drawn(rng: Any, clusters: int, per: int, rates: tuple[float, float, float]) -> Any:
    """Clusters whose prevalence, sensitivity and false alarms vary, each with a correlation of .3 between items."""
    prevalence, sens, alarm = (rng.beta(rate * 0.7 / 0.3, (1 - rate) * 0.7 / 0.3, (clusters, 1)) for rate in rates)
    broken = rng.random((clusters, per)) < prevalence
    failed = rng.random((clusters, per)) < np.where(broken, sens, alarm)
    cell = 4 * np.arange(clusters)[:, None] + 2 * ~broken + ~failed
    return np.bincount(cell.ravel(), minlength=4 * clusters).reshape(-1, 2, 2)


def test_kappa_of_few_clusters_covers() -> None:
    rng = np.random.default_rng(6)
    prevalence, sens, alarm, rounds = 0.3, 0.9, 0.1, 150
    observed = prevalence * sens + (1 - prevalence) * (1 - alarm)
    positive = prevalence * sens + (1 - prevalence) * alarm
    chance = prevalence * positive + (1 - prevalence) * (1 - positive)
    kappa = (observed - chance) / (1 - chance)
    got = [clustered_agreement(drawn(rng, 5, 4, (prevalence, sens, alarm)), draws=200).kappa for _ in range(rounds)]
    assert sum(covers(one, kappa) for one in got) / rounds >= 0.93


def test_of_one_cluster_nothing_can_be_said() -> None:
    for table in ([[9, 1], [2, 8]], [[9, 0], [0, 8]]):
        got = clustered_agreement([table]).kappa
        assert (got.low, got.high) == (-1, 1)
