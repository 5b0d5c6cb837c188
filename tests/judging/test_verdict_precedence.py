from __future__ import annotations

import pytest

from promptpex.core.outcomes import outcome_of
from promptpex.core.records import Verdict
from promptpex.judging.verdict_precedence import agreed, left_open, unjudged, unscored_verdicts, weigh
from tests.samples import output, spec


def verdict(status: str, rule: str = "r2", source: str = "judge:a", unscored: str | None = None) -> Verdict:
    data = {"case": "c1", "model": "m", "rule": rule, "status": status, "source": source, "unscored": unscored}
    return Verdict.model_validate(data)


def test_a_judge_beside_code_that_decides_does_not_count() -> None:
    code = [verdict("pass", "r1", "check:word-count")]
    judge = [verdict("fail", "r1"), verdict("pass", "r2")]
    weighed = weigh(spec(), code, [judge])
    assert [(v.rule, v.source, v.counts) for v in weighed] == [
        ("r1", "check:word-count", True),
        ("r1", "judge:a", False),
        ("r2", "judge:a", True),
    ]
    assert outcome_of(weighed).status == "pass"


def test_a_pass_of_checks_that_decide_in_part_is_open_without_a_judge_and_a_fail_is_not() -> None:
    rules = (spec().rules[0].replace(decides="partly"), spec().rules[1], spec().rules[0].replace(id="r3"))
    code = [verdict(status, "r1", "check:word-count") for status in ("pass", "fail")]
    code += [verdict("unscored", "r1", "check:word-count", "no-logprobs"), verdict("pass", "r3", "check:word-count")]
    verdicts_left = left_open(code, rules, asked=())
    assert [(v.status, v.unscored) for v in verdicts_left] == [
        ("unscored", "no-judge"),
        ("fail", None),
        ("unscored", "no-logprobs"),
        ("pass", None),
    ]
    assert (verdicts_left[0].counts, verdicts_left[0].source) == (True, "check:word-count")
    assert "only in part" in verdicts_left[0].reason
    assert left_open(code, rules, asked={"r1"}) == code


@pytest.mark.parametrize(
    ("votes", "majority", "unanimous"),
    [
        (["pass", "pass", "fail"], "pass", "fail"),
        (["pass", "fail"], "unscored", "fail"),
        (["pass", "unscored"], "unscored", "unscored"),
        (["pass", "unscored", "unscored"], "unscored", "unscored"),
        (["pass", "pass", "unscored"], "pass", "unscored"),
        (["fail", "fail", "unscored"], "fail", "fail"),
        (["pass", "pass", "fail", "unscored"], "unscored", "fail"),
        (["unscored", "unscored"], "unscored", "unscored"),
        (["pass", "pass"], "pass", "pass"),
        (["fail", "unscored"], "unscored", "fail"),
        (["not_concerned", "not_concerned"], "not_concerned", "not_concerned"),
        (["not_concerned", "not_concerned", "pass"], "not_concerned", "not_concerned"),
        (["not_concerned", "pass"], "pass", "pass"),
        (["not_concerned", "fail"], "unscored", "fail"),
        (["not_concerned", "pass", "fail"], "pass", "fail"),
        (["not_concerned", "fail", "fail"], "fail", "fail"),
        (["not_concerned", "unscored"], "unscored", "unscored"),
        (["not_concerned", "pass", "unscored"], "pass", "unscored"),
    ],
)
def test_quorum(votes: list[str], majority: str, unanimous: str) -> None:
    group = [verdict(vote, unscored="judge-empty" if vote == "unscored" else None) for vote in votes]
    assert agreed(group, "majority").status == majority
    assert agreed(group, "unanimous").status == unanimous
    for together in (agreed(group, "majority"), agreed(group, "unanimous")):
        assert (together.unscored is not None) == (together.status == "unscored")


@pytest.mark.parametrize("others", [["judge-empty"], ["pass"], ["pass", "fail"], ["judge-empty", "pass", "fail"]])
def test_judges_of_whom_one_was_not_asked_any_more_leave_that_as_the_reason(others: list[str]) -> None:
    votes = [verdict("unscored", unscored=one) if one.startswith("judge-") else verdict(one) for one in others]
    cut = verdict("unscored", unscored="judge-budget")
    for group in ([cut, *votes], [*votes, cut]):
        for quorum in ("majority", "unanimous"):
            together = agreed(group, quorum)
            assert together.unscored == (None if together.status != "unscored" else "judge-budget")


def test_a_row_fails_before_it_is_unscored_and_passes_only_when_all_do() -> None:
    open_ = verdict("unscored", unscored="judge-timed-out")
    assert outcome_of([verdict("fail"), open_]).status == "fail"
    assert outcome_of([verdict("pass"), open_]).code == "judge-timed-out"
    assert outcome_of([verdict("pass")]).status == "pass"
    assert outcome_of([]).code == "no-judge"


def test_rules_that_nothing_judges_are_shown_and_do_not_count() -> None:
    verdicts = unjudged(output(), spec().rules)
    assert [(v.rule, v.unscored, v.counts) for v in verdicts] == [("r2", "no-judge", False)]


def test_an_error_is_unscored_for_every_rule_with_its_own_reason() -> None:
    verdicts = unscored_verdicts(output(None, error="timed-out"), ["r1", "r2"])
    assert outcome_of(verdicts).code == "timed-out"
    assert {v.source for v in verdicts} == {"none"}
