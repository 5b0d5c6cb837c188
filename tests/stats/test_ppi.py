"""Prediction-powered means: the formula, coverage with a biased judge, and honesty with few grades."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats.ppi import best_power, ppi_mean
from tests.stats.references import covers

np = pytest.importorskip("numpy")
binary = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40)


def test_the_estimate_is_the_papers() -> None:
    """Angelopoulos et al. 2023: judge's mean on the rest, less his mean error on the graded."""
    got = ppi_mean([1, 0, 1, 1], [1, 1, 1, 0], [1, 1, 0, 1, 1, 0, 1, 1], power=1.0)
    assert got.interval.estimate == pytest.approx(0.75 + (0 - 1 + 0 + 1) / 4)
    assert got.bias == 0
    assert (got.graded, got.judged, got.power) == (4, 8, 1.0)


def test_the_best_power_is_where_the_variance_is_least() -> None:
    rng = np.random.default_rng(2)
    truth = rng.random(3000) < 0.6
    judge = np.where(rng.random(3000) < 0.85, truth, ~truth).astype(float)
    grades, verdicts, rest = truth[:500].astype(float), judge[:500], judge[500:]
    chosen = best_power(grades.tolist(), verdicts.tolist(), rest.tolist())
    weights = np.linspace(0, 1, 101)
    variance = [w**2 * rest.var(ddof=1) / 2500 + (grades - w * verdicts).var(ddof=1) / 500 for w in weights]
    assert chosen == pytest.approx(weights[int(np.argmin(variance))], abs=0.03)


@settings(deadline=None)
@given(binary, st.lists(st.booleans(), max_size=60))
def test_intervals_are_within_bounds_and_never_empty(pairs: list[tuple[bool, bool]], rest: list[bool]) -> None:
    got = ppi_mean([float(g) for g, _ in pairs], [float(v) for _, v in pairs], [float(v) for v in rest])
    assert got.interval.estimate is not None
    assert 0 <= got.interval.low <= got.interval.estimate <= got.interval.high <= 1
    assert got.interval.width > 0
    assert 0 <= got.power <= 1
    if not rest:
        assert (got.interval.low, got.interval.high) == (got.classical.low, got.classical.high)


def test_a_useless_judge_is_ignored_and_a_good_one_is_used() -> None:
    rng = np.random.default_rng(3)
    truth = (rng.random(1100) < 0.7).astype(float).tolist()
    coin = (rng.random(1100) < 0.5).astype(float).tolist()
    good = ppi_mean(truth[:100], truth[:100], truth[100:])
    bad = ppi_mean(truth[:100], coin[:100], coin[100:])
    assert good.power > 0.8
    assert good.interval.width < 0.6 * good.classical.width
    assert bad.power < 0.2
    assert bad.interval.width < 1.1 * bad.classical.width


def test_three_grades_that_all_agree_are_not_proof() -> None:
    got = ppi_mean([1, 1, 1], [1, 1, 1], [1.0] * 500)
    assert got.interval.low < 0.5


@pytest.mark.parametrize(
    ("n", "share", "accuracy", "bias"), [(40, 0.7, 0.9, 0.3), (25, 0.85, 0.9, 0.0), (60, 0.5, 0.7, 0.1)]
)
def test_coverage_though_the_judge_is_biased(n: int, share: float, accuracy: float, bias: float) -> None:
    rng = np.random.default_rng(4)
    rounds, rest = 500, 600
    covered = naive = 0
    for _ in range(rounds):
        truth = rng.random(n + rest) < share
        judge = np.where(rng.random(n + rest) < accuracy, truth, ~truth) | (rng.random(n + rest) < bias)
        grades, verdicts = truth[:n].astype(float).tolist(), judge.astype(float).tolist()
        covered += covers(ppi_mean(grades, verdicts[:n], verdicts[n:]).interval, share)
        naive += abs(float(judge.mean()) - share) < 1.96 * (share * (1 - share) / (n + rest)) ** 0.5
    assert covered / rounds > 0.92
    if bias == 0.3:
        assert naive / rounds < 0.1


@pytest.mark.parametrize(("grades", "verdicts"), [([1.0], [1.0]), ([1.0, 0.0], [1.0]), ([1.0, 2.0], [1.0, 0.0])])
def test_what_cannot_be_used_is_refused(grades: list[float], verdicts: list[float]) -> None:
    with pytest.raises(InputError):
        ppi_mean(grades, verdicts, [1.0])


def test_a_confidence_next_to_one_leaves_nearly_everything_open() -> None:
    got = ppi_mean([1, 0, 1], [1, 1, 0], [1, 0], confidence=0.9999999999999999)
    assert (got.interval.low, got.interval.high) == (0, 1)
