"""Flip rate, pass@k, pass^k and flaky."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats.flakiness import FlakyUnit, flaky, flip_rate, pass_at_k, pass_hat_k

verdicts = st.lists(st.booleans(), max_size=7)
units = st.dictionaries(st.integers(0, 50), verdicts, max_size=8)


def pass_counts(repeats: dict[int, list[bool]]) -> dict[int, tuple[int, int]]:
    return {unit: (sum(passes), len(passes) - sum(passes)) for unit, passes in repeats.items()}


@settings(deadline=None)
@given(units, st.integers(1, 4))
def test_pass_hat_k_counts_the_subsets(repeats: dict[int, list[bool]], k: int) -> None:
    shares = []
    for unit in repeats.values():
        subsets = list(itertools.combinations(unit, k))
        if subsets:
            shares.append(sum(all(subset) for subset in subsets) / len(subsets))
    got = pass_hat_k(pass_counts(repeats), k)
    assert got.n == len(shares)
    assert got.estimate == (pytest.approx(sum(shares) / len(shares)) if shares else None)
    assert 0 <= got.low <= got.high <= 1
    assert got.width > 0


@settings(deadline=None)
@given(units, st.integers(1, 4))
def test_pass_at_k_counts_the_subsets_with_a_pass(repeats: dict[int, list[bool]], k: int) -> None:
    shares = []
    for unit in repeats.values():
        subsets = list(itertools.combinations(unit, k))
        if subsets:
            shares.append(sum(any(subset) for subset in subsets) / len(subsets))
    got = pass_at_k(pass_counts(repeats), k)
    assert got.estimate == (pytest.approx(sum(shares) / len(shares)) if shares else None)
    assert (got.estimate or 0) >= (pass_hat_k(pass_counts(repeats), k).estimate or 0) - 1e-12


@settings(deadline=None)
@given(units)
def test_flip_rate_counts_the_pairs_that_disagree(repeats: dict[int, list[bool]]) -> None:
    flips = []
    for unit in repeats.values():
        pairs = list(itertools.combinations(unit, 2))
        if pairs:
            flips.append(sum(a != b for a, b in pairs) / len(pairs))
    got = flip_rate(pass_counts(repeats))
    assert got.units == len(flips)
    assert got.flaky == sum(flip > 0 for flip in flips) == len(flaky(pass_counts(repeats)))
    assert got.flip_rate.estimate == (pytest.approx(sum(flips) / len(flips)) if flips else None)


def test_pass_hat_k_falls_with_k() -> None:
    repeats = {i: (i + 1, 4 - i) for i in range(5)}
    shares = [pass_hat_k(repeats, k).estimate or 0 for k in range(1, 6)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(0.6)
    assert shares[4] == pytest.approx(0.2)
    with pytest.raises(InputError):
        pass_hat_k(repeats, 0)


def test_flaky_rows_come_least_decided_first() -> None:
    units = flaky({"a": (3, 1), "b": (1, 1), "c": (2, 0), "d": (0, 0)})
    assert units == [FlakyUnit("b", 1, 1, 1.0), FlakyUnit("a", 3, 1, 0.5)]
