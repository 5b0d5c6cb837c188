"""Agreement of raters: statsmodels, published examples, brute force."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.stats import clopper_pearson, clustered_agreement
from promptpex.stats.agreement import FEW, cohens_kappa
from tests.stats.rated import singles
from tests.stats.references import covers

np = pytest.importorskip("numpy")
rater = pytest.importorskip("statsmodels.stats.inter_rater")
squares = st.integers(2, 3).flatmap(
    lambda m: st.lists(st.lists(st.integers(0, 12), min_size=m, max_size=m), min_size=m, max_size=m)
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(deadline=None)
@given(squares)
def test_kappa_is_statsmodels(table: list[list[int]]) -> None:
    got, counts = cohens_kappa(table), np.array(table)
    if got.estimate is None:
        shares = (counts.sum(axis=0) > 0) | (counts.sum(axis=1) > 0)
        assert shares.sum() <= 1
        return
    theirs = rater.cohens_kappa(counts)
    assert got.estimate == pytest.approx(float(theirs.kappa), abs=1e-12)
    if got.method == "fleiss-cohen-everitt":
        assert got.low == pytest.approx(max(-1.0, float(theirs.kappa_low)), abs=1e-6)
        assert got.high == pytest.approx(min(1.0, float(theirs.kappa_upp)), abs=1e-6)
    assert got.method != "few-items" or got.n <= FEW
    assert got.width > 0
    assert got.n == counts.sum()


def test_the_published_example() -> None:
    """Fleiss, Cohen and Everitt 1969, Table 1 (as reproduced in Fleiss, Statistical Methods, table 13.1)."""
    table = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]
    got = cohens_kappa(table)
    assert got.estimate == pytest.approx(0.676, abs=5e-4)
    assert (got.high - got.low) / 2 / 1.959964 == pytest.approx(0.088, abs=5e-4)


def test_agreement_tells_the_base_rates_beside_kappa() -> None:
    """Feinstein and Cicchetti 1990: 85% agreement both times, kappa .70 and .32 by prevalence alone."""
    balanced, skewed = (clustered_agreement(singles(table)) for table in ([[45, 6], [9, 40]], [[5, 5], [10, 80]]))
    assert balanced.raw.estimate == skewed.raw.estimate == 0.85
    assert balanced.kappa.estimate == pytest.approx(0.70, abs=0.005)
    assert skewed.kappa.estimate == pytest.approx(0.32, abs=0.005)
    assert skewed.adjusted == pytest.approx(0.7)
    assert (skewed.n, skewed.table) == (100, ((5, 5), (10, 80)))
    assert skewed.base_first == pytest.approx((0.1, 0.9))
    assert skewed.base_second == pytest.approx((0.15, 0.85))
    assert skewed.raw == clopper_pearson(85, 100)


def test_kappa_is_none_where_it_means_nothing() -> None:
    for table in ([[0, 0], [0, 0]], [[9, 0], [0, 0]]):
        got = clustered_agreement(singles(table))
        assert got.kappa.estimate is None
        assert (got.kappa.low, got.kappa.high) == (-1, 1)
    nothing = clustered_agreement(singles([[0, 0], [0, 0]]))
    assert (nothing.n, nothing.raw.estimate, nothing.adjusted, nothing.base_first) == (0, None, None, ())


def test_perfect_agreement_on_few_items_is_not_certainty() -> None:
    got = cohens_kappa([[4, 0], [0, 4]])
    assert got.estimate == got.high == 1
    assert got.low < 0.6
    again = clustered_agreement([[[2, 0], [0, 0]]] * 2 + [[[0, 0], [0, 2]]] * 2, seed=1).kappa
    assert again.method == "clusters-as-items"
    assert again.low < got.low


def test_a_rater_with_one_answer_is_kappa_zero_but_not_for_certain() -> None:
    got = cohens_kappa([[2, 0], [3, 0]])
    assert got.estimate == pytest.approx(0)
    assert got.low < -0.1
    assert got.high > 0.1


@settings(deadline=None)
@given(squares)
def test_swapping_raters_changes_nothing(table: list[list[int]]) -> None:
    one, other = clustered_agreement(singles(table)), clustered_agreement(singles(np.array(table).T.tolist()))
    assert one.raw == other.raw
    assert one.kappa.low == pytest.approx(other.kappa.low)
    assert one.base_first == other.base_second


def test_kappa_interval_covers() -> None:
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(500):
        truth = rng.random(120) < 0.4
        first, second = (np.where(rng.random(120) < 0.85, truth, ~truth) for _ in range(2))
        table = np.bincount(2 * first + second, minlength=4).reshape(2, 2)
        covered += covers(cohens_kappa(table.tolist()), kappa_in_the_limit())
    assert covered / 500 > 0.92


def kappa_in_the_limit() -> float:
    yes = 0.4 * 0.85 + 0.6 * 0.15
    observed = 0.85**2 + 0.15**2
    chance = yes**2 + (1 - yes) ** 2
    return (observed - chance) / (1 - chance)


@pytest.mark.parametrize("table", [[[0, 1], [0, 0]], [[0, 2], [0, 0]], [[1, 1], [0, 0]], [[1, 0], [0, 1]]])
def test_of_one_or_two_items_nothing_can_be_said(table: list[list[int]]) -> None:
    got = cohens_kappa(table)
    assert (got.low, got.high) == (-1, 1)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize(
    "shares", [(0.045, 0.005, 0.0285, 0.9215), (0.45, 0.05, 0.05, 0.45), (0.09, 0.01, 0.27, 0.63), (0.3, 0.2, 0.2, 0.3)]
)
def test_kappa_of_few_items_covers_by_all_tables_there_are(n: int, shares: tuple[float, ...]) -> None:
    observed, rows, columns = shares[0] + shares[3], shares[0] + shares[1], shares[0] + shares[2]
    chance = rows * columns + (1 - rows) * (1 - columns)
    kappa, covered = (observed - chance) / (1 - chance), 0.0
    for a, b, c in itertools.product(range(n + 1), repeat=3):
        d = n - a - b - c
        if d >= 0 and covers(cohens_kappa([[a, b], [c, d]]), kappa):
            ways = math.factorial(n) / math.prod(math.factorial(cell) for cell in (a, b, c, d))
            covered += ways * math.prod(share**cell for share, cell in zip(shares, (a, b, c, d), strict=True))
    assert covered >= 0.93


def test_with_many_items_nothing_is_added() -> None:
    few, many = cohens_kappa([[18, 3], [3, 16]]), cohens_kappa([[18, 3], [3, 17]])
    assert many.method == "fleiss-cohen-everitt"
    assert few.method == "few-items"
    assert few.width == pytest.approx(many.width, rel=0.15)
