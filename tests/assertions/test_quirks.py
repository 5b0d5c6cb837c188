"""The decisions of docs/assertions.md where promptfoo surprises: what a user would expect."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.assertions import check, compile_checks
from promptpex.core.errors import CheckError


def status(output: Any, assertion: dict[str, Any], **more: Any) -> str:
    return check(output, [assertion], **more).status


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('{"a": "}"}', "pass"),
        ("see [1, 2, 3]", "pass"),
        ('before {"a": {"b": [1]}} after', "pass"),
        ("Hello {name}!", "fail"),
        ("Hello {{name}}!", "fail"),
        ("set {1, 2, 3}", "fail"),
        ("{'a': 1}", "fail"),
        ('{"a": 1,}', "fail"),
        ("body { color: red; }", "fail"),
        ('{"a": 1', "fail"),
    ],
)
def test_contains_json_is_strict_and_finds_lists(output: str, expected: str) -> None:
    assert status(output, {"kind": "contains-json"}) == expected


def test_contains_json_tries_a_list_and_the_objects_in_it() -> None:
    schema = {"type": "object", "required": ["a"]}
    assert status('[{"b": 1}, {"a": 1}]', {"kind": "contains-json", "value": schema}) == "pass"
    assert status("list: [1]", {"kind": "contains-json", "value": {"type": "array"}}) == "pass"


def test_a_failing_script_without_reason_fails() -> None:
    assert status("x", {"kind": "javascript", "value": "({pass: false, score: 0, reason: ''})"}) == "fail"


@pytest.mark.parametrize(("script", "expected"), [("NaN", "fail"), ("-Infinity", "fail"), ("Infinity", "pass")])
def test_a_score_that_is_not_finite_is_kept_as_a_row_without_score(script: str, expected: str) -> None:
    report = check("x", [{"kind": "javascript", "value": script}])
    assert (report.status, report.score) == (expected, None)


def test_schemas_that_share_an_id_do_not_disturb_each_other() -> None:
    schema = {"$id": "https://example.org/a", "type": "number"}
    assert [status("1", {"kind": "is-json", "value": schema}) for _ in range(2)] == ["pass", "pass"]


def test_templates_inside_objects_are_rendered_but_not_inside_schemas() -> None:
    variables = {"n": 3, "name": "Ana"}
    assert status("a b c", {"kind": "word-count", "value": {"max": "{{n}}"}}, vars=variables) == "pass"
    assert status('{"k": "Ana"}', {"kind": "equals", "value": {"k": "{{name}}"}}, vars=variables) == "pass"
    assert status('"Ana"', {"kind": "is-json", "value": {"const": "{{name}}"}}, vars=variables) == "fail"


@pytest.mark.parametrize("value", [False, 0, ""])
def test_a_schema_that_is_none_is_not_no_schema(value: Any) -> None:
    report = check("1", [{"kind": "is-json", "value": value}])
    assert (report.status, report.unscored) == ("unscored", "bad-value")


def test_negative_zero_is_zero() -> None:
    assert status('{"a": -0}', {"kind": "equals", "value": {"a": 0}}) == "pass"
    assert status('{"a": 0}', {"kind": "equals", "value": {"a": 0, "b": 1}}) == "fail"


def test_inherited_names_are_no_properties() -> None:
    assert status("{}", {"kind": "is-json", "value": {"type": "object", "required": ["toString"]}}) == "fail"


@pytest.mark.parametrize(("script", "expected"), [("33", 0.0), ("0.3", 0.0), ("0", 1.0)])
def test_not_javascript_scores_by_its_verdict(script: str, expected: float) -> None:
    assert check("x", [{"kind": "not-javascript", "value": script}]).score == expected


def test_an_empty_output_is_a_whole_refusal() -> None:
    assert check("", [{"kind": "is-refusal"}]).score == 1.0
    assert status("That is not legal advice.", {"kind": "is-refusal"}) == "fail"


def test_weight_zero_informs_and_keeps_its_own_verdict() -> None:
    report = check("x", [{"kind": "contains", "value": "y", "weight": 0}, {"kind": "contains", "value": "x"}])
    assert report.status == "pass"
    assert report.results[0].status == "fail"


def test_one_bad_assertion_leaves_its_neighbours_their_verdicts() -> None:
    report = check("x", [{"kind": "contains", "value": True}, {"kind": "contains", "value": "y"}])
    assert [result.status for result in report.results] == ["unscored", "fail"]
    assert report.status == "fail"


def test_throwing_null_is_a_throw() -> None:
    report = check("x", [{"kind": "javascript", "value": "(() => { throw null })()"}])
    assert (report.status, report.unscored) == ("unscored", "script-error")


def test_an_address_in_angle_brackets_is_no_html() -> None:
    assert status("email <a@b.co>", {"kind": "contains-html"}) == "fail"
    assert status("email <a@b.co> <b>now</b>", {"kind": "contains-html"}) == "pass"


def test_dollar_signs_in_inserted_variables_are_plain() -> None:
    assert (
        status("$& x", {"kind": "equals", "value": "{{outer}}"}, vars={"outer": "{{inner}} x", "inner": "$&"}) == "pass"
    )


@pytest.mark.parametrize(
    "assertion",
    [
        {"kind": "contains-all", "value": []},
        {"kind": "contains-all", "value": " , "},
        {"kind": "contains-any", "value": ["a", ""]},
        {"kind": "perplexity"},
        {"kind": "perplexity-score"},
        {"kind": "is-json", "value": False},
        {"kind": "equals"},
        {"kind": "javascript", "value": True},
    ],
)
def test_a_strict_compile_refuses_what_would_pass_or_fail_whatever_comes(assertion: dict[str, Any]) -> None:
    with pytest.raises(CheckError):
        compile_checks([assertion])


def test_environment_variables_stay_out_of_templates() -> None:
    assert status("x", {"kind": "equals", "value": "x{{ env.PATH }}"}) == "pass"


def test_rouge_takes_its_order_and_its_longest_subsequence() -> None:
    same_words = "the mat sat on the cat"
    one = check(same_words, [{"kind": "rouge-n", "value": "the cat sat on the mat"}])
    two = check(same_words, [{"kind": "rouge-n", "value": "the cat sat on the mat", "n": 2}])
    longest = check(same_words, [{"kind": "rouge-l", "value": "the cat sat on the mat"}])
    assert one.score == 1.0
    assert two.score == pytest.approx(0.8)
    assert longest.score == pytest.approx(4 / 6)
