"""The exact interval by cluster: figures by hand, what must hold for all data, coverage by simulation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats import clopper_pearson, korn_graubard
from tests.foreign import Foreign
from tests.stats.references import covers, wilson

np = pytest.importorskip("numpy")
stats = Foreign("scipy.stats")

filled = st.lists(
    st.integers(1, 12).flatmap(lambda size: st.tuples(st.integers(0, size), st.just(size))), min_size=1, max_size=30
)


def test_ten_clusters_by_hand() -> None:
    """Five clusters of four hold 3 ones, five hold 1: the share is .5, each cluster is 1 off its 2 expected ones.

    Variance 10/9 * 10 / 40**2, so 40 observations are worth .25 / .00694 = 36, a correlation within clusters of
    (40 / 36 - 1) / 3 = 1/27. Pulled to 1 with the weight of one cluster against ten: (1 + 10/27) / 11. Worth
    40 / (1 + 3 * .12458) = 29.12 observations, times (t_39 / t_9)**2.
    """
    few = (stats.t.ppf(0.975, 39) / stats.t.ppf(0.975, 9)) ** 2
    worth = 40 / (1 + 3 * (1 + 10 / 27) / 11) * few
    got = korn_graubard([3] * 5 + [1] * 5, [4] * 10)
    assert (got.estimate, got.n, got.method) == (0.5, 40, "korn-graubard")
    assert got.low == pytest.approx(float(stats.beta.ppf(0.025, worth / 2, worth / 2 + 1)))
    assert got.high == pytest.approx(1 - got.low)
    assert got.width > 1.2 * wilson(20, 40).width


@settings(deadline=None)
@given(filled)
def test_the_ends_hold_the_share_and_mirror(clusters: list[tuple[int, int]]) -> None:
    totals, sizes = [total for total, _ in clusters], [size for _, size in clusters]
    got = korn_graubard(totals, sizes)
    back = korn_graubard([size - total for total, size in clusters], sizes)
    assert got.estimate is not None
    assert 0 <= got.low <= got.estimate <= got.high <= 1
    assert (got.low, got.high) == pytest.approx((1 - back.high, 1 - back.low), abs=1e-9)
    alike = clopper_pearson(len(clusters), len(clusters)).low
    assert got.low <= alike + 1e-12
    assert got.high >= 1 - alike - 1e-12
    assert korn_graubard([*totals, 0], [*sizes, 0]) == got


def test_where_all_are_equal_the_clusters_count_once_each() -> None:
    assert korn_graubard([5] * 20, [5] * 20).low == pytest.approx(clopper_pearson(20, 20).low)
    assert korn_graubard([5], [5]).low == pytest.approx(0.025)
    assert korn_graubard([], []).estimate is None
    with pytest.raises(InputError):
        korn_graubard([3], [2])


@pytest.mark.parametrize(("clusters", "size"), [(10, 3), (30, 5), (100, 15), (300, 2)])
def test_one_exception_more_never_raises_the_lower_end(clusters: int, size: int) -> None:
    lows = [
        korn_graubard([size - 1] * missed + [size] * (clusters - missed), [size] * clusters).low for missed in range(4)
    ]
    assert lows[0] == pytest.approx(max(lows), abs=1e-12)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("size", "share"), [(5, 0.5), (5, 0.98), (15, 0.9), (15, 0.95)])
def test_coverage_whatever_the_correlation(size: int, share: float, correlation: float) -> None:
    rng = np.random.default_rng(7)
    rounds, clusters = 300, 40
    covered = 0
    for _ in range(rounds):
        if correlation == 1.0:
            totals = (rng.random(clusters) < share) * size
        else:
            spread = (1 - correlation) / correlation if correlation else 1e6
            totals = rng.binomial(size, rng.beta(share * spread, (1 - share) * spread, clusters))
        covered += covers(korn_graubard(totals.tolist(), [size] * clusters), share)
    # 0.95 less two and a half standard errors of 300 rounds.
    assert covered / rounds >= 0.919
