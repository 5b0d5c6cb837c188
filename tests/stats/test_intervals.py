"""Wilson and Clopper-Pearson against statsmodels, a published example, and their own coverage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats.intervals import clopper_pearson, difference_of_intervals
from promptpex.stats.special import binomial_cdf
from tests.foreign import Foreign
from tests.stats.references import covers, wilson

proportion = Foreign("statsmodels.stats.proportion")


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.integers(1, 3000))
    return draw(st.integers(0, n)), n


levels = st.sampled_from([0.8, 0.9, 0.95, 0.99])


@settings(deadline=None)
@given(counts(), levels)
def test_wilson_is_statsmodels(case: tuple[int, int], level: float) -> None:
    got = wilson(*case, level)
    low, high = proportion.proportion_confint(*case, alpha=1 - level, method="wilson")
    assert (got.low, got.high) == pytest.approx((low, high), abs=1e-10)


@settings(deadline=None)
@given(counts(), levels)
def test_clopper_pearson_is_statsmodels(case: tuple[int, int], level: float) -> None:
    got = clopper_pearson(*case, level)
    low, high = proportion.proportion_confint(*case, alpha=1 - level, method="beta")
    assert (got.low, got.high) == pytest.approx((low, high), abs=1e-8)


def test_the_published_example() -> None:
    """Newcombe 1998, Stat. Med. 17:857, Table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    printed = {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }
    for case, ends in printed.items():
        got = wilson(*case)
        assert (round(got.low, 4), round(got.high, 4)) == ends
    exact = clopper_pearson(81, 263)
    assert (round(exact.low, 4), round(exact.high, 4)) == (0.2527, 0.3676)


@settings(deadline=None)
@given(counts(), levels)
def test_intervals_hold_their_estimate_and_mirror(case: tuple[int, int], level: float) -> None:
    k, n = case
    for interval in (wilson, clopper_pearson):
        got, mirror = interval(k, n, level), interval(n - k, n, level)
        assert got.estimate is not None
        assert 0 <= got.low <= got.estimate <= got.high <= 1
        assert got.width > 0
        assert (got.low, got.high) == pytest.approx((1 - mirror.high, 1 - mirror.low), abs=1e-9)
        assert interval(k, n, 0.999).width > got.width


def test_more_successes_move_both_ends_up() -> None:
    for interval in (wilson, clopper_pearson):
        ends = [(interval(k, 40).low, interval(k, 40).high) for k in range(41)]
        assert ends == sorted(ends)
        assert [high for _, high in ends] == sorted(high for _, high in ends)


def test_no_observation_leaves_everything_open() -> None:
    for interval in (wilson, clopper_pearson):
        got = interval(0, 0)
        assert (got.estimate, got.low, got.high, got.n) == (None, 0, 1, 0)


@pytest.mark.parametrize("n", [7, 24, 40])
def test_exact_coverage_never_falls_short_and_wilsons_is_near(n: int) -> None:
    exact = [clopper_pearson(k, n) for k in range(n + 1)]
    score = [wilson(k, n) for k in range(n + 1)]
    covered: dict[str, list[float]] = {"exact": [], "score": []}
    for step in range(1, 200):
        p = step / 200
        mass = [binomial_cdf(k, n, p) - binomial_cdf(k - 1, n, p) for k in range(n + 1)]
        for name, intervals in (("exact", exact), ("score", score)):
            covered[name].append(sum(m for m, i in zip(mass, intervals, strict=True) if covers(i, p)))
    assert min(covered["exact"]) >= 0.95 - 1e-9
    assert 0.945 < sum(covered["score"]) / len(covered["score"]) < 0.965


@pytest.mark.parametrize(("k", "n", "level"), [(-1, 5, 0.95), (6, 5, 0.95), (1, 5, 0.0), (1, 5, 1.0), (1, 5, 95.0)])
def test_impossible_arguments_are_refused(k: int, n: int, level: float) -> None:
    for interval in (wilson, clopper_pearson):
        with pytest.raises(InputError):
            interval(k, n, level)


def test_newcombes_own_example() -> None:
    """Newcombe 1998, Stat. Med. 17:873, table II, case (a), method 10: 56/70 against 48/80."""
    interval = difference_of_intervals(wilson(56, 70), wilson(48, 80))
    assert interval.low == pytest.approx(0.0524, abs=5e-5)
    assert interval.high == pytest.approx(0.3339, abs=5e-5)


@given(counts(), counts())
def test_the_difference_turns_round_with_its_groups(a: tuple[int, int], b: tuple[int, int]) -> None:
    first, second = wilson(*a), wilson(*b)
    there, back = difference_of_intervals(first, second), difference_of_intervals(second, first)
    assert there.low == pytest.approx(-back.high)
    assert -1 <= there.low <= there.high <= 1
    if there.estimate is not None:
        assert there.low <= there.estimate <= there.high


def test_a_wider_interval_of_one_group_widens_the_difference() -> None:
    sure, unsure, other = wilson(30, 60), wilson(5, 10), wilson(20, 60)
    assert difference_of_intervals(unsure, other).width > difference_of_intervals(sure, other).width
