"""Agreement of raters: statsmodels, published examples, brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.stats import clopper_pearson, clustered_agreement
from promptpex.stats.agreement import cohens_kappa
from tests.foreign import Foreign
from tests.stats.rated import singles
from tests.stats.references import covers

np = pytest.importorskip("numpy")
rater = Foreign("statsmodels.stats.inter_rater")
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
    low, high = float(theirs.kappa_low), float(theirs.kappa_upp)
    assert math.isnan(low) or got.low <= max(-1.0, low) + 1e-6
    assert math.isnan(high) or got.high >= min(1.0, high) - 1e-6
    assert got.width > 0
    assert -1 <= got.low <= got.estimate <= got.high <= 1
    assert got.n == counts.sum()


def test_the_published_example() -> None:
    """Fleiss, Cohen and Everitt 1969, Table 1 (as reproduced in Fleiss, Statistical Methods, table 13.1)."""
    table = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]
    got, hundredfold = (cohens_kappa([[times * cell for cell in row] for row in table]) for times in (1, 100))
    assert got.estimate == hundredfold.estimate == pytest.approx(0.676, abs=5e-4)
    # What four items more do to 10,000 is nothing; the standard error is a tenth of that of 100.
    assert 10 * hundredfold.width / 2 / 1.959964 == pytest.approx(0.088, abs=1e-3)
    assert 0.088 < got.width / 2 / 1.959964 < 0.097


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
    again = clustered_agreement([[[2, 0], [0, 0]]] * 2 + [[[0, 0], [0, 2]]] * 2).kappa
    assert again.method == "smoothed-by-cluster"
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


@dataclass(frozen=True)
class World:
    """How often two raters find something, and their kappa in the limit."""

    first: float
    second: float
    kappa: float

    @property
    def shares(self) -> tuple[float, float, float, float]:
        """Of the four cells, row by row."""
        chance = self.first * self.second + (1 - self.first) * (1 - self.second)
        both = (chance + self.kappa * (1 - chance) - 1 + self.first + self.second) / 2
        return both, self.first - both, self.second - both, 1 - self.first - self.second + both


SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
WORLDS = [
    world
    for first, second, tenths in itertools.product(SHARES, SHARES, range(10))
    if min((world := World(first, second, tenths / 10)).shares) >= 0
]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12, 20, 41])
def test_kappa_covers_by_all_tables_there_are(n: int) -> None:
    tables = np.array(
        [(a, b, c, n - a - b - c) for a, b, c in itertools.product(range(n + 1), repeat=3) if a + b + c <= n]
    )
    logs = math.lgamma(n + 1) - np.vectorize(math.lgamma)(tables + 1).sum(axis=1)
    made = [cohens_kappa([[a, b], [c, d]]) for a, b, c, d in tables.tolist()]
    low, high = (np.array([getattr(one, end) for one in made]) for end in ("low", "high"))
    for world in WORLDS:
        shares = np.array(world.shares)
        possible = (tables[:, shares == 0] == 0).all(axis=1)
        chances = np.exp(logs + tables @ np.log(np.where(shares > 0, shares, 1.0))) * possible
        assert chances.sum() == pytest.approx(1)
        assert chances[(low - 1e-9 <= world.kappa) & (world.kappa <= high + 1e-9)].sum() >= 0.92, world


@pytest.mark.parametrize("n", [60, 100, 300])
def test_kappa_of_rare_labels_covers_also_with_many_items(n: int) -> None:
    rng = np.random.default_rng(n)
    for world in (World(0.05, 0.05, 0.1), World(0.02, 0.02, 0.6), World(0.1, 0.1, 0.4), World(0.3, 0.7, 0.3)):
        tables, times = np.unique(rng.multinomial(n, world.shares, size=2_000), axis=0, return_counts=True)
        held = [covers(cohens_kappa([[a, b], [c, d]]), world.kappa) for a, b, c, d in tables.tolist()]
        # By all tables at least 93.6%, 94.3% and more; the large-sample interval alone has 43%, 37% and 30% at worst.
        assert times[held].sum() / times.sum() >= 0.92, world


def test_labels_that_nobody_used_change_nothing() -> None:
    two, three = cohens_kappa([[18, 3], [3, 16]]), cohens_kappa([[18, 0, 3], [0, 0, 0], [3, 0, 16]])
    assert two == three


def test_with_many_items_little_is_added() -> None:
    few, many = cohens_kappa([[6, 1], [1, 5]]), cohens_kappa([[600, 100], [100, 500]])
    theirs = rater.cohens_kappa(np.array([[600, 100], [100, 500]]))
    assert many.low == pytest.approx(float(theirs.kappa_low), abs=4e-3)
    assert many.high == pytest.approx(float(theirs.kappa_upp), abs=4e-3)
    assert few.width > 8 * many.width
