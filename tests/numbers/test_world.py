"""Runs that are put together from records say what the same runs say that were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from promptpex.tables import counted
from tests.numbers.world import Fate, by, cases, counts, frame, ran, simulated, summed

FATES: tuple[Fate, ...] = ("kept", "kept", "broken", "judged broken", "open", "cut")


@pytest.mark.parametrize(("judge", "repeats"), [(True, 1), (False, 1), (False, 2)])
def test_a_simulated_run_is_reported_on_as_one_that_was_asked_for(tmp_path: Path, judge: bool, repeats: int) -> None:
    some = FATES if judge else tuple(fate for fate in FATES if fate in ("kept", "broken", "cut"))
    fates = by({"a": lambda case, repeat: some[(case + repeat) % len(some)], "b": lambda case, repeat: "kept"})
    made = cases(24, 4, inverses=True)
    asked, put_together = (
        summed(run)
        for run in (
            ran(tmp_path, ["a", "b"], made, fates, aims=4, judge=judge, repeats=repeats),
            simulated(["a", "b"], made, fates, aims=4, judge=judge, repeats=repeats),
        )
    )
    assert put_together[1] == asked[1]
    assert put_together[0].answer == asked[0].answer


def test_counts_are_those_of_a_table() -> None:
    rng = np.random.default_rng(3)
    broken: dict[str, Any] = {name: rng.random((20, 3)) < 0.4 for name in "ab"}
    one, other = counted(frame(**broken)), counts(**broken)
    assert (one.not_asked, one.answered) == (other.not_asked, other.answered)
    for grid, same in ((one.asked, other.asked), (one.usable, other.usable)):
        assert grid.models == same.models
        for name in ("broken", "kept", "open", "weights"):
            assert np.array_equal(getattr(grid, name), getattr(same, name)), name
