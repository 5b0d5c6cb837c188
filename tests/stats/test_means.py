"""The interval of a mean of values between 0 and 1: by hand, what must hold for all values, coverage by simulation."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats.means import mean_interval, open_mean_interval
from tests.foreign import Foreign
from tests.stats.references import covers, wilson

np = pytest.importorskip("numpy")
stats = Foreign("scipy.stats")

columns = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@settings(deadline=None)
@given(columns)
@example([0.0, 1e-200])
def test_ends_stay_within_bounds_around_the_mean_and_never_meet(values: list[float]) -> None:
    got = mean_interval(values)
    assert got.estimate == pytest.approx(sum(values) / len(values))
    assert got.estimate is not None
    assert 0 <= got.low <= got.estimate + 1e-12
    assert got.estimate - 1e-12 <= got.high <= 1
    assert got.width > 0
    assert got.n == len(values)


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_knowing_zeros_and_ones_only_by_their_spread_costs_width(values: list[bool]) -> None:
    plain = wilson(sum(values), len(values))
    assert mean_interval(list(map(float, values))).width >= plain.width - 1e-9


@settings(deadline=None)
@given(st.lists(st.integers(0, 64), min_size=1, max_size=60))
def test_turning_every_value_round_mirrors_the_interval(parts: list[int]) -> None:
    """In steps of 1/64, so that turning round loses nothing."""
    got, mirror = (mean_interval(values) for values in ([k / 64 for k in parts], [1 - k / 64 for k in parts]))
    assert (got.low, got.high) == pytest.approx((1 - mirror.high, 1 - mirror.low), abs=1e-9)


def test_equal_values_count_as_one_observation_each() -> None:
    got, plain = mean_interval([0.0] * 10), wilson(0, 10)
    assert (got.low, got.high) == pytest.approx((plain.low, plain.high))
    assert mean_interval([1.0]).width > 0.7


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_interval_is_wilsons_at_the_size_that_the_variance_is_worth(level: float) -> None:
    values = np.random.default_rng(5).beta(0.5, 1.5, 12)
    mean, (z, t) = values.mean(), (stats.norm.ppf(0.5 + level / 2), stats.t.ppf(0.5 + level / 2, 11))
    size = mean * (1 - mean) / (values.var(ddof=1) / 12) * (z / t) ** 2
    got = mean_interval(values.tolist(), level)
    spread = z * (mean * (1 - mean) / size + z**2 / 4 / size**2) ** 0.5
    ends = [(mean + z**2 / 2 / size + sign * spread) / (1 + z**2 / size) for sign in (-1, 1)]
    assert (got.low, got.high) == pytest.approx(ends)


shares = st.floats(0, 1)
ranges = st.tuples(shares, shares, shares, st.integers(1, 3)).map(lambda drawn: (*sorted(drawn[:3]), drawn[3]))


@settings(deadline=None)
@given(st.lists(ranges, min_size=1, max_size=30))
@example([(0.0, 0.5, 1.0, 1), *[(0.5, 0.5, 0.5, 1)] * 9])
@example([(0.0, 1.0, 1.0, 1), *[(1.0, 1.0, 1.0, 1)] * 9])
def test_however_open_values_come_out_their_interval_lies_within(drawn: list[tuple[float, float, float, int]]) -> None:
    lows, known, highs, weights = (list(column) for column in zip(*drawn, strict=True))
    got = open_mean_interval(lows, highs, weights=weights)
    for way in (lows, known, highs):
        inner = open_mean_interval(way, way, weights=weights)
        assert got.low - 1e-9 <= inner.low
        assert inner.high <= got.high + 1e-9


@settings(deadline=None)
@given(st.lists(st.tuples(shares, st.integers(1, 3)), min_size=1, max_size=30))
def test_the_mean_of_weighted_values_lies_in_an_interval_that_equal_weights_do_not_move(
    drawn: list[tuple[float, int]],
) -> None:
    values, weights = [value for value, _ in drawn], [weight for _, weight in drawn]
    got = open_mean_interval(values, values, weights=weights)
    mean = sum(value * weight for value, weight in drawn) / sum(weights)
    assert got.estimate == pytest.approx(mean)
    assert got.low - 1e-12 <= mean <= got.high + 1e-12
    plain, doubled = (open_mean_interval(values, values, weights=[times] * len(values)) for times in (1, 2))
    assert (doubled.low, doubled.high) == pytest.approx((plain.low, plain.high), abs=1e-9)


def test_each_end_counts_one_value_more_than_there_is() -> None:
    values = [0.9, 0.8, 1.0, 0.95]
    got = open_mean_interval(values, values)
    assert got.low == pytest.approx(mean_interval([*values, 0.0]).low)
    assert got.high == pytest.approx(mean_interval([*values, 1.0]).high)
    assert open_mean_interval([], []).width == 1


@pytest.mark.parametrize("count", [10, 20, 50])
def test_few_bad_values_among_many_good_ones_are_covered_where_their_variance_is_no_guide(count: int) -> None:
    rng = np.random.default_rng(3)
    truth, rounds, inside, plain = 0.95 * 0.925, 300, 0, 0
    for _ in range(rounds):
        values = np.where(rng.random(count) < 0.95, rng.choice([0.9, 0.95], count), 0.0).tolist()
        inside += covers(open_mean_interval(values, values), truth)
        plain += covers(mean_interval(values), truth)
    assert inside / rounds > 0.95
    assert plain < inside


def test_what_is_open_or_weighted_wrongly_is_refused() -> None:
    assert open_mean_interval([0.2, 0.4], [0.2, 0.5]).estimate is None
    for lows, highs, weights in (([0.6], [0.5], [1]), ([0.5], [0.5], [0]), ([0.5], [0.5], [])):
        with pytest.raises(InputError):
            open_mean_interval(lows, highs, weights=weights)


def test_nothing_leaves_everything_open_and_what_is_no_share_is_refused() -> None:
    got = mean_interval([])
    assert (got.estimate, got.low, got.high, got.n) == (None, 0, 1, 0)
    for wrong in (-0.1, 1.1):
        with pytest.raises(InputError):
            mean_interval([0.5, wrong])
    with pytest.raises(InputError):
        mean_interval([0.5], 1.0)


@pytest.mark.parametrize(("k", "size", "share", "spread"), [(10, 3, 0.2, 1.0), (20, 3, 0.1, 0.5), (40, 5, 0.3, 2.0)])
def test_coverage_of_case_means_where_counting_every_repeat_fails(
    k: int, size: int, share: float, spread: float
) -> None:
    rng = np.random.default_rng(11)
    covered = plain = 0
    rounds = 400
    for _ in range(rounds):
        rates = rng.beta(share * spread, (1 - share) * spread, size=k)
        repeats = rng.random((k, size)) < rates[:, None]
        covered += covers(mean_interval(repeats.mean(axis=1).tolist()), share)
        plain += covers(wilson(int(repeats.sum()), k * size), share)
    assert covered / rounds > 0.91
    assert plain / rounds < 0.9
