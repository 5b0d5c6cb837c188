"""Paired comparisons: McNemar, Newcombe, Tango and Holm against statsmodels, papers and brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.errors import InputError
from promptpex.stats.holm import holm
from promptpex.stats.paired import (
    PairedCounts,
    count_pairs,
    mcnemar,
    newcombe_difference,
    paired_score,
    restricted_shares,
    tango_difference,
    tango_interval,
    tango_score,
)

np = pytest.importorskip("numpy")
contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
multitest = pytest.importorskip("statsmodels.stats.multitest")
cells = st.integers(0, 60)
tables = st.builds(PairedCounts, cells, cells, cells, cells)
filled = tables.filter(lambda counts: counts.n > 0)


def test_count_pairs_leaves_out_the_unscored() -> None:
    counts = count_pairs([(True, True), (True, False), (None, True), (False, False), (False, None), (False, True)])
    assert counts == PairedCounts(1, 1, 1, 1)
    assert (counts.n, counts.discordant, counts.difference) == (4, 2, 0)
    assert count_pairs([]).difference is None
    with pytest.raises(InputError):
        PairedCounts(1, -1, 0, 0)


@settings(deadline=None)
@given(tables)
def test_mcnemar_is_statsmodels(counts: PairedCounts) -> None:
    table = [[counts.both, counts.first_only], [counts.second_only, counts.neither]]
    if counts.discordant:
        assert mcnemar(counts) == pytest.approx(float(contingency.mcnemar(table, exact=True).pvalue), rel=1e-9)
    else:
        assert mcnemar(counts) == 1
    assert mcnemar(counts) == mcnemar(counts.swapped)


@settings(deadline=None)
@given(tables)
def test_mid_p_counts_the_observed_outcome_half(counts: PairedCounts) -> None:
    m, least = counts.discordant, min(counts.first_only, counts.second_only)
    if m == 0:
        assert mcnemar(counts, mid_p=True) == 1
        return
    tail = sum(Fraction(math.comb(m, i), 2**m) for i in range(least + 1))
    exact = min(1.0, float(2 * tail - Fraction(math.comb(m, least), 2**m)))
    assert mcnemar(counts, mid_p=True) == pytest.approx(exact, rel=1e-9)
    assert mcnemar(counts, mid_p=True) <= mcnemar(counts) + 1e-12


def test_mcnemar_on_the_published_example() -> None:
    """Fagerland, Lydersen and Laake 2013, Table 3: airway hyper-responsiveness, 1 and 7 discordant pairs."""
    counts = PairedCounts(1, 1, 7, 12)
    assert round(mcnemar(counts), 4) == 0.0703
    assert round(mcnemar(counts, mid_p=True), 4) == 0.0391


def test_newcombe_on_the_published_examples() -> None:
    """The same paper's companion data set, and the article's formulas carried out by hand."""
    got = newcombe_difference(PairedCounts(1, 1, 7, 12))
    assert (round(got.low, 3), round(got.high, 3)) == (-0.507, -0.026)
    one_sided = newcombe_difference(PairedCounts(0, 0, 0, 30))
    upper = 1.959964**2 / (30 + 1.959964**2)
    assert (one_sided.low, one_sided.high) == pytest.approx((-upper * math.sqrt(1), upper * math.sqrt(1)), rel=1e-5)


def test_tango_on_the_published_example() -> None:
    """Fagerland, Lydersen and Laake 2014, Stat. Med. 33:2850: Tango's interval for the same table."""
    got = tango_difference(PairedCounts(1, 1, 7, 12))
    assert (round(got.low, 3), round(got.high, 3)) == (-0.517, -0.026)


@settings(deadline=None)
@given(filled, st.floats(-0.97, 0.97))
def test_restricted_shares_are_the_likeliest(counts: PairedCounts, difference: float) -> None:
    b, c, n = counts.first_only, counts.second_only, counts.n
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
@given(filled)
def test_the_score_at_zero_is_mcnemars_statistic(counts: PairedCounts) -> None:
    b, c = counts.first_only, counts.second_only
    if b + c:
        assert tango_score(counts, 0.0) == pytest.approx((b - c) / math.sqrt(b + c), abs=1e-9)


@settings(deadline=None)
@given(filled, st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_of_a_difference_hold_it_and_mirror(counts: PairedCounts, level: float) -> None:
    for method in (newcombe_difference, tango_difference):
        got, back = method(counts, level), method(counts.swapped, level)
        assert got.estimate is not None
        assert -1 <= got.low <= got.estimate + 1e-9
        assert got.estimate - 1e-9 <= got.high <= 1
        assert got.width > 0
        assert (got.low, got.high) == pytest.approx((-back.high, -back.low), abs=1e-7)
        assert method(counts, 0.999).width >= got.width


@settings(deadline=None)
@given(filled)
def test_tango_ends_are_where_the_score_is_the_quantile(counts: PairedCounts) -> None:
    got = tango_difference(counts)
    if got.low > -1:
        assert tango_score(counts, got.low) == pytest.approx(1.959964, abs=1e-3)
    if got.high < 1:
        assert tango_score(counts, got.high) == pytest.approx(-1.959964, abs=1e-3)


@settings(deadline=None)
@given(filled, st.floats(-0.9, 0.9))
def test_parts_of_pairs_go_through_the_same_formulas(counts: PairedCounts, difference: float) -> None:
    b, c, n = counts.first_only, counts.second_only, counts.n
    assert paired_score(float(b), float(c), float(n), difference) == tango_score(counts, difference)
    assert tango_interval(float(b), float(c), float(n)) == tango_difference(counts)
    half = tango_interval(b / 2, c / 2, n / 2)
    assert half.estimate == pytest.approx((b - c) / n)
    assert half.width >= tango_difference(counts).width
    assert half.n == n // 2


def test_a_half_more_moves_the_interval_half_of_the_way() -> None:
    lows = [tango_interval(b, 4, 60).low for b in (5, 5.5, 6)]
    assert lows[0] < lows[1] < lows[2]
    assert lows[1] == pytest.approx((lows[0] + lows[2]) / 2, abs=1e-3)
    for b, c, n in ((3.5, 3, 6), (-1, 0, 6), (0, 0, -1)):
        with pytest.raises(InputError):
            tango_interval(b, c, n)


def test_no_pairs_leave_everything_open() -> None:
    for method in (newcombe_difference, tango_difference):
        got = method(PairedCounts(0, 0, 0, 0))
        assert (got.estimate, got.low, got.high) == (None, -1, 1)
    assert mcnemar(PairedCounts(0, 0, 0, 0)) == 1


@pytest.mark.parametrize("shares", [(0.7, 0.1, 0.05, 0.15), (0.9, 0.02, 0.02, 0.06), (0.3, 0.3, 0.1, 0.3)])
def test_coverage_of_the_difference_and_size_of_the_test(shares: tuple[float, float, float, float]) -> None:
    rng = np.random.default_rng(6)
    rounds = 600
    truth = shares[1] - shares[2]
    covered = {"newcombe": 0, "tango": 0}
    for row in rng.multinomial(60, shares, size=rounds).tolist():
        counts = PairedCounts(*row)
        covered["newcombe"] += newcombe_difference(counts).contains(truth)
        covered["tango"] += tango_difference(counts).contains(truth)
    assert all(0.925 < share / rounds <= 1 for share in covered.values())


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
