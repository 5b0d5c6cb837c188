"""Non-inferiority: the exact test by brute force, its size, and the score test beside it."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats.noninferiority import EXACT_UP_TO, non_inferiority_p, outcomes
from promptpex.stats.tango_interval import paired_score, tango_interval
from tests.foreign import Foreign

np = pytest.importorskip("numpy")
special = Foreign("scipy.special")
stats = Foreign("scipy.stats")


@cache
def every_outcome(n: int, margin: float, steps: int) -> tuple[Any, Any]:
    """The score of every outcome of ``n`` pairs, and its probability (columns) for each share of the grid (rows)."""
    counts = np.array([(b, c, n - b - c) for b in range(n + 1) for c in range(n + 1 - b)])
    scores = np.array([paired_score(b, c, n, -margin) for b, c, _ in counts.tolist()])
    q = (1 - margin) / 2 * np.linspace(0, 1, steps)[:, None]
    shares = np.maximum(np.hstack([q, q + margin, 1 - margin - 2 * q]), 1e-300)
    ways = special.gammaln(n + 1) - special.gammaln(counts + 1).sum(axis=1)
    return scores, np.exp(ways + np.log(shares) @ counts.T)


def brute_force(b: int, c: int, n: int, margin: float, steps: int = 301) -> float:
    """The largest probability, over the shares, of the outcomes that score no less."""
    scores, masses = every_outcome(n, margin, steps)
    inside = scores >= paired_score(b, c, n, -margin) - 1e-9
    return min(1.0, float(masses[:, inside].sum(axis=1).max()))


def by_the_score(b: float, c: float, n: float, margin: float) -> float:
    return float(stats.norm.sf(paired_score(b, c, n, -margin)))


@pytest.mark.parametrize(("b", "c", "n"), [(0, 0, 10), (2, 1, 14), (0, 3, 12), (4, 0, 12), (1, 9, 12)])
@pytest.mark.parametrize("margin", [0.05, 0.2])
def test_the_exact_test_is_the_supremum(b: int, c: int, n: int, margin: float) -> None:
    assert non_inferiority_p(b, c, n, margin) == pytest.approx(brute_force(b, c, n, margin), rel=0.003)


@pytest.mark.parametrize("n", [20, 58, 59, 100])
def test_without_a_discordant_pair_it_is_the_rule_of_three(n: int) -> None:
    p = non_inferiority_p(0, 0, n, 0.05)
    assert p >= 0.95**n - 1e-12
    assert (p <= 0.05) == (n >= 59)


def test_few_cases_are_not_a_tie() -> None:
    assert non_inferiority_p(1, 1, 24, 0.05) > 0.05
    assert non_inferiority_p(0, 0, 0, 0.05) == 1


def test_many_cases_are_judged_by_the_score_and_agree_with_the_interval() -> None:
    for b, c in ((10, 12), (10, 30), (40, 10)):
        p = non_inferiority_p(b, c, 400, 0.05)
        assert p == pytest.approx(by_the_score(b, c, 400, 0.05))
        assert (p <= 0.025) == (tango_interval(b, c, 400, 0.95).low > -0.05)
    small = EXACT_UP_TO - 10
    assert non_inferiority_p(5, 5, small, 0.05) == pytest.approx(by_the_score(5, 5, small, 0.05), abs=0.02)


@pytest.mark.parametrize(("n", "margin", "alpha"), [(100, 0.1, 0.00625), (150, 0.1, 0.025), (50, 0.05, 0.025)])
def test_the_size_is_kept_where_nearly_all_pairs_differ(n: int, margin: float, alpha: float) -> None:
    """The worst share is often near (1 - margin) / 2, which a grid that is dense at 0 misses by a tenth."""
    possible = outcomes(n, margin)
    columns = zip(possible.first.tolist(), possible.second.tolist(), strict=True)
    shown = np.asarray([non_inferiority_p(b, c, n, margin) <= alpha for b, c in columns])
    assert shown.any()
    worst = 0.0
    for q in (1 - margin) / 2 * np.concatenate([np.linspace(0.9, 1, 200), np.linspace(0, 0.9, 50)]):
        counts = np.column_stack([possible.first, possible.second, n - possible.first - possible.second])[shown]
        shares = np.maximum([q, q + margin, 1 - margin - 2 * q], 1e-300)
        worst = max(worst, float(np.exp(possible.log_ways()[shown] + counts @ np.log(shares)).sum()))
    assert 0.8 * alpha < worst <= 1.01 * alpha


@pytest.mark.parametrize("n", [1, 4, 40, 150, 151, 700])
@pytest.mark.parametrize("margin", [0.03, 0.05, 0.2])
def test_up_to_150_pairs_it_is_exact_and_beyond_by_the_score(n: int, margin: float) -> None:
    for b, c in ((0, 0), (1, 0), (0, 1), (n // 3, n // 4), (n // 10, n // 8), (0, n), (n, 0)):
        if b + c <= n:
            known = brute_force(b, c, n, margin, 601) if n <= 150 else by_the_score(b, c, n, margin)
            assert non_inferiority_p(float(b), float(c), float(n), margin) == pytest.approx(known, rel=0.003)


@pytest.mark.parametrize("n", [20, 100, 400])
def test_between_whole_counts_p_lies_between(n: int) -> None:
    def p(b: float, c: float) -> float:
        return non_inferiority_p(b, c, n, 0.05)

    for b, c in ((0, 1), (3, 5), (8, 4)):
        assert p(b + 1, c) <= p(b + 0.5, c) <= p(b, c) <= p(b, c + 0.25) <= p(b, c + 1)
    assert p(1 / 3, 1 / 3) <= p(0, 1)
    assert non_inferiority_p(2.5, 3.0, n + 0.4, 0.05) == pytest.approx(non_inferiority_p(2.5, 3.0, n, 0.05), rel=0.3)


def test_parts_of_pairs_have_their_limits() -> None:
    assert non_inferiority_p(0, 0, 0, 0.05) == 1
    assert 0 < non_inferiority_p(0, 0, 0.5, 0.05) <= 1
    assert non_inferiority_p(10.9, 0, 10.9, 0.05) == non_inferiority_p(10, 0, 10, 0.05)
    for b, c, n in ((-0.1, 0, 5), (3, 3, 5), (0, 0, -1), (0, float("nan"), 5), (0, 0, float("inf"))):
        with pytest.raises(InputError):
            non_inferiority_p(b, c, n, 0.05)
    with pytest.raises(InputError):
        non_inferiority_p(1, 1, 5, 1.5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 40))
def test_a_better_outcome_never_hurts(b: int, c: int, agreed: int) -> None:
    n = b + c + agreed
    p = non_inferiority_p(b, c, n, 0.1)
    assert 0 <= p <= 1
    if c:
        assert non_inferiority_p(b + 1, c - 1, n, 0.1) <= p + 1e-9


@pytest.mark.parametrize("n", [5, 12, 20, 40])
def test_a_wider_margin_never_loses_what_a_narrower_one_shows(n: int) -> None:
    margins = [0.01, 0.02, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3]
    for b in range(min(n, 8) + 1):
        for c in range(min(n - b, 8) + 1):
            ps = [non_inferiority_p(b, c, n, margin) for margin in margins]
            for alpha in (0.01, 0.025, 0.05, 0.1):
                shown = [p <= alpha for p in ps]
                assert shown == sorted(shown), (b, c, alpha, ps)


def test_large_exact_p_values_need_not_fall_with_the_margin() -> None:
    """What the docstring says of them; the score test's do fall."""
    wide, narrow = (non_inferiority_p(1, 4, 6, margin) for margin in (0.2, 0.1))
    assert wide == pytest.approx(brute_force(1, 4, 6, 0.2), rel=0.003)
    assert narrow == pytest.approx(brute_force(1, 4, 6, 0.1), rel=0.003)
    assert wide > narrow > 0.5
    assert by_the_score(1, 4, 6, 0.2) < by_the_score(1, 4, 6, 0.1)


@pytest.mark.parametrize("q", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("n", [30, 80])
def test_the_error_rate_is_kept_at_the_margin(n: int, q: float) -> None:
    """Exact: the probability of a wrong claim, summed over all outcomes, no sampling."""
    margin = 0.05
    wrong = 0.0
    for b in range(min(n, 25) + 1):
        for c in range(min(n - b, 40) + 1):
            rest = 1 - margin - 2 * q
            mass = math.comb(n, b) * math.comb(n - b, c) * q**b * (q + margin) ** c * rest ** (n - b - c)
            if mass > 1e-9 and non_inferiority_p(b, c, n, margin) <= 0.05:
                wrong += mass
    assert wrong <= 0.05


@pytest.mark.parametrize("margin", [0.0, 1.0, -0.1, 5.0])
def test_a_margin_that_is_no_share_is_refused(margin: float) -> None:
    with pytest.raises(InputError):
        non_inferiority_p(1, 1, 4, margin)
