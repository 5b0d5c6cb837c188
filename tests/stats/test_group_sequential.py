"""Looks at a suite of known size: the boundaries, and what a p-value costs over all looks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats.group_sequential import SHAPE, level_at, looks_at, overall_p
from promptpex.stats.special import normal_cdf


@pytest.mark.parametrize(("looks", "bound"), [(1, 1.960), (2, 1.962), (5, 1.999), (10, 2.034)])
def test_the_last_look_is_nearly_as_lenient_as_one_alone(looks: int, bound: float) -> None:
    assert level_at(0.05, looks, looks) == pytest.approx(2 * normal_cdf(-bound), abs=6e-4)
    assert level_at(0.05, looks, looks) > 0.04


@given(st.integers(1, 10), st.integers(1, 10), st.floats(1e-12, 1), st.sampled_from([1, 2]))
def test_a_look_among_many_is_never_cheaper_than_one(look: int, looks: int, p: float, sides: int) -> None:
    if look > looks:
        with pytest.raises(InputError):
            overall_p(p, look, looks, sides=sides)
        return
    assert p <= overall_p(p, look, looks, sides=sides) <= 1.0


@given(st.integers(1, 10), st.sampled_from([0.001, 0.01, 0.05, 0.2]))
def test_the_level_of_a_look_is_what_costs_alpha_in_all(look: int, alpha: float) -> None:
    assert overall_p(level_at(alpha, look, 10), look, 10) == pytest.approx(alpha, rel=0.02)


def test_the_same_evidence_costs_more_the_earlier_it_is_taken() -> None:
    costs = [overall_p(0.001, look, 10) for look in range(1, 11)]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("sides", [1, 2])
def test_the_crossing_chance_is_that_of_a_random_walk(sides: int) -> None:
    steps = np.random.default_rng(0).normal(size=(100_000, 10)) / np.sqrt(10)
    walk = np.cumsum(steps, axis=1) / (np.arange(1, 11) / 10) ** SHAPE
    far = (np.abs(walk) if sides == 2 else walk).max(axis=1)
    for bound in (1.0, 1.8, 2.2):
        at_the_end = normal_cdf(-bound) * sides
        assert overall_p(at_the_end, 10, 10, sides=sides) == pytest.approx((far >= bound).mean(), abs=0.004)


def test_looks_are_spread_evenly_and_end_with_the_suite() -> None:
    assert looks_at(100) == tuple(range(10, 101, 10))
    assert looks_at(33) == (6, 11, 17, 22, 28, 33)
    assert looks_at(4) == (4,)
