"""Agreement on items in clusters: the same figures as item by item, and intervals that know of the clusters."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.errors import InputError
from promptpex.stats import agreement, clustered_agreement, kappa_bootstrap, korn_graubard
from promptpex.stats.agreement import cohens_kappa
from promptpex.stats.clustered_agreement import BOOTSTRAP_UP_TO, kappa_delta

np = pytest.importorskip("numpy")

cells = st.tuples(*[st.integers(0, 4)] * 4).map(lambda c: [[c[0], c[1]], [c[2], c[3]]])
LABELS = ("fail", "pass")


def pairs_of(tables: list[list[list[int]]]) -> tuple[list[tuple[str, str]], list[int]]:
    pairs, clusters = [], []
    for number, table in enumerate(tables):
        for i, row in enumerate(table):
            for j, count in enumerate(row):
                pairs += [(LABELS[i], LABELS[j])] * count
                clusters += [number] * count
    return pairs, clusters


@settings(deadline=None, max_examples=60)
@given(st.lists(cells, min_size=1, max_size=12))
def test_the_figures_are_those_of_the_items(tables: list[list[list[int]]]) -> None:
    pairs, clusters = pairs_of(tables)
    got, plain = clustered_agreement(tables, LABELS, draws=50), agreement(pairs, labels=LABELS)
    assert (got.n, got.table, got.adjusted, got.chance) == (plain.n, plain.table, plain.adjusted, plain.chance)
    assert got.kappa.estimate == plain.kappa.estimate
    if max((clusters.count(c) for c in set(clusters)), default=0) <= 1:
        assert got == plain
    elif got.kappa.estimate is not None:
        assert got.kappa == kappa_bootstrap(pairs, clusters, seed=0, draws=50)


def test_raw_agreement_is_by_cluster() -> None:
    tables = [[[2, 1], [0, 2]], [[0, 0], [0, 5]], [[1, 0], [3, 1]]] * 10
    assert clustered_agreement(tables, LABELS).raw == korn_graubard([4, 5, 2] * 10, [5] * 30)
    with pytest.raises(InputError):
        clustered_agreement(tables, ("pass",))
    assert clustered_agreement(np.zeros((0, 2, 2)), LABELS).kappa.estimate is None


@pytest.mark.parametrize("table", [[[60, 10], [15, 65]], [[75, 1, 4], [5, 4, 1], [0, 0, 10]]])
def test_of_single_items_the_delta_method_is_that_of_fleiss_cohen_and_everitt(table: list[list[int]]) -> None:
    m = len(table)
    singles = [np.eye(m * m)[i * m + j].reshape(m, m) for i in range(m) for j in range(m) for _ in range(table[i][j])]
    known, got = cohens_kappa(table), kappa_delta(singles)
    assert known.estimate is not None
    assert got.estimate == known.estimate
    scale = 1 - known.estimate**2
    assert (math.atanh(got.high) - math.atanh(got.low)) * scale == pytest.approx(known.width, rel=0.02)
    doubled = kappa_delta([2 * single for single in singles])
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
    said = prevalence * sens + (1 - prevalence) * (1 - spec)
    observed = prevalence * sens + (1 - prevalence) * spec
    chance = prevalence * said + (1 - prevalence) * (1 - said)
    kappa = (observed - chance) / (1 - chance)
    covered = plain = 0
    for _ in range(rounds):
        tables = drawn(rng, clusters, per, (prevalence, sens, 1 - spec))
        got = clustered_agreement(tables, LABELS).kappa
        assert got.method == "cluster-delta"
        covered += got.contains(kappa)
        plain += cohens_kappa(tables.sum(axis=0).tolist()).contains(kappa)
    assert covered / rounds >= 0.91
    assert plain < covered - 5


def drawn(rng: Any, clusters: int, per: int, rates: tuple[float, float, float]) -> Any:
    """Clusters whose prevalence, sensitivity and false alarms vary, each with a correlation of .3 between items."""
    prevalence, sens, alarm = (rng.beta(rate * 0.7 / 0.3, (1 - rate) * 0.7 / 0.3, (clusters, 1)) for rate in rates)
    broken = rng.random((clusters, per)) < prevalence
    failed = rng.random((clusters, per)) < np.where(broken, sens, alarm)
    cell = 4 * np.arange(clusters)[:, None] + 2 * ~broken + ~failed
    return np.bincount(cell.ravel(), minlength=4 * clusters).reshape(-1, 2, 2)
