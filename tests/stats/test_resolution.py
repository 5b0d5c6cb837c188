"""What a suite can show at best: figures by hand, the tests that they speak of, and simulation."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.core.errors import InputError
from promptpex.stats import clopper_pearson, holm, smallest_shown
from promptpex.stats.noninferiority import non_inferiority_p
from tests.stats.oracles import mcnemar_p

np = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    ("cases", "models", "differ"),
    # Signs all one way: 2 ** -5 = 1/32 <= .05; 10 pairs: 10 * 2 ** -8 = .039; 28 pairs: 28 * 2 ** -10 = .027.
    [(30, 2, 6), (30, 5, 9), (30, 8, 11), (100, 2, 6), (6, 2, 6)],
)
def test_the_smallest_gap_by_hand(cases: int, models: int, differ: int) -> None:
    got = smallest_shown(cases, models)
    assert got.gap == differ / cases
    assert got.cases_to_call == differ * 20, "five points of so many cases are so many cases"
    pairs = models * (models - 1) // 2
    assert pairs * mcnemar_p(differ, 0) <= 0.05 < pairs * mcnemar_p(differ - 1, 0)


def test_too_few_cases_call_nothing() -> None:
    assert smallest_shown(5, 2).gap is None
    assert smallest_shown(8, 5).gap is None
    assert smallest_shown(1, 2).tie == 0.951


def test_the_smallest_tie_is_the_rule_of_three() -> None:
    """(1 - .096) ** 30 = .048 and (1 - .095) ** 30 = .0501; (1 - .05) ** 59 = .0485 and ** 58 = .051."""
    got = smallest_shown(30, 2)
    assert (got.tie, got.cases_to_tie) == (0.096, 59)
    assert smallest_shown(59, 2).tie == 0.05
    assert smallest_shown(58, 2).tie == 0.051


@pytest.mark.parametrize(("cases", "models"), [(30, 5), (75, 3), (304, 4)])
def test_the_smallest_tie_is_the_least_that_is_shown(cases: int, models: int) -> None:
    got = smallest_shown(cases, models)
    assert got.tie is not None
    assert got.cases_to_tie is not None

    def shown(n: int, tolerance: float) -> bool:
        same = non_inferiority_p(0, 0, n, tolerance)
        return holm([same] * (models - 1))[0] <= 0.05

    assert shown(cases, got.tie)
    assert not shown(cases, got.tie - 0.001)
    assert shown(got.cases_to_tie, 0.05)
    assert not any(shown(n, 0.05) for n in range(1, got.cases_to_tie))


def test_one_model_has_an_interval_and_nothing_to_compare() -> None:
    got = smallest_shown(30, 1)
    assert got.half_width == pytest.approx(clopper_pearson(3, 30).width / 2)
    assert (got.gap, got.tie, got.cases_to_call, got.cases_to_tie) == (None,) * 4
    assert (got.typical_to_call, got.typical_to_tie) == (None, None)


@pytest.mark.parametrize("models", [2, 4])
def test_the_typical_numbers_by_simulation(models: int) -> None:
    got = smallest_shown(30, models, tolerance=0.1)
    assert got.typical_to_call is not None
    assert got.typical_to_tie is not None
    rng = np.random.default_rng(4)
    rounds = 600
    called = tied = 0
    for _ in range(rounds):
        pair = passed_alone(rng.random((2, got.typical_to_call)) < [[0.1], [0.2]])
        called += (models * (models - 1) // 2) * mcnemar_p(*pair[1]) <= 0.05
        level = passed_alone(rng.random((models, got.typical_to_tie)) < 0.1)
        worst = max(non_inferiority_p(*level[other], got.typical_to_tie, 0.1) for other in range(1, models))
        tied += (models - 1) * worst <= 0.05
    # Three and a half standard errors of 600 rounds are 0.057; several ties at once hang together, which helps.
    assert called / rounds == pytest.approx(0.8, abs=0.057)
    assert 0.743 < tied / rounds < 0.93


def passed_alone(failed: Any) -> dict[int, tuple[int, int]]:
    """For every row but the first, the cases that the first alone passes, and those that it alone does; True failed."""
    first = failed[0]
    return {i: (int((~first & row).sum()), int((first & ~row).sum())) for i, row in enumerate(failed) if i}


def test_what_makes_no_sense_is_refused() -> None:
    for cases, models in ((0, 2), (5, 0)):
        with pytest.raises(InputError):
            smallest_shown(cases, models)
    with pytest.raises(InputError):
        smallest_shown(5, 2, tolerance=0.0)
    with pytest.raises(InputError):
        smallest_shown(5, 2, rate=0.99)
    assert smallest_shown(5, 2, rate=0.0).typical_to_tie == 59
