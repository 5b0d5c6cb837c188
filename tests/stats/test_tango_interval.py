"""Paired comparisons: Tango's score and interval by papers and brute force; Holm against statsmodels."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats.holm import holm
from promptpex.stats.tango_interval import paired_score, restricted_shares, tango_interval
from tests.foreign import Foreign
from tests.stats.references import covers

np = pytest.importorskip("numpy")
multitest = Foreign("statsmodels.stats.multitest")

counts = st.integers(0, 60)
pairs = (
    st.tuples(counts, counts, st.integers(0, 120))
    .map(lambda parts: (*parts[:2], sum(parts)))
    .filter(lambda t: t[2] > 0)
)
"""Pairs on which only the first passes, on which only the second does, and all of them."""

Pairs = tuple[int, int, int]


def test_tango_on_the_published_example() -> None:
    """Fagerland, Lydersen and Laake 2014, Stat. Med. 33:2850, airway hyper-responsiveness: 1 and 7 of 21 pairs."""
    got = tango_interval(1, 7, 21)
    assert (round(got.low, 3), round(got.high, 3)) == (-0.517, -0.026)


@settings(deadline=None)
@given(pairs, st.floats(-0.97, 0.97))
def test_restricted_shares_are_the_likeliest(pair_counts: Pairs, difference: float) -> None:
    b, c, n = pair_counts
    first, second = restricted_shares(b, c, n, difference)
    assert first - second == pytest.approx(difference, abs=1e-12)
    least, most = max(0.0, -difference), (1 - difference) / 2
    grid = np.linspace(least, most, 2001)
    with np.errstate(divide="ignore", invalid="ignore"):

        def likelihood(q: Any) -> Any:
            parts = ((b, q + difference), (c, q), (n - b - c, 1 - 2 * q - difference))
            return sum(np.where(k > 0, k * np.log(np.maximum(p, 0)), 0.0) for k, p in parts)

        best = float(np.max(likelihood(grid)))
        ours = float(likelihood(np.asarray(second)))
    assert ours >= best - 1e-6 or ours == pytest.approx(best, rel=1e-6)


@settings(deadline=None)
@given(pairs)
def test_the_score_at_zero_is_mcnemars_statistic(pair_counts: Pairs) -> None:
    b, c, n = pair_counts
    if b + c:
        assert paired_score(b, c, n, 0.0) == pytest.approx((b - c) / math.sqrt(b + c), abs=1e-9)


@settings(deadline=None)
@given(pairs, st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_of_a_difference_hold_it_and_mirror(pair_counts: Pairs, level: float) -> None:
    b, c, n = pair_counts
    got, back = tango_interval(b, c, n, level), tango_interval(c, b, n, level)
    assert got.estimate == pytest.approx((b - c) / n)
    assert got.estimate is not None
    assert -1 <= got.low <= got.estimate + 1e-9
    assert got.estimate - 1e-9 <= got.high <= 1
    assert got.width > 0
    assert got.n == n
    assert (got.low, got.high) == pytest.approx((-back.high, -back.low), abs=1e-7)
    assert tango_interval(b, c, n, 0.999).width >= got.width


@settings(deadline=None)
@given(pairs)
def test_tango_ends_are_where_the_score_is_the_quantile(pair_counts: Pairs) -> None:
    got = tango_interval(*pair_counts)
    if got.low > -1:
        assert paired_score(*pair_counts, got.low) == pytest.approx(1.959964, abs=1e-3)
    if got.high < 1:
        assert paired_score(*pair_counts, got.high) == pytest.approx(-1.959964, abs=1e-3)


@settings(deadline=None)
@given(pairs, st.floats(-0.9, 0.9))
def test_parts_of_pairs_go_through_the_same_formulas(pair_counts: Pairs, difference: float) -> None:
    """Half of each count has the same shares, so half of the information: the score shrinks by the root of 2."""
    b, c, n = pair_counts
    whole, half = paired_score(b, c, n, difference), paired_score(b / 2, c / 2, n / 2, difference)
    assert math.sqrt(2) * half == pytest.approx(whole, rel=1e-9, abs=1e-9)
    part = tango_interval(b / 2, c / 2, n / 2)
    assert part.estimate == pytest.approx((b - c) / n)
    assert part.width >= tango_interval(b, c, n).width
    assert part.n == n // 2


def test_a_half_more_moves_the_interval_half_of_the_way() -> None:
    lows = [tango_interval(b, 4, 60).low for b in (5, 5.5, 6)]
    assert lows[0] < lows[1] < lows[2]
    assert lows[1] == pytest.approx((lows[0] + lows[2]) / 2, abs=1e-3)
    for b, c, n in ((3.5, 3, 6), (-1, 0, 6), (0, 0, -1)):
        with pytest.raises(InputError):
            tango_interval(b, c, n)


def test_no_pairs_leave_everything_open() -> None:
    got = tango_interval(0, 0, 0)
    assert (got.estimate, got.low, got.high) == (None, -1, 1)


@pytest.mark.parametrize("shares", [(0.1, 0.05, 0.85), (0.02, 0.02, 0.96), (0.3, 0.1, 0.6)])
def test_coverage_of_the_difference(shares: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(6)
    rounds = 600
    rows = rng.multinomial(60, shares, size=rounds).tolist()
    covered = sum(covers(tango_interval(b, c, 60), shares[0] - shares[1]) for b, c, _ in rows)
    assert 0.925 < covered / rounds <= 1


p_values = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@settings(deadline=None, max_examples=25)
@given(p_values)
def test_holm_is_statsmodels(values: list[float]) -> None:
    assert holm(values) == pytest.approx(list(multitest.multipletests(values, method="holm")[1]), abs=1e-12)


@settings(deadline=None)
@given(p_values)
def test_holm_never_helps_and_keeps_the_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(p <= a <= 1 for p, a in zip(values, adjusted, strict=True))
    ranked = [a for _, a in sorted(zip(values, adjusted, strict=True))]
    assert ranked == sorted(ranked)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    with pytest.raises(InputError):
        holm([1.2])
