"""Whether a rise beyond a margin is shown: against sums over all outcomes, and how its p-values go together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats import Grid, cases_to_show, pair, regression_p, sign_flip_p
from promptpex.stats.noninferiority import inferiority_p, non_inferiority_p
from promptpex.stats.tango_interval import paired_score


def grid(*rows: list[int], repeats: int = 1, open_: int = 0) -> Grid:
    broken = np.array(rows, dtype=np.int64)
    missing = np.zeros_like(broken)
    missing[:, :open_] = repeats
    broken[:, :open_] = 0
    ones = np.ones(broken.shape[1], dtype=np.int64)
    kept = repeats - broken - missing
    return Grid(tuple("ab"[: len(rows)]), broken, kept, missing, ones)


def by_summing(first: int, second: int, n: int, margin: float) -> float:
    """The p-value by the definition: over all outcomes, over a fine grid of the share that is not known."""
    seen = paired_score(first, second, n, -margin)
    outcomes = [(b, c) for b in range(n + 1) for c in range(n + 1 - b) if paired_score(b, c, n, -margin) <= seen + 1e-9]
    ways = [math.comb(n, b) * math.comb(n - b, c) for b, c in outcomes]
    most = 0.0
    for q in np.linspace(0.0, (1 - margin) / 2, 400):
        rest = max(0.0, 1 - margin - 2 * q)
        chance = sum(
            way * q**b * (q + margin) ** c * rest ** (n - b - c) for way, (b, c) in zip(ways, outcomes, strict=True)
        )
        most = max(most, chance)
    return most


@pytest.mark.parametrize(
    ("first", "second", "n"), [(0, 3, 10), (1, 6, 14), (0, 0, 8), (2, 2, 12), (5, 1, 12), (0, 9, 9)]
)
@pytest.mark.parametrize("margin", [0.03, 0.1, 0.3])
def test_it_is_the_largest_chance_of_an_outcome_as_bad(first: int, second: int, n: int, margin: float) -> None:
    assert inferiority_p(first, second, n, margin) == pytest.approx(by_summing(first, second, n, margin), rel=0.01)


@pytest.mark.parametrize("n", [160, 400])
def test_of_many_cases_it_is_the_scores_own(n: int) -> None:
    assert inferiority_p(5, 25, n, 0.05) + non_inferiority_p(5, 25, n, 0.05) == pytest.approx(1.0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
def test_no_rise_means_no_rise_beyond_a_margin(cases: list[tuple[int, int]]) -> None:
    paired = pair(grid([b for b, _ in cases], [a for _, a in cases], repeats=2), 1, 0)
    none, some = regression_p(paired, 0.0), regression_p(paired, 0.1)
    assert 0.0 <= none <= some <= 1.0
    if int(paired.whole.sum()) > 0:
        assert none == sign_flip_p(paired.whole) / 2


def test_more_newly_failing_cases_are_surer() -> None:
    before = [0] * 60
    p_values = [regression_p(pair(grid(before, [1] * n + [0] * (60 - n)), 1, 0), 0.05) for n in range(0, 30, 3)]
    assert p_values == sorted(p_values, reverse=True)
    assert p_values[0] == 1.0
    assert p_values[-1] < 0.001


def test_without_a_common_case_nothing_is_shown() -> None:
    nothing = grid([0, 0], [1, 1], open_=2)
    assert regression_p(pair(nothing, 1, 0), 0.03) == 1.0


@pytest.mark.parametrize("margin", [0.0, 0.03, 0.3])
def test_the_fewest_cases_that_could_show_a_rise_are_the_fewest(margin: float) -> None:
    needed = cases_to_show(1, margin, 0.05)
    p_values = [regression_p(pair(grid([0] * n, [1] * n), 1, 0), margin) for n in (needed - 1, needed)]
    assert p_values[0] > 0.05 >= p_values[1]
    assert cases_to_show(needed + 7, margin, 0.05) == needed + 7


@pytest.mark.parametrize("margin", [-0.1, 1.0, 1.5, float("nan")])
def test_a_margin_is_a_share(margin: float) -> None:
    with pytest.raises(InputError, match="margin"):
        regression_p(pair(grid([0], [1]), 1, 0), margin)
    with pytest.raises(InputError, match="margin"):
        cases_to_show(5, margin, 0.05)
    with pytest.raises(InputError):
        inferiority_p(1, 1, 5, margin)
