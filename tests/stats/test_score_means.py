"""Decisions by mean scores err as seldom as they say, for scores that are skewed and of which many are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from promptpex.core.errors import InputError
from promptpex.stats import ScoreGrid, suitability_by_scores


def grid(*models: Any, missing: tuple[int, ...] = ()) -> ScoreGrid:
    """One score for each model and case; the first ``missing`` scores of each model are not there."""
    seen = np.array(models, dtype=np.float64)
    low, high = seen.copy(), seen.copy()
    for row, count in enumerate(missing):
        seen[row, :count], low[row, :count], high[row, :count] = np.nan, 0.0, 1.0
    cases = seen.shape[1]
    return ScoreGrid(
        models=tuple("abc"[: len(models)]),
        low=low,
        high=high,
        seen=seen,
        scored=tuple(int((~np.isnan(row)).sum()) for row in seen),
        asked=(cases,) * len(models),
        weights=np.ones(cases, dtype=np.int64),
    )


def outcome(of: ScoreGrid, model: str = "b") -> str:
    return suitability_by_scores(of, tolerance=0.05).models[model].outcome


@pytest.mark.parametrize("shape", ["skewed", "rounded", "rare"])
def test_errors_are_no_more_frequent_than_they_may_be(shape: str) -> None:
    """Each at 5% at most: of 300 samples 31 or more would have a chance below 1 in 1,000."""
    rng, worse, tied = np.random.default_rng(7), 0, 0
    for _ in range(300):
        level, noise = rng.beta(4, 1, 40), rng.normal(0, 0.15, (2, 40))
        if shape == "rare":
            noise = np.where(rng.random((2, 40)) < 0.05, -0.8, 0.0)
        first, second = np.clip(level + noise, 0.05, 1.0)
        if shape == "rounded":
            first, second = (np.round(one * 4) / 4 * 0.95 + 0.05 for one in (first, second))
        worse += any(outcome(grid(first, second), name) == "worse" for name in "ab")
        tied += outcome(grid(first, second - 0.05)) == "tied"
    assert max(worse, tied) <= 30


def test_what_is_open_is_read_against_every_claim() -> None:
    high, low = [0.9] * 40, [0.4] * 40
    assert outcome(grid(high, low)) == "worse"
    assert outcome(grid(high, low, missing=(30, 0))) == "undecided"
    by_chance = suitability_by_scores(grid(high, low, missing=(30, 0)), tolerance=0.05, reading="seen")
    assert by_chance.models["b"].outcome == "worse"
    assert outcome(grid([0.8] * 200, [0.79] * 200)) == "worse"
    near = [0.8, 0.79] * 100, [0.79, 0.8] * 100
    assert outcome(grid(*near)) == "tied"
    assert outcome(grid(*near, missing=(0, 60))) == "undecided"


def test_a_difference_is_in_its_interval_and_has_no_estimate_where_scores_are_missing() -> None:
    known = grid([0.9, 0.8, 0.7] * 5, [0.5, 0.6, 0.4] * 5)
    gap = known.difference(1, 0, 0.95)
    assert gap is not None
    assert gap.estimate == pytest.approx(0.3)
    assert gap.low < 0.3 < gap.high
    open_ = grid([0.9, 0.8, 0.7] * 5, [0.5, 0.6, 0.4] * 5, missing=(3, 0)).difference(1, 0, 0.95)
    assert open_ is not None
    assert open_.estimate is None
    assert open_.low < gap.low


def test_impossible_questions_are_refused() -> None:
    with pytest.raises(InputError, match="There is no model 'z'"):
        suitability_by_scores(grid([0.5]), tolerance=0.05, against="z")
    assert outcome(grid([0.5]), "a") == "only model"
