from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.records import Case
from promptpex.stats import cluster_interval, clustered_share, wilson
from promptpex.tables import KIND_COLUMNS, SCENARIO_COLUMNS, kinds, models, outputs, rules, scenarios, verdicts
from tests.tables.by_hand import colours, output, run, verdict
from tests.tables.many import many


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=40), st.sampled_from([0.8, 0.95]))
def test_a_share_of_sums_is_the_share_of_the_values(drawn: list[tuple[bool, int]], level: float) -> None:
    values, clusters = [float(value) for value, _ in drawn], [cluster for _, cluster in drawn]
    names = sorted(set(clusters))
    totals = [sum(value for value, one in drawn if one == name) for name in names]
    sizes = [clusters.count(name) for name in names]
    found = clustered_share(totals, sizes, level)
    if max(sizes) == 1:
        assert found == wilson(sum(totals), len(drawn), level)
        return
    whole = cluster_interval(values, clusters, level)
    assert (found.n, found.method) == (whole.n, "cluster-robust")
    for name in ("estimate", "low", "high"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), abs=1e-9)


def test_clusters_without_observations_are_left_out() -> None:
    assert clustered_share([1, 0, 0], [1, 0, 1]) == wilson(1, 2)
    assert clustered_share([], []).estimate is None


def test_cases_of_one_aim_hang_together() -> None:
    """60 cases, 12 rules, all cases of every other rule fail: that is twelve observations rather than sixty."""
    row = models(outputs(many(60, {"m": lambda n: n % 2 == 0}, rules=12))).iloc[0]
    expected = cluster_interval([float(n % 2) for n in range(60)], [n % 12 for n in range(60)])
    assert row["interval"] == "cluster-robust"
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert expected.width > 1.5 * wilson(30, 60).width


def test_with_few_aims_the_cases_count() -> None:
    """Nothing broken in 60 cases of one rule is more than one observation."""
    row = models(outputs(many(60, {"m": lambda n: True}, rules=1))).iloc[0]
    assert (row["interval"], row["ci_high"]) == ("wilson", pytest.approx(wilson(0, 60).high))


def test_a_rule_and_its_inverse_are_two_aims() -> None:
    row = models(outputs(colours())).iloc[0]
    assert row["interval"] == "wilson"


def test_repeats_of_a_case_without_an_aim_hang_together() -> None:
    row = models(outputs(many(6, {"m": lambda n: n > 0}, repeats=3))).iloc[0]
    expected = cluster_interval([float(n == 0) for n in range(6)] * 3, [*range(6)] * 3)
    assert (row["scored"], row["non_compliant"]) == (18, 3)
    assert row["ci_high"] == pytest.approx(expected.high)


def test_rules_know_of_clusters_too() -> None:
    table = rules(verdicts(many(6, {"m": lambda n: n > 0}, repeats=2)))
    assert list(table["interval"]) == ["cluster-robust"]


def test_rule_cases_stand_against_inverse_cases() -> None:
    table = kinds(outputs(colours()))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(KIND_COLUMNS)
    rows = [tuple(row) for row in table[["model", "kind", "scored", "broken", "unscored"]].itertuples(index=False)]
    assert rows == [
        ("a", "rule", 2, 1, 0),
        ("a", "inverse", 1, 0, 0),
        ("b", "rule", 2, 2, 0),
        ("b", "inverse", 1, 1, 1),
    ]


def test_cases_without_an_aim_are_a_kind_of_their_own() -> None:
    assert list(kinds(outputs(many(3, {"m": lambda n: True})))["kind"]) == ["no aim"]


def test_scenarios_are_told_apart_where_there_are_any() -> None:
    made = (Case(id="c1", inputs={}, scenario="night"), Case(id="c2", inputs={}), Case(id="c3", inputs={}))
    judged = [verdict("fail"), verdict("pass", case="c2"), verdict("pass", case="c3")]
    table = scenarios(outputs(run([output(), output("c2"), output("c3")], judged, cases=made)))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(SCENARIO_COLUMNS)
    assert table["scenario"].fillna("none").tolist() == ["night", "none"]
    assert (table["scored"].tolist(), table["broken"].tolist()) == ([1, 2], [1, 0])
    assert scenarios(outputs(colours())).empty


def test_unscored_outputs_bound_the_share_by_their_best_and_worst() -> None:
    row = models(outputs(many(10, {"m": lambda n: None if n < 4 else n > 4}))).iloc[0]
    assert (row["passed"], row["non_compliant"], row["unscored"]) == (5, 1, 4)
    assert (row["best_case"], row["worst_case"]) == (0.1, 0.5)
    assert row["unscored_reasons"] == "4 judge-empty"
