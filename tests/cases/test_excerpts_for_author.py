"""Existing cases are shown by what sets them apart."""

from __future__ import annotations

import json
from typing import Any

from promptpex.cases.new_cases_request import LEAST_SHARE, CaseExcerpts
from promptpex.core.records import Case


def case(**inputs: Any) -> Case:
    return Case(id="c", rule="r1", inputs=inputs)


def record(tenant: str, **more: Any) -> dict[str, Any]:
    usual = {"tenant": tenant, "vulnerable": False, "place": {"floor": 1, "tap": "under the kitchen sink"}, "jobs": []}
    return {**usual, **more}


def test_of_a_json_object_the_members_are_shown_that_most_cases_do_not_have() -> None:
    records = [record("Ada"), record("Bo", vulnerable=True), record("Cy", place={"floor": 7, "tap": None})]
    cases = [case(record=records[0]), case(record=json.dumps(records[1])), case(record=records[2])]
    excerpts = CaseExcerpts(cases)
    assert [excerpts.of(one, 160) for one in cases] == [
        "tenant: Ada",
        "tenant: Bo, vulnerable: true",
        "tenant: Cy, place.floor: 7, place.tap: null",
    ]


def test_a_case_that_has_nothing_of_its_own_says_so() -> None:
    cases = [case(record={"a": 1}), case(record={"a": 1}), case(record={"a": 2})]
    excerpts = CaseExcerpts(cases)
    assert [excerpts.of(one, 160) for one in cases] == ["{…}", "{…}", "a: 2"]


def test_one_case_alone_is_shown_whole() -> None:
    (one,) = cases = [case(record={"a": 1}, text="Hello there, how are you today?")]
    assert CaseExcerpts(cases).of(one, 160) == "a: 1 | Hello there, how are you today?"


def test_a_beginning_that_all_texts_share_is_left_out() -> None:
    cases = [case(text=f"Sentence with a word to tag:\n{end}") for end in ("She sings.", "He runs.")]
    assert [CaseExcerpts(cases).of(one, 160) for one in cases] == ["…She sings.", "…He runs."]
    short = [case(text=f"Word: {end}") for end in ("sings", "runs")]
    assert [CaseExcerpts(short).of(one, 160) for one in short] == ["Word: sings", "Word: runs"]


def test_what_short_values_do_not_need_goes_to_long_ones() -> None:
    long = "x" * 500
    one = case(when="Monday", first=long, second=long)
    lengths = [len(part) for part in CaseExcerpts([one]).of(one, 160).split(" | ")]
    assert lengths[0] == len("Monday")
    assert lengths[1] == lengths[2] == (160 - LEAST_SHARE) / 2


def test_values_that_are_no_objects_and_missing_ones_are_texts() -> None:
    cases = [case(a="{broken", b=3), case(a="[" * 5000, b=None), case(a="{}")]
    excerpts = CaseExcerpts(cases)
    assert excerpts.of(cases[0], 160) == "{broken | 3"
    assert excerpts.of(cases[1], 160).endswith("… | null")
    assert excerpts.of(cases[2], 160) == "{}"
