"""Looks that drop what is worse: all claims of all looks and of the end keep one error rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from promptpex.stats import Grid, Look, looks_at, shown_worse, suitability, suitability_after_looks
from tests.stats.grids import drawn, grid


def test_looks_are_at_quarters_of_twenty_cases_or_more() -> None:
    assert looks_at(200) == (50, 100, 150, 200)
    assert looks_at(30) == (23, 30)
    assert looks_at(20) == (20,)


def raced(whole: Grid) -> tuple[Any, float, dict[str, int]]:
    """A run that drops models as it goes: the decisions, the share that was asked, and who was dropped when."""
    *at, cases = looks_at(whole.broken.shape[1])
    gone: dict[str, int] = {}
    looks: list[Look] = []

    def known(end: int) -> Grid:
        some = whole.only(np.arange(end))
        last = np.array([gone.get(name, end) for name in whole.models])
        inside = np.arange(end)[None, :] < last[:, None]
        return Grid(some.models, some.broken * inside, some.kept * inside, some.open * inside, some.weights)

    for end in at:
        looks.append((known(end), frozenset(gone)))
        gone |= {loser: end for loser, _ in shown_worse(looks, 0.05) if loser not in gone}
    final = known(cases)
    decisions = suitability_after_looks(final, looks, frozenset(gone), tolerance=0.05, planned=len(at))
    return decisions, float(final.asked.sum() / whole.asked.sum()), gone


def test_a_model_far_behind_is_dropped_and_the_others_are_asked_to_the_end() -> None:
    rng = np.random.default_rng(1)
    decisions, asked, gone = raced(drawn(rng, [0.05, 0.6, 0.05], 200))
    assert set(gone) == {"b"}
    assert asked == pytest.approx((2 + gone["b"] / 200) / 3)
    assert decisions.models["b"].outcome == "worse"
    assert {decisions.models[name].outcome for name in "ac"} <= {"undecided", "tied"}


def test_without_anybody_dropped_the_end_has_what_the_looks_leave() -> None:
    """A p-value between .047 and .05 is a claim of one look, and none after three."""
    made = grid([[0] * 100, [1] * 15 + [0] * 85])
    assert suitability(made).models["b"].outcome == "worse"
    assert raced(made)[0].models["b"].outcome == "worse"
    near = grid([[1] * 5 + [0] * 95, [0] * 5 + [1] * 15 + [0] * 80])
    p = suitability(near).models["b"].p
    assert 0.0 < p < 0.05
    for alpha, outcome in ((p / 0.93, "worse"), (p / 0.95, "undecided")):
        decisions = suitability_after_looks(near, [], frozenset(), tolerance=0.05, alpha=alpha, planned=3)
        assert decisions.models["b"].outcome == outcome


@pytest.mark.parametrize("rates", [[0.2] * 4, [0.05, 0.4, 0.4, 0.4]])
def test_all_looks_together_keep_the_error_rate(rates: list[float]) -> None:
    """At a true rate of .05 more than 12 of 100 has probability .0015."""
    rng, wrong = np.random.default_rng(3), 0
    rate = dict(zip("abcd", rates, strict=True))
    for _ in range(100):
        models = raced(drawn(rng, rates, 120))[0].models.values()
        wrong += any(one.beaten_by and rate[one.beaten_by] >= rate[one.model] for one in models)
    assert wrong <= 12
