"""Sample sizes: statsmodels, simulation, and what a size promises."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats.noninferiority import non_inferiority_p
from promptpex.stats.power import (
    cases_for_difference,
    cases_for_non_inferiority,
    mcnemar_power,
    non_inferiority_power,
)
from tests.stats.oracles import mcnemar_p

np = pytest.importorskip("numpy")


@pytest.mark.parametrize(("n", "b", "c"), [(40, 0.2, 0.05), (100, 0.15, 0.05), (25, 0.5, 0.1)])
def test_power_is_the_sum_over_all_outcomes(n: int, b: float, c: float) -> None:
    total = 0.0
    for i in range(n + 1):
        for j in range(min(i, n - i) + 1):
            if mcnemar_p(i, j) <= 0.05:
                total += math.comb(n, i) * math.comb(n - i, j) * b**i * c**j * (1 - b - c) ** (n - i - j)
    assert mcnemar_power(n, b, c) == pytest.approx(total, abs=1e-6)
    assert mcnemar_power(n, c, b) == pytest.approx(mcnemar_power(n, b, c))


@pytest.mark.parametrize(("b", "c"), [(0.005, 0.0005), (0.004, 0.0), (0.07, 0.04)])
def test_a_thousand_pairs_are_no_threshold(b: float, c: float) -> None:
    before, after = mcnemar_power(1000, b, c), mcnemar_power(1001, b, c)
    assert before < after < before + 0.002


@pytest.mark.parametrize(("b", "c"), [(0.1, 0.08), (0.02, 0.013), (0.5, 0.45)])
def test_the_approximation_takes_over_without_a_step(b: float, c: float) -> None:
    last = math.floor(1000 / (b + c))
    assert mcnemar_power(last + 1, b, c) == pytest.approx(mcnemar_power(last, b, c), abs=0.002)


def test_power_has_its_ends() -> None:
    assert mcnemar_power(0, 0.1, 0.05) == mcnemar_power(50, 0, 0) == 0
    assert mcnemar_power(50, 1, 0) == pytest.approx(1)
    assert mcnemar_power(5, 1, 0) == 0, "five pairs of one side are p = 1/16"
    assert non_inferiority_power(0, 0.1, 0.1, 0.05) == 0
    assert non_inferiority_power(10**9, 1e-9, 1e-9, 0.05) == pytest.approx(1)


def test_a_rare_difference_gets_the_cases_that_it_needs() -> None:
    """Exact by scipy: the sum over all numbers of discordant pairs."""
    stats = pytest.importorskip("scipy.stats")
    n = cases_for_difference(0.01, 0.003)
    assert n is not None
    power = 0.0
    for m in range(6, 120):
        critical = max(k for k in range(-1, m) if 2 * stats.binom.cdf(k, m, 0.5) <= 0.05)
        power += stats.binom.pmf(m, n, 0.013) * stats.binom.cdf(critical, m, 0.003 / 0.013)
    assert 0.8 <= power < 0.803


@settings(deadline=None, max_examples=25)
@given(st.floats(0.05, 0.4), st.floats(0.0, 0.3))
def test_the_size_reaches_its_power(b: float, c: float) -> None:
    if abs(b - c) < 0.04:
        return
    n = cases_for_difference(b, c)
    assert n is not None
    assert mcnemar_power(n, b, c) >= 0.8
    assert mcnemar_power(n - 1, b, c) < 0.8
    assert (cases_for_difference(b, c, alpha=0.01) or 0) >= n


def test_the_exact_test_needs_a_few_more_than_connors_size() -> None:
    """Connor 1987, carried out by hand: shares 0.25 and 0.10, power 0.9; the exact test needs a few more."""
    gap, both = 0.15, 0.35
    connor = ((1.959964 * both**0.5 + 1.281552 * (both - gap**2) ** 0.5) / gap) ** 2
    assert math.ceil(connor) == 160
    n = cases_for_difference(0.25, 0.10, power=0.9)
    assert n is not None
    assert 160 <= n <= 180


def test_sizes_that_do_not_exist() -> None:
    assert cases_for_difference(0.1, 0.1) is None
    assert cases_for_non_inferiority(0.0, 0.1, 0.05) is None
    with pytest.raises(InputError):
        cases_for_difference(0.8, 0.4)


@pytest.mark.parametrize(("alpha", "n"), [(0.05, 59), (0.1, 45)])
def test_models_that_never_differ_need_the_cases_of_the_rule_of_three(alpha: float, n: int) -> None:
    """The chance to see none of 5% of cases, .95 ** n, is alpha at most."""
    assert 0.95**n <= alpha < 0.95 ** (n - 1)
    assert cases_for_non_inferiority(0.0, 0.0, 0.05, alpha=alpha) == n
    assert non_inferiority_p(0, 0, n, 0.05) <= alpha < non_inferiority_p(0, 0, n - 1, 0.05)


@pytest.mark.parametrize(("n", "b", "c", "margin"), [(30, 0.02, 0.02, 0.2), (45, 0.1, 0.05, 0.1), (12, 0.0, 0.3, 0.4)])
def test_the_power_of_a_tie_is_the_sum_over_all_outcomes(n: int, b: float, c: float, margin: float) -> None:
    total = 0.0
    for i in range(n + 1):
        for j in range(n + 1 - i):
            if non_inferiority_p(i, j, n, margin) <= 0.05:
                total += math.comb(n, i) * math.comb(n - i, j) * b**i * c**j * (1 - b - c) ** (n - i - j)
    assert non_inferiority_power(n, b, c, margin) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(
    ("b", "c", "margin"), [(0.08, 0.08, 0.1), (0.02, 0.02, 0.05), (0.05, 0.05, 0.05), (0.1, 0.05, 0.03)]
)
@pytest.mark.parametrize("alpha", [0.05, 0.0125])
def test_the_size_of_a_tie_by_simulation(b: float, c: float, margin: float, alpha: float) -> None:
    n = cases_for_non_inferiority(b, c, margin, alpha=alpha)
    assert n is not None
    rows = np.random.default_rng(1).multinomial(n, [b, c, 1 - b - c], size=2000).tolist()
    shown = sum(non_inferiority_p(i, j, n, margin) <= alpha for i, j, _ in rows)
    # Four standard errors of 0.8 are 0.036; the power is a little more than asked for, by as much as a case adds.
    assert 0.764 < shown / 2000 < 0.90
    assert non_inferiority_power(n - 1, b, c, margin, alpha=alpha) < 0.8


def test_where_outcomes_are_too_many_the_normal_approximation_is_as_good() -> None:
    n, b, c, margin = 20_000, 0.1, 0.1, 0.01
    rows = np.random.default_rng(3).multinomial(n, [b, c, 1 - b - c], size=4000).tolist()
    shown = sum(non_inferiority_p(i, j, n, margin) <= 0.05 for i, j, _ in rows)
    assert non_inferiority_power(n, b, c, margin) == pytest.approx(shown / 4000, abs=0.02)
