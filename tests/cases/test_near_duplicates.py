from __future__ import annotations

from typing import Any

import pytest

from promptpex.cases.duplicates import first_alike, situation_of
from promptpex.cases.file import read_suite
from promptpex.core.records import Case
from tests.e2e.command import ROOT


def alike(a: dict[str, Any], b: dict[str, Any]) -> bool:
    first, second = Case(id="a", inputs=a), Case(id="b", inputs=b)
    return first_alike(second, [(first, situation_of(a))]) is first


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("My parcel has not arrived, has it shipped?", "Has my parcel shipped? It has not arrived!"),
        ("Where is order 471199, shipped last Monday?", "Order 550021, shipped last Monday: where is it?"),
        ("Where does the shipping parcel arrive?", "where did the shipped parcels arrive"),
        ("Nhà hàng này ở đâu vậy em ơi", "nhà hàng này ở đâu vậy em"),
        ("这家餐厅的菜很好吃，服务员也很热情", "这家餐厅的菜很好吃。服务员也热情"),
    ],
)
def test_the_same_story_in_other_words(a: str, b: str) -> None:
    assert alike({"message": a}, {"message": b})


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("I want to return the kettle after 13 days", "I want to return the kettle after 31 days"),
        ("jumps", "jumping"),
        ("Cancel my order please", "Change my address please"),
        ("¿?", "¿?"),
        ("这家餐厅的菜很好吃，服务员也很热情", "我的包裹昨天还没有到，请帮我查一下"),
    ],
)
def test_what_code_cannot_take_for_one_stays_two(a: str, b: str) -> None:
    assert not alike({"message": a}, {"message": b})


def test_another_record_is_another_situation() -> None:
    message = "Please cancel the order that is coming tomorrow"
    assert alike({"m": message, "r": '{"id": 471199}'}, {"m": message, "r": '{"id": 550021}'})
    assert not alike({"m": message, "r": {"status": "open"}}, {"m": message, "r": {"status": "shipped"}})


@pytest.mark.parametrize(
    "suite", sorted(ROOT.glob("benchmarks/*/prompt.cases.yaml")), ids=lambda path: path.parent.name
)
def test_no_two_cases_that_people_wrote_are_alike(suite: Any) -> None:
    seen: list[Any] = []
    for case in read_suite(suite).cases:
        assert first_alike(case, seen) is None
        seen.append((case, situation_of(case.inputs)))
