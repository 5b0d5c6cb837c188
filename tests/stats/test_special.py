"""The distribution functions against scipy, over their whole range."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.stats.special import (
    beta_cdf,
    beta_quantile,
    beta_tail,
    binomial_cdf,
    binomial_mass,
    crossing,
    normal_cdf,
    normal_quantile,
    t_quantile,
    two_sided_t,
)
from tests.foreign import Foreign

stats = Foreign("scipy.stats")
special = Foreign("scipy.special")

shapes = st.floats(min_value=0.05, max_value=5000)
shares = st.floats(min_value=1e-6, max_value=1 - 1e-6)


@settings(deadline=None)
@given(x=shares, a=shapes, b=shapes)
def test_beta_cdf_is_scipys(x: float, a: float, b: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-8, abs=1e-12)


@settings(deadline=None)
@given(p=shares, a=st.floats(min_value=0.5, max_value=2000), b=st.floats(min_value=0.5, max_value=2000))
def test_beta_quantile_is_scipys(p: float, a: float, b: float) -> None:
    assert beta_quantile(p, a, b) == pytest.approx(float(stats.beta.ppf(p, a, b)), rel=1e-7, abs=1e-11)


def test_beta_has_its_ends() -> None:
    assert beta_cdf(0, 2, 3) == 0
    assert beta_cdf(1, 2, 3) == 1
    assert beta_quantile(0, 2, 3) == 0
    assert beta_quantile(1, 2, 3) == 1
    assert beta_cdf(0.5, 1e5, 1e5) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("df", [1, 2, 3, 5, 9.5, 30, 200, 10_000])
@pytest.mark.parametrize("p", [0.001, 0.025, 0.2, 0.5, 0.8, 0.975, 0.9995])
def test_t_quantile_is_scipys(p: float, df: float) -> None:
    assert t_quantile(p, df) == pytest.approx(float(stats.t.ppf(p, df)), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("df", [1, 2, 3, 10, 100, 10_000])
@pytest.mark.parametrize("tail", [1e-6, 1e-12, 1e-15, 1e-17, 1e-40])
def test_t_quantile_is_precise_far_out(tail: float, df: float) -> None:
    far = float(stats.t.isf(tail, df))
    assert t_quantile(tail, df) == pytest.approx(-far, rel=1e-9)
    assert two_sided_t(1.0 - 1e-6, df) == pytest.approx(float(stats.t.isf(0.5e-6, df)), rel=1e-9)


def test_t_quantile_has_its_ends() -> None:
    assert (t_quantile(0, 3), t_quantile(1, 3)) == (-math.inf, math.inf)
    # Cauchy's quantile is the tangent: 1 / (pi p) far out.
    assert t_quantile(1e-300, 1) == pytest.approx(-1 / (math.pi * 1e-300), rel=1e-9)
    assert t_quantile(0.5 + 0.9999999999999999 / 2, 11) == math.inf
    assert 10 < two_sided_t(0.9999999999999999, 11) < 100


@settings(deadline=None)
@given(x=shares, a=shapes, b=shapes)
def test_the_tail_of_the_beta_is_scipys(x: float, a: float, b: float) -> None:
    assert beta_tail(x, a, b) == pytest.approx(float(special.betaincc(a, b, x)), rel=1e-7, abs=1e-280)


@settings(deadline=None)
@given(n=st.integers(0, 400), data=st.data(), p=shares)
def test_binomial_cdf_is_scipys(n: int, data: st.DataObject, p: float) -> None:
    k = data.draw(st.integers(-1, n + 1))
    assert binomial_cdf(k, n, p) == pytest.approx(float(stats.binom.cdf(k, n, p)), rel=1e-7, abs=1e-12)
    assert binomial_mass(k, n, p) == pytest.approx(float(stats.binom.pmf(k, n, p)), rel=1e-9, abs=1e-300)


@settings(deadline=None)
@given(p=shares)
def test_normal_round_trip(p: float) -> None:
    assert normal_cdf(normal_quantile(p)) == pytest.approx(p, rel=1e-10)


def test_crossing_finds_rising_and_falling_roots() -> None:
    assert crossing(lambda x: x * x - 2, 0, 2) == pytest.approx(math.sqrt(2), rel=1e-14)
    assert crossing(lambda x: 2 - x * x, 0, 2) == pytest.approx(math.sqrt(2), rel=1e-14)


@pytest.mark.parametrize("root", [1e-300, 3e-40, 2.5e-17, 1e-13, 0.1, 1.0])
def test_crossing_is_precise_relative_to_the_root(root: float) -> None:
    assert crossing(lambda x: x - root, 0, 2) == pytest.approx(root, rel=1e-14)
    assert crossing(lambda x: root + x, -2, 0) == pytest.approx(-root, rel=1e-14)
    assert crossing(lambda x: x - root, -2, 2) == pytest.approx(root, rel=1e-14)


def test_small_quantiles_of_the_beta_are_precise() -> None:
    """I_x(1, b) = 1 - (1 - x) ** b, so the quantile is p / b for tiny p."""
    assert beta_quantile(1e-30, 1, 4) == pytest.approx(2.5e-31, rel=1e-12)
