"""Agreement on items in clusters: the same figures as item by item, and intervals that know of the clusters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats import clopper_pearson, clustered_agreement, korn_graubard
from promptpex.stats.agreement import cohens_kappa
from promptpex.stats.clustered_agreement import clustered_kappa
from tests.stats.rated import singles
from tests.stats.references import covers

np = pytest.importorskip("numpy")

cells = st.tuples(*[st.integers(0, 4)] * 4).map(lambda c: [[c[0], c[1]], [c[2], c[3]]])


@settings(deadline=None, max_examples=30)
@given(st.lists(cells, min_size=1, max_size=12))
def test_the_figures_are_those_of_the_items(tables: list[list[list[int]]]) -> None:
    items = [
        (i, j) for table in tables for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)
    ]
    got, n, agreed = clustered_agreement(tables), len(items), sum(i == j for i, j in items)
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


@settings(deadline=None, max_examples=30)
@given(st.lists(cells, min_size=1, max_size=12))
def test_only_items_that_hang_together_need_an_interval_by_cluster(tables: list[list[list[int]]]) -> None:
    got = clustered_agreement(tables)
    if all(sum(map(sum, table)) <= 1 for table in tables):
        assert got.raw == clopper_pearson(sum(table[i][i] for table in tables for i in range(2)), got.n)
        assert got.kappa == cohens_kappa(got.table)
    else:
        assert got.raw.method == "korn-graubard"
        assert got.kappa == clustered_kappa(tables)


def test_raw_agreement_is_by_cluster() -> None:
    tables = [[[2, 1], [0, 2]], [[0, 0], [0, 5]], [[1, 0], [3, 1]]] * 10
    assert clustered_agreement(tables).raw == korn_graubard([4, 5, 2] * 10, [5] * 30)
    assert clustered_agreement(np.zeros((0, 2, 2))).kappa.estimate is None
    for wrong in ([], [[1, 2]], [[[1, 2, 3], [4, 5, 6]]]):
        with pytest.raises(InputError, match="labels"):
            clustered_agreement(wrong)


@pytest.mark.parametrize("table", [[[60, 10], [15, 65]], [[75, 1, 4], [5, 4, 1], [0, 0, 10]], [[4, 0], [0, 3]]])
def test_items_of_their_own_and_copies_of_them_have_the_interval_of_items(table: list[list[int]]) -> None:
    items, known = singles(table), cohens_kappa(table)
    got, copied, again = clustered_kappa(items), clustered_kappa(4 * items), clustered_kappa(items[::-1])
    assert (got.estimate, got.low, got.high) == (known.estimate, known.low, known.high)
    assert (copied.low, copied.high) == pytest.approx((got.low, got.high)), "copies in one cluster tell no more"
    assert again == got
    assert clustered_kappa([[[1, 0], [0, 0]]]).estimate is None


def test_correlation_widens_the_interval_and_opposites_do_not_narrow_it() -> None:
    alike = [[[3, 0], [0, 0]], [[0, 0], [0, 3]], [[0, 3], [0, 0]]] * 10
    mixed = [[[1, 1], [0, 1]]] * 30
    table = np.sum(alike, axis=0).tolist()
    assert table == np.sum(mixed, axis=0).tolist()
    assert clustered_kappa(alike).width > 1.5 * cohens_kappa(table).width
    assert clustered_kappa(mixed).width == pytest.approx(cohens_kappa(table).width, rel=0.1)


def test_perfect_agreement_in_many_clusters_is_not_certainty() -> None:
    tables = [[[2, 0], [0, 0]], [[0, 0], [0, 2]]] * 40
    got = clustered_kappa(tables)
    assert (got.estimate, got.high) == (1, 1)
    assert got.low < 0.95
    assert clustered_kappa([[[0, 0], [0, 3]]] * 3).estimate is None
    assert clustered_kappa([*tables, [[0, 0], [0, 0]]]) == got


@pytest.mark.parametrize(("per", "prevalence"), [(5, 0.2), (15, 0.5)])
def test_kappa_of_many_clusters_covers(per: int, prevalence: float) -> None:
    rng = np.random.default_rng(2)
    clusters, rounds = 2_100, 150
    sens, spec = 0.6, 0.9
    positive_rate = prevalence * sens + (1 - prevalence) * (1 - spec)
    observed = prevalence * sens + (1 - prevalence) * spec
    chance = prevalence * positive_rate + (1 - prevalence) * (1 - positive_rate)
    kappa = (observed - chance) / (1 - chance)
    covered = plain = 0
    for _ in range(rounds):
        tables = drawn(rng, clusters, per, (prevalence, sens, 1 - spec))
        got = clustered_agreement(tables).kappa
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


@pytest.mark.parametrize(
    ("clusters", "rates"),
    [(5, (0.3, 0.9, 0.1)), (20, (0.1, 0.5, 0.05)), (60, (0.05, 0.7, 0.03)), (60, (0.5, 0.9, 0.1))],
)
def test_kappa_of_clusters_covers(clusters: int, rates: tuple[float, float, float]) -> None:
    rng, rounds = np.random.default_rng(6), 400
    prevalence, sens, alarm = rates
    observed = prevalence * sens + (1 - prevalence) * (1 - alarm)
    positive = prevalence * sens + (1 - prevalence) * alarm
    chance = prevalence * positive + (1 - prevalence) * (1 - positive)
    kappa = (observed - chance) / (1 - chance)
    got = [clustered_kappa(drawn(rng, clusters, 5, rates)) for _ in range(rounds)]
    assert sum(covers(one, kappa) for one in got) / rounds >= 0.93


def test_of_one_cluster_nothing_can_be_said() -> None:
    for table in ([[9, 1], [2, 8]], [[9, 0], [0, 8]]):
        got = clustered_agreement([table]).kappa
        assert (got.low, got.high) == (-1, 1)
