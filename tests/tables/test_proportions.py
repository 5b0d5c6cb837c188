from __future__ import annotations

import pytest

from promptpex.core.errors import InputError
from promptpex.core.records import Case
from promptpex.stats import clopper_pearson
from promptpex.tables import (
    CASE_TYPE_COLUMNS,
    SCENARIO_COLUMNS,
    RankingOptions,
    by_case_type,
    check_weights,
    models,
    outputs,
    rankings,
    rules,
    scenarios,
    verdicts,
)
from tests.tables.by_hand import colours, output, run, verdict
from tests.tables.many import many


@pytest.mark.parametrize("number", [0, 1, 9, 10, 30])
def test_the_number_of_rules_changes_no_interval(number: int) -> None:
    row = models(outputs(many(60, {"m": lambda n: n % 6 > 0}, rules=number))).iloc[0]
    plain = clopper_pearson(10, 60)
    assert (row["interval"], row["ci_low"], row["ci_high"]) == (
        "exact",
        pytest.approx(plain.low),
        pytest.approx(plain.high),
    )


def test_repeats_of_a_case_are_one_observation_where_they_are_alike() -> None:
    row = models(outputs(many(30, {"m": lambda n: n > 9}, repeats=3))).iloc[0]
    assert (row["scored"], row["non_compliant"], row["interval"]) == (90, 30, "effective-size")
    assert row["ci_high"] == pytest.approx(clopper_pearson(10, 30).high)
    table = rules(verdicts(many(30, {"m": lambda n: n > 9}, repeats=3)))
    assert table["ci_high"].iloc[0] == pytest.approx(row["ci_high"])


def test_rule_cases_stand_against_inverse_cases() -> None:
    table = by_case_type(outputs(colours()))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(CASE_TYPE_COLUMNS)
    rows = [tuple(row) for row in table[["model", "case_type", "scored", "broken", "unscored"]].itertuples(index=False)]
    assert rows == [
        ("a", "rule", 2, 1, 0),
        ("a", "inverse", 1, 0, 0),
        ("b", "rule", 2, 2, 0),
        ("b", "inverse", 1, 1, 1),
    ]


def test_cases_without_an_aim_are_a_kind_of_their_own() -> None:
    assert list(by_case_type(outputs(many(3, {"m": lambda n: True})))["case_type"]) == ["no rule"]


def test_scenarios_are_told_apart_where_there_are_any() -> None:
    made = (Case(id="c1", inputs={}, scenario="night"), Case(id="c2", inputs={}), Case(id="c3", inputs={}))
    judged = [verdict("fail"), verdict("pass", case="c2"), verdict("pass", case="c3")]
    table = scenarios(outputs(run([output(), output("c2"), output("c3")], judged, cases=made)))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(SCENARIO_COLUMNS)
    assert table["scenario"].fillna("none").tolist() == ["night", "none"]
    assert (table["scored"].tolist(), table["broken"].tolist()) == ([1, 2], [1, 0])
    assert scenarios(outputs(colours())).empty


def test_answers_without_a_verdict_make_the_share_a_lower_bound() -> None:
    row = models(outputs(many(10, {"m": lambda n: None if n < 4 else n > 4}))).iloc[0]
    assert (row["passed"], row["non_compliant"], row["unscored"], row["usable"]) == (5, 1, 4, 10)
    assert (row["non_compliance"], row["at_least"], row["interval"]) == (0.1, True, "bounds")
    assert (row["ci_low"], row["ci_high"]) == (
        pytest.approx(clopper_pearson(1, 10).low),
        pytest.approx(clopper_pearson(5, 10).high),
    )
    assert (row["best_case"], row["worst_case"]) == (0.1, 0.5)
    assert row["unscored_reasons"] == "4 judge-empty"
    per_rule = rules(verdicts(many(10, {"m": lambda n: None if n < 4 else n > 4}))).iloc[0]
    assert (per_rule["share"], per_rule["at_least"]) == (0.1, True)


def test_answers_that_never_came_leave_the_share_of_the_others() -> None:
    cut = [output(f"c{n}", text=None, error="truncated") for n in range(4)]
    whole = [output(f"c{n}") for n in range(4, 10)]
    open_ = [verdict("unscored", case=f"c{n}", unscored="truncated", source="none") for n in range(4)]
    judged = [verdict("fail" if n == 4 else "pass", case=f"c{n}") for n in range(4, 10)]
    made = run([*cut, *whole], [*open_, *judged], cases=many(10, {}).suite.cases)
    row = models(outputs(made)).iloc[0]
    assert (row["non_compliance"], row["at_least"], row["usable"]) == (pytest.approx(1 / 6), False, 6)
    assert (row["best_case"], row["worst_case"]) == (0.1, 0.5)
    assert row["worst_high"] == pytest.approx(clopper_pearson(5, 10).high)
    per_rule = rules(verdicts(made)).iloc[0]
    assert (per_rule["share"], per_rule["at_least"], per_rule["unscored"]) == (pytest.approx(1 / 6), False, 4)


def test_what_a_budget_left_out_is_in_no_share_and_no_bound() -> None:
    """Nor is an output that a check fails and whose judge was not asked any more: only such failures would be left."""
    left = [output(f"c{n}", text=None, error="budget") for n in range(4)]
    half = [output(f"c{n}") for n in range(4, 8)]
    whole = [output(f"c{n}") for n in range(8, 14)]
    judged = [verdict("unscored", case=f"c{n}", unscored="budget", source="none") for n in range(4)]
    judged += [verdict("fail", case=f"c{n}") for n in range(4, 8)]
    judged += [verdict("unscored", "r2", f"c{n}", unscored="judge-budget", source="judge:j") for n in range(4, 8)]
    judged += [verdict("fail" if n == 8 else "pass", case=f"c{n}") for n in range(8, 14)]
    rows = outputs(run([*left, *half, *whole], judged, cases=many(14, {}).suite.cases))
    assert rows["asked"].tolist() == [False] * 8 + [True] * 6
    row = models(rows).iloc[0]
    assert (row["scored"], row["non_compliant"], row["not_asked"], row["unscored"]) == (6, 1, 8, 8)
    assert (row["best_case"], row["worst_case"], row["at_least"]) == (pytest.approx(1 / 6), pytest.approx(1 / 6), False)


def test_weights_choose_what_the_share_is_of() -> None:
    rows = outputs(colours())
    by_weight = {
        weights: models(rows, ranking=rankings(rows, ["a", "b"], RankingOptions(weights=dict(weights))))
        for weights in ((), (("inverse", 0),), (("rule", 3), ("inverse", 1)), (("r1", 0),))
    }
    shares = [table["non_compliance"].iloc[0] for table in by_weight.values()]
    assert shares[0] == pytest.approx(1 / 3)
    assert shares[1] == pytest.approx(1 / 2)
    assert shares[2] == pytest.approx(3 / 7)


def test_strange_weights_are_refused() -> None:
    check_weights({"rule": 2, "r1": 0}, ["r1", "r2", None], [False, True, False])
    with pytest.raises(InputError, match="names r9"):
        check_weights({"r9": 1}, ["r1"], [False])
    with pytest.raises(InputError, match="leaves no case"):
        check_weights({"rule": 0}, ["r1"], [False])
