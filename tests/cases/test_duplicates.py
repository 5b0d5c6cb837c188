from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz

from promptpex.cases.comparable_words import folded
from promptpex.cases.duplicates import (
    BLOCK,
    DuplicatePair,
    clusters,
    duplicates,
    first_alike,
    independent,
    situation_of,
)
from promptpex.cases.file import read_suite
from promptpex.core.records import Case
from tests.e2e.command import ROOT


def cases(*texts: Any, rules: str = "") -> list[Case]:
    inputs = [text if isinstance(text, dict) else {"text": text} for text in texts]
    return [Case(id=f"c{n}", rule=rules[n] if rules else "r", inputs=each) for n, each in enumerate(inputs)]


def test_the_three_ways_to_be_a_duplicate() -> None:
    pairs = duplicates(
        cases(
            "A fox jumps over it.",
            "A ferry at dawn",
            "A fox jumps over it.",
            "a  FOX, jumps over it",
            "A fox jumped over it.",
            rules="aabba",
        )
    )
    assert pairs[:2] == [
        DuplicatePair("c0", "c2", "exact", 1.0, False),
        DuplicatePair("c0", "c3", "normalised", 1.0, False),
    ]
    assert [(pair.a, pair.b, pair.how, pair.within) for pair in pairs[2:]] == [("c0", "c4", "similar", True)]


def test_another_threshold_finds_other_pairs() -> None:
    three = cases("A fox jumps over it.", "A fox jumped over it.", "A fox jumps over it.")
    assert [pair.how for pair in duplicates(three, threshold=0.99)] == ["exact"]
    assert [pair.how for pair in duplicates(three, threshold=2)] == ["exact"]
    assert independent(three, threshold=2) == 2


def test_a_shared_document_with_two_questions_is_two_cases() -> None:
    document = "A long report about ferries, piers and tolls. " * 20
    two = cases(
        {"document": document, "question": "Who pays?"}, {"document": document, "question": "When was it built?"}
    )
    assert duplicates(two) == []
    assert independent(two) == 2


def test_signs_without_words_are_compared_too() -> None:
    assert independent(cases("?!", "? !", "🙂", "", " ")) == 3


def test_values_of_other_types_are_compared() -> None:
    assert [pair.how for pair in duplicates(cases({"n": 12}, {"n": 12}, {"n": "12"}, {"m": 12}))] == [
        "exact",
        "normalised",
    ]


def test_clusters_join_through_a_third() -> None:
    chain = cases("abcdefghijklmnopqrst", "abcdefghijklmnopqrsX", "abcdefghijklmnopqXsX")
    assert clusters(chain, threshold=0.95) == [["c0", "c1", "c2"]]
    assert [(pair.a, pair.b) for pair in duplicates(chain, threshold=0.95)] == [("c0", "c1"), ("c1", "c2")]


def test_many_copies_make_as_many_pairs_and_no_more() -> None:
    assert len(duplicates(cases(*["same"] * 3000))) == 2999


@given(st.lists(st.text("abc ", max_size=12), max_size=12), st.sampled_from([0.5, 0.8, 0.9, 1.0]))
@settings(max_examples=30, deadline=None)
def test_they_are_those_that_comparing_each_with_each_finds(texts: list[str], threshold: float) -> None:
    suite = cases(*texts)
    linked = {(pair.a, pair.b) for pair in duplicates(suite, threshold=threshold) if pair.how == "similar"}
    first = [n for n, text in enumerate(texts) if folded(text) not in map(folded, texts[:n])]
    expected = {
        (f"c{a}", f"c{b}")
        for a in first
        for b in first
        if a < b and fuzz.ratio(folded(texts[a]), folded(texts[b])) >= threshold * 100 - 1e-6
    }
    assert linked == {pair for pair in expected if fuzz.ratio(*(folded(texts[int(name[1:])]) for name in pair)) > 0}


def test_blocks_do_not_hide_pairs() -> None:
    texts = [f"{n:04d} " + chr(97 + n % 26) * (n % 40 + 10) + f" {n * 7919 % 10007}" for n in range(3 * BLOCK)]
    texts += [text + "!?x" for text in texts[:: BLOCK // 4]]
    pairs = {(pair.a, pair.b) for pair in duplicates(cases(*texts), threshold=0.9)}
    for place, n in enumerate(range(0, 3 * BLOCK, BLOCK // 4)):
        if fuzz.ratio(folded(texts[n]), folded(texts[3 * BLOCK + place])) >= 90:
            assert (f"c{n}", f"c{3 * BLOCK + place}") in pairs


@given(st.permutations(["one fox", "one fox!", "two ferries leave", "two ferries left", "three"]))
def test_the_count_does_not_depend_on_the_order(texts: list[str]) -> None:
    assert independent(cases(*texts), threshold=0.8) == 3


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
