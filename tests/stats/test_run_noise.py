"""Run-to-run noise from answers to the same cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from promptpex.stats import Grid, clopper_pearson, run_noise


def grid(broken: list[int], kept: list[int], weights: list[int] | None = None) -> Grid:
    failing, passing, none = (np.array([row], dtype=np.int64) for row in (broken, kept, [0] * len(broken)))
    some = np.array(weights or [1] * len(broken), dtype=np.int64)
    return Grid(("m",), failing, passing, none, some)


def test_of_two_runs_it_is_the_share_of_cases_that_differ() -> None:
    measured = run_noise(grid([1] * 7 + [0] * 50 + [2] * 9, [1] * 7 + [2] * 50 + [0] * 9), 0)
    assert measured is not None
    exact = clopper_pearson(7, 66)
    assert (measured.differing.estimate, measured.differing.n) == (7 / 66, 66)
    assert measured.differing.low == pytest.approx(exact.low)
    assert measured.differing.high == pytest.approx(exact.high)
    assert measured.points == pytest.approx(1.959964 * math.sqrt(7 / 66 / 66), rel=1e-5)
    assert measured.points_at_most == pytest.approx(1.959964 * math.sqrt(exact.high / 66), rel=1e-5)


def test_of_more_answers_it_is_the_share_of_pairs_that_differ() -> None:
    """3 of 4 answers break: 3 pairs of 6 differ; the unbiased estimate of 2p(1-p)."""
    measured = run_noise(grid([3, 0, 4, 2], [1, 4, 0, 2]), 0)
    assert measured is not None
    assert measured.differing.estimate == pytest.approx((3 + 0 + 0 + 4) / 24)


def test_repeats_weights_and_several_groups_of_cases() -> None:
    one, three = (run_noise(grid([1] * 30, [1] * 30), 0, repeats=repeats) for repeats in (1, 3))
    assert one is not None
    assert three is not None
    assert one.points == pytest.approx(three.points * math.sqrt(3))
    halves = run_noise(grid([1] * 60, [1] * 60), 0, groups=2)
    assert halves is not None
    assert halves.points == pytest.approx(one.points)
    weighed = run_noise(grid([1] * 30, [1] * 30, [9] + [1] * 29), 0)
    assert weighed is not None
    assert weighed.points > one.points


def test_one_answer_a_case_says_nothing() -> None:
    assert run_noise(grid([1, 0, 0], [0, 1, 0]), 0) is None
    assert run_noise(grid([], []), 0) is None
