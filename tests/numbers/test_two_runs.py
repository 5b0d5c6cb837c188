"""Two runs of the same models: what is called a change, adjusted over the models, however the unscored came out."""

from __future__ import annotations

import numpy as np
import pytest

from promptpex import tables
from promptpex.report.run_comparison import compare_runs
from tests.numbers.world import Fate, by, cases, first, frame, simulated

SIMULATIONS = 40


def test_within_tolerance_is_adjusted_over_the_models() -> None:
    """Eight models, each worse by exactly the tolerance: that one of them is called close has the level over all."""
    rng, close = np.random.default_rng(1), 0
    names = [f"m{number}" for number in range(8)]
    for _ in range(SIMULATIONS):
        before, after = (frame(**dict(zip(names, rng.random((8, 300)) < share, strict=True))) for share in (0.05, 0.1))
        pairs, ids = [(name, name) for name in names], list(before["case"].unique())
        comparison = tables.comparison(before, after, models=pairs, cases=ids, tolerance=0.05)
        close += bool(comparison["within_tolerance"].any())
    # 0.06 and two and a half standard errors of so many draws; one model at a time it was 0.2.
    assert close <= 0.154 * SIMULATIONS


def test_one_model_of_many_has_to_be_surer_than_one_alone() -> None:
    """Six cases broken and none fixed: p = 0.031, shown for one model, and not for one of three."""
    made = cases(100, 16)
    same = {name: first(0) for name in "abc"}
    alone = compare_runs(simulated(["a"], made, by(same)), simulated(["a"], made, by({"a": first(6)})))
    among = compare_runs(
        simulated(list("abc"), made, by(same)), simulated(list("abc"), made, by({**same, "a": first(6)}))
    )
    assert alone.models["p"].iloc[0] == among.models["p"].iloc[0] == pytest.approx(2 / 2**6)
    assert (alone.models["decision"].iloc[0], among.models["decision"].iloc[0]) == ("worse", "undecided")
    assert among.models["p_adjusted"].iloc[0] == pytest.approx(3 * 2 / 2**6)
    assert alone.regressions == ("fake/a",)
    assert among.regressions == ()


@pytest.mark.parametrize("fate", ["cut", "open"])
def test_unscored_outputs_keep_a_change_undecided_and_are_the_reason(fate: Fate) -> None:
    made = cases(200, 16)
    before = simulated(["a"], made, by({"a": first(60, fate=fate)}))
    after = simulated(["a"], made, by({"a": lambda case, repeat: "broken" if case >= 175 else "kept"}))
    comparison = compare_runs(before, after)
    assert comparison.models["decision"].item() == "undecided"
    assert comparison.models["undecided_because"].item() == "60 of 200 outputs before are unscored"
    assert "Undecided because 60 of 200 outputs before are unscored." in comparison.answer
    assert comparison.regressions == ()


def test_a_change_that_holds_in_both_completions_is_shown() -> None:
    made = cases(200, 16)
    before = simulated(["a"], made, by({"a": first(5, fate="cut")}))
    comparison = compare_runs(before, simulated(["a"], made, by({"a": first(60)})))
    assert (comparison.models["decision"].item(), comparison.regressions) == ("worse", ("fake/a",))
    assert compare_runs(simulated(["a"], made, by({"a": first(60)})), before).models["decision"].item() == "better"


def test_a_loss_within_the_tolerance_is_shown_or_a_regression() -> None:
    made = cases(300, 16)
    before = simulated(["a"], made, by({"a": first(0)}))
    small, large = (simulated(["a"], made, by({"a": first(count)})) for count in (8, 40))
    assert compare_runs(before, small).regressions == ("fake/a",)
    assert compare_runs(before, small, tolerance=0.1).regressions == ()
    assert compare_runs(before, large, tolerance=0.1).regressions == ("fake/a",)
