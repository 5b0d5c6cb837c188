"""Interval and test take the rules as fixed, and beside each claim stands whether it holds if they were a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from promptpex.report.run_comparison import compare_runs
from promptpex.report.secondary_tables import footnotes
from promptpex.tables import Counted, RankingOptions
from promptpex.tables.rankings import rank
from tests.numbers.world import by, cases, counts, first, simulated, summed

SIMULATIONS = 200
RULES, CORRELATION = 16, 0.1


def places(rows: dict[str, dict[str, Any]]) -> dict[str, tuple[str, bool | None]]:
    return {name: (row["decision"], row["holds_sampled"]) for name, row in rows.items()}


def test_a_claim_that_rests_on_one_rule_alone_does_not_hold_for_a_sample() -> None:
    fates = by({"a": first(0), "b": lambda case, repeat: "broken" if case % 16 == 0 else "kept"})
    summary, rows = summed(simulated(["a", "b"], cases(304, 16), fates, judge=False))
    assert rows["b"]["non_compliant"] == 19
    assert places(rows) == {"a": ("best", False), "b": ("worse", False)}
    assert summary.answer is not None
    assert (
        "If the rules were only a sample of the prompt's, this would not hold for fake/a and fake/b." in summary.answer
    )
    assert any(note.startswith("† would not hold if these rules were a sample") for note in footnotes(summary))


def test_a_claim_that_every_rule_bears_out_holds_for_a_sample() -> None:
    summary, rows = summed(simulated(["a", "b"], cases(96, 16), by({"a": first(0), "b": first(48)}), judge=False))
    assert places(rows) == {"a": ("best", True), "b": ("worse", True)}
    assert summary.answer is not None
    assert "This would also hold if the rules were only a sample of the prompt's." in summary.answer
    assert not any("†" in note for note in footnotes(summary))


def test_ties_hold_for_a_sample_where_the_rules_are_many() -> None:
    same = by({"a": first(3), "b": first(3)})
    few = summed(simulated(["a", "b"], cases(300, 2), same, aims=2, judge=False))[1]
    many = summed(simulated(["a", "b"], cases(300, 100), same, aims=100, judge=False))[1]
    assert places(few) == {"a": ("tied", False), "b": ("tied", False)}
    assert places(many) == {"a": ("tied", True), "b": ("tied", True)}


def test_what_is_not_claimed_holds_nowhere() -> None:
    _, rows = summed(
        simulated(["a", "b", "dead"], cases(30, 4), by({"a": first(3), "b": first(4), "dead": first(30, fate="cut")}))
    )
    assert places(rows) == {"a": ("undecided", None), "b": ("undecided", None), "dead": ("unscored", None)}
    assert rows["a"]["sampled_low"] <= rows["a"]["ci_low"] < rows["a"]["ci_high"] <= rows["a"]["sampled_high"]


def test_a_change_between_runs_is_marked_as_well() -> None:
    made = cases(304, 16)
    before = simulated(["a"], made, by({"a": first(0)}), judge=False)
    one_rule = simulated(
        ["a"], made, by({"a": lambda case, repeat: "broken" if case % 16 == 0 else "kept"}), judge=False
    )
    all_rules = simulated(["a"], made, by({"a": first(40)}), judge=False)
    narrow, wide = (compare_runs(before, after) for after in (one_rule, all_rules))
    assert (narrow.models["decision"].item(), narrow.models["holds_sampled"].item()) == ("worse", False)
    assert "This would not hold if the rules were only a sample of the prompt's." in narrow.answer
    assert (wide.models["decision"].item(), wide.models["holds_sampled"].item()) == ("worse", True)


@pytest.mark.slow
@pytest.mark.parametrize("models", [2, 5])
def test_equal_models_whose_failures_hang_on_the_rule_are_seldom_called_worse_where_that_is_marked_as_holding(
    models: int,
) -> None:
    """Each model draws how hard each rule is for it; all break 10% on average. Without the mark they would be called
    worse several times as often."""
    rng = np.random.default_rng(models)
    fixed = holding = 0
    for _ in range(SIMULATIONS):
        ranked = rank(drawn(rng, models), [], RankingOptions()).models.values()
        fixed += any(one.outcome == "worse" for one in ranked)
        holding += any(one.outcome == "worse" and one.sampled_rules for one in ranked)
    # 0.06, and two and a half standard errors of 200 draws.
    assert holding <= 0.102 * SIMULATIONS
    assert fixed >= 2 * holding
    assert fixed >= 0.12 * SIMULATIONS


def drawn(rng: np.random.Generator, models: int) -> Counted:
    """Outputs of 304 cases over 16 rules, alike within a rule."""
    size = 0.1 * (1 - CORRELATION) / CORRELATION, 0.9 * (1 - CORRELATION) / CORRELATION
    rates = {f"m{model}": np.repeat(rng.beta(*size, size=RULES), 19) for model in range(models)}
    rules = [f"r{number}" for number in np.repeat(np.arange(RULES), 19)]
    return counts(rules, **{name: rng.random(len(rate)) < rate for name, rate in rates.items()})
