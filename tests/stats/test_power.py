"""The power of the exact test of two models: summed by hand, and without a step where the approximation begins."""

from __future__ import annotations

import math

import pytest

from promptpex.stats.power import mcnemar_power
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
