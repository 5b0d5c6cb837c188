"""The smallest difference that a suite will probably show: the shipped tests show it four times in five."""

from __future__ import annotations

import numpy as np
import pytest

from promptpex.core.errors import InputError
from promptpex.stats import likely_gap, suitability
from tests.stats.grids import drawn


@pytest.mark.parametrize(("cases", "models", "repeats"), [(30, 2, 1), (100, 2, 3), (100, 4, 1)])
def test_a_gap_of_that_size_is_shown_four_times_in_five(cases: int, models: int, repeats: int) -> None:
    gap = likely_gap(cases, models, 0.1, repeats=repeats)
    assert gap is not None
    rng, shown = np.random.default_rng(1), 0
    for _ in range(150):
        made = drawn(rng, [0.1] * (models - 1) + [0.1 + gap], cases, repeats=repeats)
        shown += suitability(made).models["abcd"[models - 1]].outcome == "worse"
    # Of 150 at .8 fewer than 105 have probability .002; with more models one of them is enough.
    assert shown >= 105


def test_more_cases_and_more_repeats_show_less() -> None:
    gaps = [likely_gap(cases, 2, 0.1) for cases in (20, 30, 100, 1000)]
    assert gaps == sorted(gaps, key=lambda gap: -(gap or 0.0))
    once, often = likely_gap(30, 2, 0.1), likely_gap(30, 2, 0.1, repeats=5)
    assert once is not None
    assert often is not None
    assert often < once
    assert likely_gap(5, 2, 0.1) is None


def test_what_makes_no_sense_is_refused() -> None:
    for cases, models in ((0, 2), (10, 1)):
        with pytest.raises(InputError):
            likely_gap(cases, models, 0.1)
