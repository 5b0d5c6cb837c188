"""The harmonic mean of two shares, with its interval."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.stats import Interval, harmonic_mean, korn_graubard


def share(ones: int, n: int) -> Interval:
    return korn_graubard([1] * ones + [0] * (n - ones), [1] * n)


@given(st.integers(0, 12), st.integers(1, 12), st.integers(0, 12), st.integers(1, 12))
def test_the_interval_holds_the_estimate_and_stays_within_the_least_and_greatest_it_could_be(
    a: int, n: int, b: int, m: int
) -> None:
    first, second = share(min(a, n), n), share(min(b, m), m)
    mean = harmonic_mean(first, second)
    assert mean.n == n + m
    assert mean == harmonic_mean(second, first)
    if mean.estimate is None:
        assert first.estimate == second.estimate == 0.0
        assert (mean.low, mean.high, mean.method) == (0.0, 1.0, "undefined")
        return
    assert 0.0 <= mean.low <= mean.estimate + 1e-12
    assert mean.estimate <= mean.high + 1e-12 <= 1.0 + 1e-12
    assert mean.estimate <= max(first.estimate or 0.0, second.estimate or 0.0) + 1e-12
    greatest = 2.0 * first.high * second.high / (first.high + second.high)
    assert mean.high <= greatest + 1e-9


def test_more_observations_of_either_group_narrow_it() -> None:
    few = harmonic_mean(share(7, 10), share(18, 20))
    assert harmonic_mean(share(35, 50), share(18, 20)).width < few.width
    assert harmonic_mean(share(7, 10), share(90, 100)).width < few.width


def test_a_share_without_observations_leaves_it_undefined() -> None:
    assert harmonic_mean(share(1, 2), share(0, 0)).estimate is None


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.95), (0.9, 0.9), (0.3, 0.98), (0.73, 0.61)])
def test_it_holds_the_true_mean_in_nearly_all_samples(first: float, second: float) -> None:
    rng = random.Random(7)
    truth = 2.0 * first * second / (first + second)
    held = 0
    for _ in range(300):
        ones, others = sum(rng.random() < first for _ in range(8)), sum(rng.random() < second for _ in range(22))
        mean = harmonic_mean(share(ones, 8), share(others, 22))
        held += mean.low <= truth <= mean.high
    assert held >= 0.93 * 300
