"""Sample sizes: statsmodels, simulation, and what a size promises."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.errors import InputError
from promptpex.stats.noninferiority import non_inferiority
from promptpex.stats.paired import PairedCounts, mcnemar
from promptpex.stats.power import (
    cases_for_difference,
    cases_for_non_inferiority,
    mcnemar_power,
    more_cases_to_decide,
)

np = pytest.importorskip("numpy")


@pytest.mark.parametrize(("n", "b", "c"), [(40, 0.2, 0.05), (100, 0.15, 0.05), (25, 0.5, 0.1)])
def test_power_is_the_sum_over_all_outcomes(n: int, b: float, c: float) -> None:
    total = 0.0
    for i in range(n + 1):
        for j in range(min(i, n - i) + 1):
            if mcnemar(PairedCounts(n - i - j, i, j, 0)) <= 0.05:
                total += math.comb(n, i) * math.comb(n - i, j) * b**i * c**j * (1 - b - c) ** (n - i - j)
    assert mcnemar_power(n, b, c) == pytest.approx(total, abs=1e-6)
    assert mcnemar_power(n, c, b) == pytest.approx(mcnemar_power(n, b, c))


def test_the_approximation_takes_over_without_a_step() -> None:
    assert mcnemar_power(1001, 0.07, 0.04) == pytest.approx(mcnemar_power(1000, 0.07, 0.04), abs=0.03)
    assert mcnemar_power(0, 0.1, 0.05) == mcnemar_power(50, 0, 0) == 0
    assert mcnemar_power(50, 1, 0) == pytest.approx(1)


@settings(deadline=None, max_examples=25)
@given(st.floats(0.05, 0.4), st.floats(0.0, 0.3))
def test_the_size_reaches_its_power(b: float, c: float) -> None:
    if abs(b - c) < 0.04:
        return
    n = cases_for_difference(b, c)
    assert n is not None
    assert mcnemar_power(n, b, c) >= 0.79
    assert mcnemar_power(max(1, n - 1), b, c) < 0.8 or n > 900
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


def test_non_inferiority_size_by_simulation() -> None:
    b, c, margin = 0.08, 0.08, 0.1
    n = cases_for_non_inferiority(b, c, margin)
    assert n is not None
    rows = np.random.default_rng(1).multinomial(n, [b, c, 1 - b - c], size=400).tolist()
    shown = sum(non_inferiority(PairedCounts(k, i, j, 0), margin).shown for i, j, k in rows)
    assert 0.7 < shown / 400 < 0.92


def test_more_cases_decide_a_pair() -> None:
    assert more_cases_to_decide(PairedCounts(30, 1, 6, 3), 0.05) == (cases_for_difference(6.5 / 41, 1.5 / 41) or 0) - 40
    alike = more_cases_to_decide(PairedCounts(38, 1, 1, 0), 0.05)
    assert alike is not None
    assert 50 < alike < 400
    closer = more_cases_to_decide(PairedCounts(38, 1, 1, 0), 0.01)
    assert closer is not None
    assert closer > alike
    assert more_cases_to_decide(PairedCounts(0, 0, 0, 0), 0.05) is not None
