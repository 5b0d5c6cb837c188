"""The clustered bootstrap: clusters drawn by hand, and large tables."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.stats.bootstrap import resampled_bounds, share_bootstrap

np = pytest.importorskip("numpy")


def test_bootstrap_ends_are_those_of_drawing_clusters_by_hand() -> None:
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, 5, 12), np.full(12, 4)])

    def bounds(rows: Any, seed: int) -> tuple[float, float]:
        return resampled_bounds(rows, ratio, seed=seed, confidence=0.95, draws=20_000)

    drawn = rng.integers(12, size=(20_000, 12))
    by_hand = np.sort(rows[drawn, 0].sum(axis=1) / 48)
    got = bounds(rows, 1)
    assert got == pytest.approx((by_hand[500], by_hand[19_499]), abs=0.022)
    assert got == bounds(rows[::-1], 1)
    assert bounds([(1.0, 2.0)] * 9, 1) == (0.5, 0.5)


def ratio(sums: Any) -> Any:
    return sums[:, 0] / sums[:, 1]


def test_large_tables_are_drawn_in_blocks() -> None:
    rows = [(float(i % 2), 1.0, float(i)) for i in range(3000)]
    low, high = resampled_bounds(rows, ratio, seed=1, confidence=0.95, draws=2500)
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / 3000**0.5, rel=0.1)


def test_the_bootstrap_of_a_share_is_that_of_its_clusters_and_shrinks_to_nothing_at_the_ends() -> None:
    totals, sizes = [0, 2, 1, 3, 0, 3], [3, 3, 2, 3, 0, 4]
    made = share_bootstrap(totals, sizes, seed=1, draws=20_000)
    assert (made.estimate, made.n, made.method) == (9 / 15, 15, "cluster-bootstrap")
    drawn = np.random.default_rng(2).integers(5, size=(20_000, 5))
    ones, all_ = np.array([0, 2, 1, 3, 3])[drawn].sum(axis=1), np.array([3, 3, 2, 3, 4])[drawn].sum(axis=1)
    assert (made.low, made.high) == pytest.approx(tuple(np.quantile(ones / all_, [0.025, 0.975])), abs=0.02)
    assert share_bootstrap(totals, sizes, seed=1, draws=20_000) == made
    nothing = share_bootstrap([0] * 12, [1] * 12)
    assert (nothing.low, nothing.high) == (0.0, 0.0)
    assert share_bootstrap([], []).estimate is None
