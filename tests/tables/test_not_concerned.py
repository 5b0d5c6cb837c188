"""Rules with a condition: outputs that they do not concern are in no share of theirs, and in every other as ever."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.records import Run, Verdict
from promptpex.tables import (
    RULE_COLUMNS,
    agreements,
    disagreements,
    discrimination,
    models,
    outputs,
    records,
    rules,
    verdicts,
)
from tests.tables.by_hand import output, run, verdict
from tests.tables.many import cases


def made(*judged: Verdict) -> Run:
    keys = dict.fromkeys(one.key for one in judged)
    return run([output(case, model, repeat=repeat) for case, model, repeat in keys], judged, cases=cases(60))


def test_the_share_of_a_rule_is_over_the_outputs_that_it_concerns() -> None:
    judged = [verdict("fail", case="c1"), verdict("pass", case="c2")]
    judged += [verdict("not_concerned", case=f"c{n}") for n in (3, 4, 5)]
    table = rules(verdicts(made(*judged)))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(RULE_COLUMNS)
    (row,) = table.to_dict("records")
    figures = {name: row[name] for name in ("scored", "broken", "share", "unscored", "usable", "not_concerned")}
    assert figures == {"scored": 2, "broken": 1, "share": 0.5, "unscored": 0, "usable": 2, "not_concerned": 3}


def test_a_rule_that_concerns_no_output_has_its_row_and_no_share() -> None:
    judged = [verdict("not_concerned", case=case, model=model) for case in ("c1", "c2") for model in "ab"]
    judged += [verdict("pass", "r2", case, model) for case in ("c1", "c2") for model in "ab"]
    cube = verdicts(made(*judged))
    table = rules(cube, order=["r2", "r1"])
    assert table[["rule", "model", "scored", "not_concerned"]].to_numpy().tolist() == [
        *(["r2", "a", 2, 0], ["r2", "b", 2, 0]),
        *(["r1", "a", 0, 2], ["r1", "b", 0, 2]),
    ]
    assert table["share"].isna().tolist() == [False, False, True, True]
    separation = discrimination(outputs(made(*judged)), cube, rules=("r1", "r2", "r3"))
    assert (separation.never_concerned, separation.never_broken, separation.never_scored) == (("r1",), ("r2",), ("r3",))


def test_an_output_whose_rules_are_kept_or_do_not_concern_it_is_kept() -> None:
    judged = [verdict("not_concerned", case=case) for case in ("c1", "c2", "c3", "c4")]
    judged += [
        verdict("pass", "r2", "c1"),
        verdict("fail", "r2", "c2"),
        verdict("unscored", "r2", "c3", unscored="judge-empty"),
    ]
    rows = outputs(made(*judged))
    assert rows["verdict"].tolist() == ["pass", "fail", "unscored", "pass"]
    assert models(rows)[["scored", "non_compliant"]].iloc[0].tolist() == [3, 1]


def test_a_judge_that_finds_a_rule_not_concerned_outweighs_a_pass_by_code_and_no_failure() -> None:
    judged = [verdict(status, case=f"c{n}") for n, status in enumerate(("pass", "fail"))]
    judged += [verdict("not_concerned", case=f"c{n}", source="judge:j") for n in range(2)]
    row = rules(verdicts(made(*judged))).iloc[0]
    assert row[["scored", "broken", "not_concerned"]].tolist() == [1, 1, 1]


STATUS = st.sampled_from(["pass", "fail", "not_concerned", "unscored"])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(STATUS, STATUS), min_size=1, max_size=8))
def test_what_a_rule_does_not_concern_changes_no_share_of_another(drawn: list[tuple[str, str]]) -> None:
    def of(statuses: list[tuple[str, str]]) -> Run:
        judged = [
            verdict(status, rule, f"c{n}", unscored="judge-empty" if status == "unscored" else None)
            for n, pair in enumerate(statuses)
            for rule, status in zip(("r1", "r2"), pair, strict=True)
        ]
        return made(*judged)

    as_drawn, never = of(drawn), of([("not_concerned", second) for _, second in drawn])
    cube = verdicts(as_drawn)
    table = rules(cube)
    shares = [each[each["rule"].eq("r2")] for each in (table, rules(verdicts(never)))]
    assert records(shares[0]) == records(shares[1])
    concerned = [pair for pair in drawn if pair[0] != "not_concerned"]
    if concerned:
        columns = ["scored", "broken", "share", "unscored", "ci_low", "ci_high"]
        tables = [table, rules(verdicts(of(concerned)))]
        rows = [records(each.loc[each["rule"].eq("r1"), columns]) for each in tables]
        assert rows[0] == rows[1]
    as_kept = [
        (first.replace("not_concerned", "pass"), second.replace("not_concerned", "pass")) for first, second in drawn
    ]
    assert outputs(as_drawn)["verdict"].tolist() == outputs(of(as_kept))["verdict"].tolist()


def test_kappa_is_of_what_both_found_concerned_and_the_rest_is_counted() -> None:
    statuses = ("pass", "fail", "not_concerned")
    pairs = [pair for pair in product(statuses, statuses) for _ in range(3)]
    judged = [verdict(one, case=f"c{n}", source="judge:j") for n, (one, _) in enumerate(pairs)]
    judged += [verdict(two, case=f"c{n}", source="judge:k") for n, (_, two) in enumerate(pairs)]
    row = agreements(verdicts(made(*judged))).iloc[0]
    counts = ("n", "both_pass", "first_fails", "second_fails", "both_fail", "both_not_concerned", "one_not_concerned")
    assert row[list(counts)].tolist() == [12, 3, 3, 3, 3, 3, 12]
    assert row["kappa"] == pytest.approx(0.0)


def test_two_that_never_both_find_a_rule_concerned_have_no_figures() -> None:
    judged = [verdict("not_concerned", source="judge:j"), verdict("pass", source="judge:k")]
    row = agreements(verdicts(made(*judged))).iloc[0]
    assert row[["n", "one_not_concerned"]].tolist() == [0, 1]
    assert row[["agreed", "kappa", "both_pass"]].isna().all()


def test_a_failed_check_that_the_judge_finds_not_concerned_is_a_disagreement_and_a_passed_one_is_none() -> None:
    judged = [verdict(status, case=f"c{n}") for n, status in enumerate(("pass", "fail"))]
    judged += [verdict("not_concerned", case=f"c{n}", source="judge:j", counts=False) for n in range(2)]
    both = made(*judged)
    table = disagreements(verdicts(both), outputs(both))
    assert table[["case", "code", "judge"]].to_numpy().tolist() == [["c1", "fail", "not_concerned"]]


@pytest.mark.parametrize(
    ("judge", "contradicted"),
    [
        ({"status": "pass"}, True),
        ({"status": "not_concerned"}, True),
        ({"status": "fail"}, False),
        ({"status": "unscored", "unscored": "judge-empty"}, False),
        ({"status": "pass", "turn": 1}, False),
        ({"status": "pass", "rule": "r2"}, False),
    ],
)
def test_a_failure_that_rests_only_on_checks_which_a_judge_contradicts_is_marked(
    judge: dict[str, object], contradicted: bool
) -> None:
    by_judge = {"case": "c1", "rule": "r1", "source": "judge:j", "model": "m"} | judge
    both = [verdict("fail", case="c1"), Verdict.model_validate(by_judge)]
    rows = outputs(made(*both))
    assert (rows["verdict"].tolist(), rows["contradicted"].tolist()) == (["fail"], [contradicted])
    assert models(rows)["contradicted"].tolist() == [int(contradicted)]
    beside = outputs(made(*both, verdict("fail", "r3", "c1")))
    assert beside["contradicted"].tolist() == [False]


def test_of_several_judges_their_joint_verdict_contradicts_a_check() -> None:
    alone = [verdict("fail", case="c1"), verdict("pass", case="c1", source="judge:j", counts=False)]
    for together, contradicted in (("fail", False), ("pass", True)):
        rows = outputs(made(*alone, verdict(together, case="c1", source="judges:majority")))
        assert rows["contradicted"].tolist() == [contradicted]
