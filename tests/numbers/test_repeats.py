"""With repeats non-compliance is one quantity: share, place, difference, interval and comparison speak of it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from promptpex.report.gate import Limits, decided
from promptpex.report.run_comparison import compare_runs
from promptpex.tables import RankingOptions
from promptpex.tables.rankings import rank
from tests.numbers.world import Fate, by, cases, counts, first, ran, simulated, summed

SIMULATIONS = 200


def one_of_three(case: int, repeat: int) -> Fate:
    """Breaks one repeat of three of each case, never the same one."""
    return "broken" if repeat == case % 3 else "kept"


def one_case_in_five(case: int, repeat: int) -> Fate:
    """Breaks all repeats of one case in five."""
    return "broken" if case % 5 == 0 else "kept"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Of two models: 33% of outputs, one in each case, against 20% of the cases, each in all repeats."""
    folder = tmp_path_factory.mktemp("repeats")
    fates = by({"a": one_of_three, "b": one_case_in_five})
    return summed(ran(folder, ["a", "b"], cases(60, 16), fates, judge=False, repeats=3))[1]


def test_the_model_with_the_higher_share_is_the_one_that_is_called_worse(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["a"]["non_compliance"] == pytest.approx(1 / 3)
    assert rows["b"]["non_compliance"] == pytest.approx(0.2)
    assert (rows["a"]["decision"], rows["a"]["beaten_by"], rows["b"]["decision"]) == ("worse", "fake/b", "best")


def test_the_difference_is_that_of_the_shares_with_its_sign(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["a"]["versus"] == "fake/b"
    assert rows["a"]["difference"] == pytest.approx(1 / 3 - 0.2)
    assert rows["a"]["difference_low"] <= rows["a"]["difference"] <= rows["a"]["difference_high"]
    assert rows["a"]["p"] <= 0.05


def test_two_repeats_do_not_count_as_passed_only_if_both_pass() -> None:
    """Half of each case's repeats broken, against half of the cases broken: the same share, so nothing is called."""
    halves = by({"a": lambda case, repeat: "broken" if repeat else "kept", "b": first(100)})
    _, rows = summed(simulated(["a", "b"], cases(200, 16), halves, judge=False, repeats=2))
    assert rows["a"]["non_compliance"] == rows["b"]["non_compliance"] == 0.5
    assert {row["decision"] for row in rows.values()} == {"undecided"}
    assert max(abs(row["difference"] or 0.0) for row in rows.values()) == 0.0
    assert (rows["a"]["pass_at_k"], rows["a"]["pass_hat_k"]) == (1.0, 0.0)
    assert (rows["b"]["pass_at_k"], rows["b"]["pass_hat_k"]) == (0.5, 0.5)


@pytest.mark.parametrize("seed", range(12))
def test_nobody_is_called_worse_than_a_model_with_a_higher_share(seed: int) -> None:
    """Random models whose repeats are alike to any degree, every output scored."""
    rng = random.Random(seed)
    names = ["a", "b", "c", "d"][: rng.randint(2, 4)]
    count, repeats = rng.choice([20, 60, 120]), rng.choice([2, 3, 5])
    habits = {name: (rng.random() * 0.6, rng.random() < 0.5) for name in names}
    broken = {
        (name, case, repeat): rng.random() < share
        if not alike
        else random.Random(f"{name}{case}{seed}").random() < share
        for name, (share, alike) in habits.items()
        for case in range(count)
        for repeat in range(repeats)
    }
    made = simulated(
        names,
        cases(count, 8),
        lambda model, case, repeat: "broken" if broken[model, case, repeat] else "kept",
        judge=False,
        repeats=repeats,
    )
    _, rows = summed(made)
    shares = {f"fake/{name}": sum(broken[name, c, r] for c in range(count) for r in range(repeats)) for name in names}
    for name, row in rows.items():
        mine = shares[f"fake/{name}"]
        assert row["non_compliance"] == pytest.approx(mine / (count * repeats))
        if row["beaten_by"] is not None:
            assert shares[row["beaten_by"]] < mine
        if row["versus"] is not None:
            apart = (mine - shares[row["versus"]]) / (count * repeats)
            assert row["difference"] == pytest.approx(apart)
            assert row["difference_low"] <= row["difference"] + 1e-12
            assert row["difference_high"] >= row["difference"] - 1e-12


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_equal_shares_with_other_flakiness_are_seldom_called_different(repeats: int) -> None:
    """Model ``a`` throws a coin each time, ``b`` once for each case; both break 30%."""
    rng = np.random.default_rng(repeats)
    called = 0
    for _ in range(SIMULATIONS):
        flaky = rng.random((100, repeats)) < 0.3
        steady = np.repeat(rng.random((100, 1)) < 0.3, repeats, axis=1)
        ranking = rank(counts(a=flaky, b=steady), RankingOptions())
        called += "worse" in {one.outcome for one in ranking.models.values()}
    # 0.05 and two and a half standard errors of 200 draws.
    assert called <= 0.0885 * SIMULATIONS


def test_one_repeat_of_each_case_broken_is_a_regression() -> None:
    made = cases(60, 16)
    before = simulated(["a"], made, by({"a": first(0)}), judge=False, repeats=3)
    after = simulated(["a"], made, by({"a": one_of_three}), judge=False, repeats=3)
    comparison = compare_runs(before, after)
    (row,) = comparison.models.to_dict("records")
    assert (row["decision"], row["newly_failing"], row["fixed"]) == ("worse", 60, 0)
    assert (row["non_compliance_before"], row["non_compliance_after"]) == (0.0, pytest.approx(1 / 3))
    assert row["difference"] == pytest.approx(1 / 3)
    assert row["difference_low"] > 0
    assert comparison.regressions == ("fake/a",)
    assert "fake/a is clearly worse: 0% before, 33% after (60 newly failing, 0 fixed of 60 cases)." in comparison.answer


def test_a_gate_speaks_of_the_same_share() -> None:
    run = simulated(["a"], cases(60, 16), by({"a": one_of_three}), judge=False, repeats=3)
    _, rows = summed(run)
    (near,) = decided(list(rows.values()), Limits(max_non_compliance=0.34)).values()
    assert (near.exceeded, near.untold[0][:20]) == ((), "non-compliance is 33")
    (over,) = decided(list(rows.values()), Limits(max_non_compliance=0.3)).values()
    assert over.exceeded == ("non-compliance is 33%, above 30%",)
