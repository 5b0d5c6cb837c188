"""Confidence sequences and races: valid at every look, exact where it can be checked, and calls are saved."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.errors import InputError
from promptpex.stats.intervals import clopper_pearson, wilson
from promptpex.stats.paired import PairedCounts, mcnemar, tango_difference
from promptpex.stats.racing import race, sides
from promptpex.stats.sequential import anytime_p, paired_sequence, share_sequence, side_of, sign_log_evidence

np = pytest.importorskip("numpy")
cells = st.integers(0, 80)
tables = st.builds(PairedCounts, st.integers(1, 200), cells, cells, cells)


@settings(deadline=None)
@given(st.integers(1, 500), st.data(), st.sampled_from([0.9, 0.95, 0.999]))
def test_share_sequence_is_an_interval_and_wider_than_a_fixed_one(n: int, data: st.DataObject, level: float) -> None:
    k = data.draw(st.integers(0, n))
    got, mirror = share_sequence(k, n, level), share_sequence(n - k, n, level)
    assert 0 <= got.low <= k / n <= got.high <= 1
    assert (got.low, got.high) == pytest.approx((1 - mirror.high, 1 - mirror.low), abs=1e-9)
    assert got.width > clopper_pearson(k, n, level).width - 1e-9


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_the_chance_of_ever_missing_is_kept_exactly(share: float) -> None:
    """By dynamic programming over all paths of 300 observations, with a look after every one: no sampling."""
    alive, missed = np.array([1.0]), 0.0
    for n in range(1, 301):
        alive = np.convolve(alive, [1 - share, share])
        for k in np.nonzero(alive > 1e-15)[0].tolist():
            if not share_sequence_holds(k, n, share):
                missed += float(alive[k])
                alive[k] = 0.0
    assert 0.001 < missed <= 0.05


def share_sequence_holds(k: int, n: int, share: float) -> bool:
    """Whether share_sequence(k, n) holds the share, by its definition (the ends are checked below)."""
    beta = math.lgamma(k + 0.5) + math.lgamma(n - k + 0.5) - math.lgamma(n + 1) - math.log(math.pi)
    return beta - k * math.log(share) - (n - k) * math.log(1 - share) < math.log(20)


@settings(deadline=None)
@given(st.integers(1, 120), st.data(), st.floats(0.01, 0.99))
def test_the_ends_are_where_the_mixture_reaches_one_in_alpha(n: int, data: st.DataObject, share: float) -> None:
    k = data.draw(st.integers(0, n))
    got = share_sequence(k, n)
    if min(abs(share - got.low), abs(share - got.high)) > 1e-6:
        assert got.contains(share) == share_sequence_holds(k, n, share)


def test_means_of_values_between_are_covered_as_well() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        sums = rng.choice([0.0, 0.25, 0.5, 1.0], size=200, p=[0.3, 0.2, 0.2, 0.3]).cumsum()
        assert all(share_sequence(float(sums[n - 1]), n, 0.999).contains(0.45) for n in range(5, 201, 5))


@settings(deadline=None)
@given(tables)
def test_paired_sequence_is_an_interval_and_wider_than_a_fixed_one(counts: PairedCounts) -> None:
    got, back = paired_sequence(counts), paired_sequence(counts.swapped)
    assert got.estimate is not None
    assert -1 <= got.low <= got.estimate <= got.high <= 1
    assert (got.low, got.high) == pytest.approx((-back.high, -back.low), abs=1e-7)
    assert got.width > 0.9 * tango_difference(counts).width
    assert paired_sequence(counts, 0.999).width > got.width


@pytest.mark.parametrize("shares", [(0.1, 0.1), (0.02, 0.02), (0.05, 0.0), (0.3, 0.1)])
def test_the_difference_is_rarely_ever_missed(shares: tuple[float, float]) -> None:
    rng = np.random.default_rng(9)
    missed, rounds = 0, 100
    for _ in range(rounds):
        draws = rng.choice(3, size=240, p=[*shares, 1 - sum(shares)])
        first, second = np.cumsum(draws == 0).tolist(), np.cumsum(draws == 1).tolist()
        looks = [PairedCounts(n - b - c, b, c, 0) for n, b, c in zip(range(1, 241), first, second, strict=True)]
        missed += not all(paired_sequence(look).contains(shares[0] - shares[1]) for look in looks[4::8])
    assert missed / rounds <= 0.05


def test_the_sign_test_keeps_its_level_at_all_looks_together() -> None:
    """By dynamic programming over 400 discordant pairs under the hypothesis."""
    alive, rejected = np.array([1.0]), 0.0
    for m in range(1, 401):
        alive = np.convolve(alive, [0.5, 0.5])
        for b in range(m + 1):
            if alive[b] > 1e-15 and sign_log_evidence(PairedCounts(0, b, m - b, 0)) >= math.log(20):
                rejected += float(alive[b])
                alive[b] = 0.0
    assert 0.005 < rejected <= 0.05


@settings(deadline=None)
@given(tables)
def test_looking_at_all_times_costs_evidence(counts: PairedCounts) -> None:
    assert anytime_p(counts) >= mcnemar(counts) / 2
    assert anytime_p(counts) == pytest.approx(anytime_p(counts.swapped))
    assert 0 <= anytime_p(counts) <= 1


def test_nothing_seen_leaves_everything_open() -> None:
    assert (share_sequence(0, 0).low, share_sequence(0, 0).high) == (0, 1)
    nothing = paired_sequence(PairedCounts(0, 0, 0, 0))
    assert (nothing.low, nothing.high) == (-1, 1)
    assert anytime_p(PairedCounts(3, 0, 0, 2)) == 1


def test_side_of_a_limit() -> None:
    seen = wilson(2, 100)
    assert side_of(seen, 0.2) == "below"
    assert side_of(seen, 0.001) == "above"
    assert side_of(seen, 0.03) == "undecided"
    with pytest.raises(InputError):
        side_of(seen, math.nan)


def test_sides_split_the_error_over_the_models() -> None:
    got = sides({"a": (0, 200), "b": (50, 100), "c": (4, 40)}, 0.1)
    assert [side for _, side in got.values()] == ["below", "above", "undecided"]
    assert got["a"][0].confidence == pytest.approx(1 - 0.05 / 3)
    assert sides({}, 0.1) == {}
    with pytest.raises(InputError):
        sides({"a": (0, 1)}, 1.5)


def test_a_race_names_the_clear_places() -> None:
    cases = [str(i) for i in range(300)]
    results = {
        "good": dict.fromkeys(cases, True),
        "twin": {case: int(case) % 150 != 7 for case in cases},
        "poor": {case: int(case) % 3 != 0 for case in cases},
    }
    got = race(results, tolerance=0.1)
    assert {name: standing.place for name, standing in got.items()} == {"good": "tied", "twin": "tied", "poor": "worse"}
    assert all(standing.settled for standing in got.values())
    assert got["poor"].beaten_by == "good"
    without = race(results)
    assert (without["good"].place, without["twin"].settled) == ("open", False)
    assert race({"good": results["good"], "poor": results["poor"]})["good"].place == "leading"
    assert race({"good": results["good"]})["good"].place == "open"
    assert race({}) == {}


def simulate(rates: dict[str, float], seed: int, *, cases: int, step: int) -> tuple[dict[str, str], int]:
    """One adaptive run: a look after every ``step`` cases, settled models get no more. Places and calls made."""
    rng = np.random.default_rng(seed)
    difficulty = rng.random(cases)
    results: dict[str, dict[str, bool | None]] = {model: {} for model in rates}
    places = dict.fromkeys(rates, "open")
    running, calls = set(rates), 0
    for start, stop in pairwise(range(0, cases + 1, step)):
        for model in running:
            shared = rng.random(step) < 0.7
            drawn = np.where(shared, difficulty[start:stop], rng.random(step)) < rates[model]
            results[model].update({str(start + i): bool(passed) for i, passed in enumerate(drawn)})
            calls += step
        standings = race(results, tolerance=0.15)
        places |= {model: standings[model].place for model in running}
        running -= {model for model in running if standings[model].settled}
        if not running:
            break
    return places, calls


@pytest.mark.parametrize("rates", [{"a": 0.9, "b": 0.9, "c": 0.9}, {"a": 0.9, "b": 0.75, "c": 0.5}])
def test_adaptive_runs_are_rarely_wrong_and_save_calls(rates: dict[str, float]) -> None:
    best, rounds, cases = max(rates.values()), 60, 400
    wrong = calls = 0
    for seed in range(rounds):
        places, made = simulate(rates, seed, cases=cases, step=20)
        calls += made
        # "Worse" is wrong of the best; "tied" is wrong of a model that is worse by the tolerance.
        wrong += any(
            (place == "worse" and rates[model] == best) or (place == "tied" and best - rates[model] >= 0.15 - 1e-9)
            for model, place in places.items()
        )
    assert wrong / rounds <= 0.05
    assert calls < 0.75 * rounds * cases * len(rates)
