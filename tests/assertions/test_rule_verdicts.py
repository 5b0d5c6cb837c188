"""Rules and input checks of a spec, judged by code."""

from __future__ import annotations

import json

import pytest

from promptpex.assertions import check_inputs
from promptpex.core.records import Check, InputCheck, Output, Rule
from tests.assertions.checked_here import check_rules

RULES = (
    Rule(id="r1", rule="Names the word.", checks=(Check(kind="contains", value="{{word}}"),)),
    Rule(
        id="r2",
        rule="Short.",
        checks=(Check(kind="word-count", value={"max": 3}), Check(kind="regex", value="^[a-z ]+$")),
    ),
    Rule(id="r3", rule="Cheap.", checks=(Check(kind="cost", threshold=0.1),)),
    Rule(id="r4", rule="Friendly."),
)


def output(text: str | None, case: str = "c1", **more: object) -> Output:
    return Output.model_validate({"case": case, "model": "m", "text": text, **more})


def test_verdicts_in_the_order_of_outputs_then_rules() -> None:
    outputs = [output("the fox"), output("A very long answer here", "c2", cost_usd=0.05)]
    verdicts = check_rules(RULES, outputs, lambda _: {"word": "fox"})
    assert [(v.case, v.rule, v.status) for v in verdicts] == [
        ("c1", "r1", "pass"),
        ("c1", "r2", "pass"),
        ("c1", "r3", "unscored"),
        ("c2", "r1", "fail"),
        ("c2", "r2", "fail"),
        ("c2", "r3", "pass"),
    ]
    assert verdicts[2].unscored == "no-cost"
    assert verdicts[1].source == "check:word-count+regex"
    assert verdicts[0].source == "check:contains"


def test_the_fingerprint_is_that_of_the_checks() -> None:
    changed = RULES[0].replace(checks=(Check(kind="contains", value="x"),))
    reworded = RULES[0].replace(rule="Says the word.")
    prints = [check_rules([rule], [output("a")], lambda _: {})[0].fingerprint for rule in (RULES[0], changed, reworded)]
    assert prints[0] != prints[1]
    assert prints[0] == prints[2]


def test_input_checks_judge_the_named_variable() -> None:
    checks = [
        InputCheck(kind="contains", value="{{word}}", variable="sentence"),
        InputCheck(kind="word-count", value={"max": 3}, variable="sentence"),
    ]
    assert check_inputs(checks, {"sentence": "the fox", "word": "fox"}) == []
    problems = check_inputs(checks, {"sentence": "a b c d", "word": "fox"})
    assert len(problems) == 2
    assert all("sentence" in problem for problem in problems)
    assert problems[0].startswith('the input sentence breaks contains: it does not hold "fox"')
    assert check_inputs(checks[:1], {"word": "fox"}) == ["the input sentence is missing"]


OBJECT = {"type": "object", "required": ["city"]}
JSON_RULES = [
    Rule(id="form", rule="JSON alone.", checks=(Check(kind="is-json"),)),
    Rule(id="city", rule="It has a city.", checks=(Check(kind="contains-json", value=OBJECT),)),
    Rule(id="text", rule="It says so.", checks=(Check(kind="contains-json", value=json.dumps(OBJECT)),)),
    Rule(id="short", rule="Short.", checks=(Check(kind="word-count", value={"max": 2}),)),
]


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        ('{"city": "Hue"}', ["pass", "pass", "pass", "pass"]),
        ('{"town": "Hue"}', ["pass", "fail", "fail", "pass"]),
        ('Here: {"town": "Hue"}', ["fail", "fail", "fail", "fail"]),
        ('Here: {"city": "Hue"}', ["fail", "pass", "pass", "fail"]),
        ("[1]", ["pass", "fail", "fail", "pass"]),
        ("Hue, of course", ["fail", "unscored", "unscored", "fail"]),
        ('{"city": ["Hue", // in the middle\n]}', ["fail", "unscored", "unscored", "fail"]),
        ('{"tags": ["a"], oops', ["fail", "unscored", "unscored", "fail"]),
    ],
)
def test_an_output_without_the_json_fails_the_rule_that_demands_it_alone(text: str, statuses: list[str]) -> None:
    verdicts = check_rules(JSON_RULES, [output(text)], lambda output: {})

    assert [verdict.status for verdict in verdicts] == statuses
    assert {verdict.unscored for verdict in verdicts if verdict.status == "unscored"} <= {"after"}
    alone = check_rules(JSON_RULES[1:3], [output(text)], lambda output: {})
    assert [verdict.status for verdict in alone] == [s if s != "unscored" else "fail" for s in statuses[1:3]]


def test_a_rule_with_a_condition_demands_json_of_none_whom_it_does_not_concern() -> None:
    when = (InputCheck(variable="word", kind="equals", value="x"),)
    rules = [JSON_RULES[0].replace(when=when), *JSON_RULES[1:]]

    verdicts = check_rules(rules, [output("no")], lambda output: {"word": "y"})

    assert [verdict.status for verdict in verdicts][1:3] == ["fail", "fail"]
