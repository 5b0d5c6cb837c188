"""A check's program that an output breaks leaves that output unscored, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.assertions import KIND_NAMES, check
from promptpex.core.records import Check, Output, Rule
from tests.assertions.checked_here import check_rules

DEEP = "[" * 20_000 + "]" * 20_000
PARSED = {"kind": "contains", "value": "a", "transform": "JSON.parse(output)"}


def test_a_transform_whose_value_nests_too_deep_is_a_script_error() -> None:
    report = check(DEEP, [PARSED, {"kind": "contains", "value": "["}])
    assert [result.unscored for result in report.results] == ["script-error", None]
    assert "nests too deep" in report.results[0].reason


def test_other_outputs_and_rules_keep_their_verdicts() -> None:
    rules = [
        Rule(id="r1", rule="parsed", checks=(Check.model_validate(PARSED),)),
        Rule(id="r2", rule="plain", checks=(Check(kind="contains", value="["),)),
    ]
    outputs = [Output(case=f"c{n}", model="m", text=text) for n, text in enumerate([DEEP, '["a"]', "[b"])]
    statuses = {(one.case, one.rule): one.status for one in check_rules(rules, outputs, lambda _: {})}
    assert statuses["c0", "r1"] == "unscored"
    assert statuses["c1", "r1"] == "pass"
    assert statuses["c0", "r2"] == statuses["c1", "r2"] == statuses["c2", "r2"] == "pass"


@pytest.mark.parametrize("output", [10**5000, {"a": 10**400}, [-(10**5000)], {1: 2}, "\ud800"], ids=range(5))
def test_no_output_of_any_kind_is_raised(output: Any) -> None:
    for kind in KIND_NAMES:
        if kind != "assert-set":
            report = check(output, [{"kind": kind, "value": "a", "threshold": 1}], vars={"x": 10**5000})
            assert report.status in ("pass", "fail", "unscored")


LARGE = 10**5000
ODD_CHECKS: list[Any] = [
    LARGE,
    {"kind": LARGE},
    {"kind": "contains", "value": "x", "threshold": LARGE},
    {"kind": "contains", "value": "x", "weight": -LARGE},
    {"kind": "rouge-n", "value": "x", "n": LARGE},
    {"kind": "contains", "value": "x", LARGE: 1},
    {"kind": "is-sql", "value": {"databaseType": LARGE}},
    {"kind": "is-json", "value": {"const": LARGE}},
    {"kind": "word-count", "value": LARGE},
    {"kind": "equals", "value": {"a": LARGE}},
]


@pytest.mark.parametrize("odd", ODD_CHECKS, ids=range(len(ODD_CHECKS)))
def test_no_check_of_any_kind_is_raised(odd: Any) -> None:
    report = check("x", [odd, {"kind": "contains", "value": "x"}], threshold=LARGE)
    assert report.results[1].status == "pass"
    report.to_dict()


class _Odd:
    """What a caller of the library may hand over, and JSON does not have."""

    def __str__(self) -> str:
        raise ValueError("no text of me")


@pytest.mark.parametrize("kind", ["contains", "equals", "regex", "javascript"])
def test_an_output_that_breaks_the_program_is_unscored(kind: str) -> None:
    report = check({"a": _Odd()}, [{"kind": kind, "value": "{{a}}"}, {"kind": "regex", "value": "b"}], vars={"a": "b"})
    assert report.results[0].status == "unscored"
    assert report.results[0].unscored == "script-error"
    assert "ValueError" in report.results[0].reason
