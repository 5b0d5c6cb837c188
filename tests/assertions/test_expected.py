"""Expected outputs in code: the comparisons, the kind ``expected``, and ``{{expected}}`` in the values of checks."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.assertions import ExpectedOutput, Unscorable, check, compare, rows_to_check
from promptpex.assertions.assertion_file import read as read_assertions
from promptpex.core.errors import CheckError
from promptpex.core.match_kinds import MATCH_KINDS
from promptpex.core.records import Check, Rule
from tests.assertions.checked_here import check_rows, check_rules
from tests.samples import output

RIGHT = [
    ("exact", "NN", "NN\n"),
    ("normalised", " nn. ", "NN"),
    ("normalised", '"NN"', "NN"),
    ("normalised", "**“New York”**.", "new  york"),
    ("normalised", "cafe\u0301", "CAFÉ"),
    ("normalised", ".", "."),
    ("normalised", '"', '"'),
    ("json", 'Here: ```json\n{"a": 1, "b": [1, true]}\n```', '{"b": [1.0, true], "a": 1}'),
    ("set", '["BERT", "GPT-4"]', "GPT-4, bert"),
    ("set", "- BERT\n2. GPT-4.\n", '["GPT-4", "BERT"]'),
    ("set", "[]", "[]"),
    ("set", '[{"b": 2, "a": 1}]', '[{"a": 1, "b": 2}]'),
    ("numeric", "It costs $1,234.50.", "1234.5"),
    ("numeric", "−5", "-5"),
    ("numeric", "42, that is 42.0", "42"),
    ("numeric:0.5", "9.5", "10"),
    ("numeric:5%", "-9.5", "-10"),
]
WRONG = [
    ("exact", "nn", "NN"),
    ("normalised", "-5", "5"),
    ("normalised", "$5", "5"),
    ("normalised", "C", "C++"),
    ("normalised", "NN NN", "NN"),
    ("json", "true", "1"),
    ("json", "[2, 1]", "[1, 2]"),
    ("json", '{"a": 1,}', '{"a": 1}'),
    ("json", "NN", '"NN"'),
    ("set", "BERT", "BERT, GPT-4"),
    ("set", "BERT, GPT-4, T5", "BERT, GPT-4"),
    ("numeric", "3 of 4", "3"),
    ("numeric", "10-20", "10"),
    ("numeric", "none", "0"),
    ("numeric", "1.0.3", "1"),
    ("numeric:0.5", "9.49", "10"),
    ("numeric:5%", "9.4", "10"),
]


@pytest.mark.parametrize(("match", "given", "wanted"), RIGHT)
def test_the_expected_output_is_recognised(match: str, given: str, wanted: str) -> None:
    result = compare(given, ExpectedOutput(wanted, match))
    assert result.right, result.reason


@pytest.mark.parametrize(("match", "given", "wanted"), WRONG)
def test_another_output_is_not_taken_for_it_and_the_reason_says_both(match: str, given: str, wanted: str) -> None:
    result = compare(given, ExpectedOutput(wanted, match))
    assert not result.right
    assert result.reason.startswith("the output ")


@pytest.mark.parametrize(("match", "wanted"), [("json", "NN"), ("numeric", "none"), ("numeric", "1 or 2")])
def test_an_expected_output_that_a_comparison_cannot_use_leaves_the_output_unscored(match: str, wanted: str) -> None:
    with pytest.raises(Unscorable) as raised:
        compare("NN", ExpectedOutput(wanted, match))
    assert raised.value.code == "bad-expected"


def right(text: str, match: str) -> object:
    try:
        return compare(text, ExpectedOutput(text, match)).right
    except Unscorable as error:
        return error.code, match


@given(st.text(max_size=40), st.sampled_from([kind for kind in MATCH_KINDS if kind != "asked"]))
def test_every_text_is_its_own_right_answer_and_none_breaks_a_comparison(text: str, match: str) -> None:
    assert right(text, match) in (True, ("bad-expected", "json"), ("bad-expected", "numeric"))


@pytest.mark.parametrize(
    "text",
    [
        "1" * 200_000 + "a",
        ",111" * 100_000,
        '"' * 200_000,
        "[" * 200_000,
        "- \n" * 100_000,
        "a\nb" + " " * 200_000 + "c",
    ],
)
@pytest.mark.parametrize("match", ["normalised", "json", "set", "numeric"])
def test_long_hostile_outputs_are_compared_as_well(text: str, match: str) -> None:
    assert not compare(text, ExpectedOutput("[1]", match)).right


def verdict(assertion: dict[str, Any], text: str = "NN", **more: Any) -> tuple[str, str | None]:
    report = check(text, [assertion], **more)
    return report.status, report.unscored


def test_the_kind_expected_compares_with_the_cases_own_answer() -> None:
    assert verdict({"kind": "expected"}, "nn.", expected="NN") == ("pass", None)
    assert verdict({"kind": "expected"}, "VB", expected="NN") == ("fail", None)
    assert verdict({"kind": "not-expected"}, "VB", expected="NN") == ("pass", None)
    assert verdict({"kind": "expected", "value": "exact"}, "nn", expected="NN") == ("fail", None)
    assert verdict({"kind": "expected"}, "[2,1]", expected="[1,2]", match="set") == ("pass", None)


def test_without_an_expected_output_a_check_that_needs_it_is_unscored_and_never_compares_with_nothing() -> None:
    for assertion in (
        {"kind": "expected"},
        {"kind": "not-expected"},
        {"kind": "equals", "value": "{{expected}}"},
        {"kind": "not-contains", "value": "{{ expected | upper }}"},
        {"kind": "contains-any", "value": ["x", "{{expected}}"]},
        {"kind": "regex", "value": "{% if expected %}a{% endif %}"},
    ):
        assert verdict(assertion, "") == ("unscored", "no-expected")
        assert verdict(assertion, "NN", vars={"word": "fox"}) == ("unscored", "no-expected")
    assert verdict({"kind": "equals", "value": "{{other}}"}, "") == ("pass", None)
    assert verdict({"kind": "contains", "value": "{% set expected = 1 %}{{ expected }}"}, "1") == ("pass", None)


def test_the_expected_output_is_data_in_a_value_and_an_input_of_that_name_stays_itself() -> None:
    assert verdict(
        {"kind": "equals", "value": "{{expected}}"}, "{{word}}", expected="{{word}}", vars={"word": "fox"}
    ) == (
        "pass",
        None,
    )
    assert verdict({"kind": "equals", "value": "{{expected}}"}, "mine", expected="NN", vars={"expected": "mine"}) == (
        "pass",
        None,
    )
    assert verdict({"kind": "expected"}, "NN", expected="NN", vars={"expected": "mine"}) == ("pass", None)


@pytest.mark.parametrize("value", ["fuzzy", "asked", 5, ["json"]])
def test_a_comparison_that_code_does_not_make_is_refused(tmp_path: Path, value: object) -> None:
    assert verdict({"kind": "expected", "value": value}, "NN", expected="NN") == ("unscored", "bad-value")
    (tmp_path / "a.yaml").write_text(json.dumps([{"kind": "expected", "value": value}]), encoding="utf-8")
    with pytest.raises(CheckError, match="comparison"):
        read_assertions(tmp_path / "a.yaml")


def test_rules_know_the_expected_output_and_the_inputs_of_a_case() -> None:
    checks = (Check(kind="expected"), Check(kind="contains", value="{{word}}-{{expected}}"))
    rules = [Rule(id=f"r{number}", rule="Right.", checks=(one,)) for number, one in enumerate(checks)]
    expected = {"c1": ExpectedOutput("fox-NN, NN", "set")}
    outputs = [output("nn, fox-NN"), output("NN", case="c2")]
    verdicts = check_rules(rules, outputs, lambda _: {"word": "fox"}, lambda output: expected.get(output.case))
    assert [(one.case, one.status, one.unscored) for one in verdicts] == [
        ("c1", "pass", None),
        ("c1", "fail", None),
        ("c2", "unscored", "no-expected"),
        ("c2", "unscored", "no-expected"),
    ]


def test_rows_to_check_bring_their_expected_output_as_a_key_a_column_or_a_variable(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"output": "nn.", "expected": "NN"},
        {"output": "[2, 1]", "expected": [1, 2], "match": "set"},
        {"output": "VB", "expected": "NN", "also_right": ["VBZ", "VB"]},
        {"output": "NN", "vars": {"expected": "NN"}},
        {"output": "NN"},
        {"output": "NN", "expected": "NN", "match": "fuzzy"},
    ]
    lines = "".join(json.dumps({**row, "assert": [{"kind": "expected"}]}) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(lines, encoding="utf-8")
    reports = check_rows(rows_to_check.read(tmp_path / "rows.jsonl"))
    assert [(one.status, one.unscored) for one in reports] == [
        ("pass", None),
        ("pass", None),
        ("pass", None),
        ("pass", None),
        ("unscored", "no-expected"),
        ("unscored", "bad-row"),
    ]
    sent = [pickle.loads(pickle.dumps(row)) for row in rows_to_check.read(tmp_path / "rows.jsonl")]
    assert [one.status for one in check_rows(iter(sent))] == [one.status for one in reports]
    with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["output", "expected"], ["nn", "NN"], ["", ""]])
    (tmp_path / "a.yaml").write_text("- {kind: equals, value: '{{expected}}'}\n- {kind: expected}\n", encoding="utf-8")
    checks = read_assertions(tmp_path / "a.yaml")
    first, second = check_rows(rows_to_check.read(tmp_path / "rows.csv"), checks)
    assert [one.status for one in first.results] == ["fail", "pass"]
    assert [one.unscored for one in second.results] == ["no-expected", "no-expected"]


def test_the_outputs_of_a_run_are_checked_with_the_expected_outputs_of_its_cases(tmp_path: Path) -> None:
    case = {"id": "c1", "inputs": {}, "expected": "[1, 2]"}
    kept = {"prompt": {}, "spec": {}, "suite": {"prompt": "p", "match": "set", "cases": [case]}}
    (tmp_path / "inputs.json").write_text(json.dumps(kept), encoding="utf-8")
    (tmp_path / "outputs.jsonl").write_text(json.dumps({"case": "c1", "model": "m", "text": "2, 1"}), encoding="utf-8")
    (tmp_path / "a.yaml").write_text("- {kind: expected}\n", encoding="utf-8")
    checks = read_assertions(tmp_path / "a.yaml")
    (report,) = check_rows(rows_to_check.read(tmp_path), checks)
    assert report.status == "pass"
