"""Flip rate, pass^k, flickers and the bounds of the unscored."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.errors import InputError
from promptpex.stats.bounds import bounds
from promptpex.stats.racing import race
from promptpex.stats.repeats import Flicker, flickers, majority, pass_hat_k, stability

verdicts = st.lists(st.sampled_from([True, False, None]), max_size=7)
units = st.dictionaries(st.integers(0, 50), verdicts, max_size=8)


@settings(deadline=None)
@given(units, st.integers(1, 4))
def test_pass_hat_k_counts_the_subsets(repeats: dict[int, list[bool | None]], k: int) -> None:
    shares = []
    for unit in repeats.values():
        subsets = list(itertools.combinations([v for v in unit if v is not None], k))
        if subsets:
            shares.append(sum(all(subset) for subset in subsets) / len(subsets))
    got = pass_hat_k(repeats, k)
    assert got.n == len(shares)
    assert got.estimate == (pytest.approx(sum(shares) / len(shares)) if shares else None)
    assert 0 <= got.low <= got.high <= 1
    assert got.width > 0


@settings(deadline=None)
@given(units)
def test_flip_rate_counts_the_pairs_that_disagree(repeats: dict[int, list[bool | None]]) -> None:
    flips = []
    for unit in repeats.values():
        pairs = list(itertools.combinations([v for v in unit if v is not None], 2))
        if pairs:
            flips.append(sum(a != b for a, b in pairs) / len(pairs))
    got = stability(repeats)
    assert got.units == len(flips)
    assert got.flickering == sum(flip > 0 for flip in flips) == len(flickers(repeats))
    assert got.flip_rate.estimate == (pytest.approx(sum(flips) / len(flips)) if flips else None)


def test_pass_hat_k_falls_with_k() -> None:
    repeats = {i: [True] * (i + 1) + [False] * (4 - i) for i in range(5)}
    shares = [pass_hat_k(repeats, k).estimate or 0 for k in range(1, 6)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(0.6)
    assert shares[4] == pytest.approx(0.2)
    with pytest.raises(InputError):
        pass_hat_k(repeats, 0)


def test_flickers_come_least_decided_first() -> None:
    found = flickers({"a": [True, True, True, False], "b": [True, False, None], "c": [True, True], "d": []})
    assert found == [Flicker("b", 1, 1, 1.0), Flicker("a", 3, 1, 0.5)]


def test_bounds_of_the_unscored() -> None:
    got = bounds(failed=2, passed=6, unscored=2)
    assert (got.best, got.worst, got.scored, got.unscored) == (0.2, 0.4, 8, 2)
    assert bounds(0, 0, 0).best is None
    with pytest.raises(InputError):
        bounds(-1, 0, 0)


@settings(deadline=None)
@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_bounds_hold_whatever_the_unscored_were(failed: int, passed: int, unscored: int) -> None:
    got = bounds(failed, passed, unscored)
    if got.best is None or got.worst is None:
        assert failed + passed + unscored == 0
        return
    for more in range(unscored + 1):
        assert got.best <= (failed + more) / (failed + passed + unscored) <= got.worst


def test_repeats_as_one_value_pass_only_by_more_than_half() -> None:
    assert majority([True, True, False]) is True
    assert majority([True, False]) is False
    assert majority([None, True]) is True
    assert majority([None, None]) is None
    assert majority([]) is None


def test_a_model_without_a_scored_case_is_open_and_in_nobodys_way() -> None:
    good = {f"c{n}": True for n in range(60)}
    bad = {f"c{n}": n % 4 == 0 for n in range(60)}
    standing = race({"good": good, "bad": bad, "dead": dict.fromkeys(good)}, tolerance=0.05)
    assert [standing[name].place for name in ("good", "bad", "dead")] == ["leading", "worse", "open"]
    assert [standing[name].settled for name in ("good", "bad", "dead")] == [True, True, False]
    lone = race({"good": good, "dead": dict.fromkeys(good)})
    assert lone["good"].place == "open"
