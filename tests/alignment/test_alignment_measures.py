"""Coverage, false failure rate, alignment and kappa: worked numbers, an oracle, what is not defined."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.alignment.measures import Observation, figures_of
from promptpex.report.cards.words import UNDEFINED
from promptpex.stats import korn_graubard

OBSERVATIONS = st.lists(
    st.builds(Observation, st.booleans(), st.booleans(), st.sampled_from("abcdef")), min_size=0, max_size=40
)


def world(caught: int, missed: int, flagged: int, kept: int) -> list[Observation]:
    """Outputs of as many cases, with a known confusion."""
    kinds = [(True, True)] * caught + [(True, False)] * missed + [(False, True)] * flagged + [(False, False)] * kept
    return [Observation(is_bad, fails, f"c{number}") for number, (is_bad, fails) in enumerate(kinds)]


@pytest.mark.parametrize(
    ("coverage", "ffr", "percent"), [(0.33, 0.10, 48.29), (0.73, 0.39, 66.46), (0.49, 0.39, 54.35)]
)
def test_alignment_is_what_the_paper_prints(coverage: float, ffr: float, percent: float) -> None:
    bad, good = (round(100 * coverage), round(100 * ffr))
    made = figures_of(world(bad, 100 - bad, good, 100 - good))
    assert round(100 * (made.alignment.estimate or 0.0), 2) == percent


def test_a_small_world_with_known_confusion() -> None:
    made = figures_of(world(6, 2, 3, 29))
    assert (made.counts.caught, made.counts.missed, made.counts.flagged, made.counts.kept) == (6, 2, 3, 29)
    assert (made.n, made.cases, made.undefined) == (40, 40, ())
    assert made.coverage.estimate == 0.75
    assert made.coverage.n == 8
    assert made.ffr.estimate == 3 / 32
    assert made.base_rate.estimate == 0.2
    # By hand: agreed 35/40, by chance (8*9 + 32*31) / 40^2.
    chance = (8 * 9 + 32 * 31) / 1600
    assert made.kappa.estimate == pytest.approx((35 / 40 - chance) / (1 - chance))
    assert made.kappa.low < (made.kappa.estimate or 0.0) < made.kappa.high


@given(OBSERVATIONS)
def test_the_figures_are_those_of_counting_one_by_one(observations: list[Observation]) -> None:
    made = figures_of(observations)
    bad = [one for one in observations if one.is_bad]
    good = [one for one in observations if not one.is_bad]
    assert made.coverage.estimate == (sum(one.fails for one in bad) / len(bad) if bad else None)
    assert made.ffr.estimate == (sum(one.fails for one in good) / len(good) if good else None)
    assert (made.coverage.n, made.ffr.n, made.base_rate.n) == (len(bad), len(good), len(observations))
    if made.coverage.estimate is not None and made.ffr.estimate is not None:
        kept = 1.0 - made.ffr.estimate
        below = made.coverage.estimate + kept
        expected = 2.0 * made.coverage.estimate * kept / below if below else None
        assert made.alignment.estimate == (None if expected is None else pytest.approx(expected))
    for figure in (made.coverage, made.ffr, made.alignment, made.kappa, made.base_rate):
        assert figure.estimate is None or figure.low - 1e-9 <= figure.estimate <= figure.high + 1e-9
    lacking = {figure.estimate is None for figure in (made.coverage, made.ffr, made.alignment, made.kappa)}
    assert bool(made.undefined) == (True in lacking)


def test_outputs_of_one_case_are_worth_less() -> None:
    alone = world(6, 2, 3, 29)
    together = [Observation(one.is_bad, one.fails, str(number // 4)) for number, one in enumerate(alone)]
    assert figures_of(together).coverage.high - figures_of(together).coverage.low > 0.5
    few, many = figures_of(together), figures_of(alone)
    assert few.ffr.high > many.ffr.high
    assert few.base_rate.high > many.base_rate.high


@pytest.mark.parametrize(
    ("counts", "undefined"),
    [
        ((0, 0, 0, 0), {"no-labels"}),
        ((0, 0, 1, 3), {"no-bad"}),
        ((0, 0, 0, 3), {"no-bad", "one-answer"}),
        ((0, 0, 3, 0), {"no-bad"}),
        ((2, 1, 0, 0), {"no-good"}),
        ((0, 3, 0, 0), {"no-good"}),
        ((3, 0, 0, 0), {"no-good", "one-answer"}),
        ((0, 3, 4, 0), {"zero"}),
        ((3, 0, 4, 0), set()),
        ((0, 3, 0, 4), set()),
        ((1, 0, 0, 1), set()),
    ],
)
def test_what_is_not_defined_is_named_and_is_not_0(counts: tuple[int, int, int, int], undefined: set[str]) -> None:
    made = figures_of(world(*counts))
    assert set(made.undefined) == undefined
    assert set(made.undefined) <= UNDEFINED.keys()
    if {"no-labels", "no-bad", "no-good", "zero"} & undefined:
        assert made.alignment.estimate is None
        assert (made.alignment.low, made.alignment.high) == (0.0, 1.0)


def test_catching_nothing_is_an_alignment_of_0() -> None:
    made = figures_of(world(0, 5, 1, 9))
    assert (made.alignment.estimate, made.undefined) == (0.0, ())
    assert made.alignment.high > 0.2
    assert made.coverage.high == korn_graubard([0] * 5, [1] * 5).high
