"""The objects of a list in a text that comes in pieces: the same however it is cut, in linear time."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.codecs.model_json import MAX_CHARS, GrowingList, read_json_reply, whole_objects
from tests.work import calls


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ('{"cases": [{"a": 1}, {"b": "]"}, {"c": "cut', [{"a": 1}, {"b": "]"}]),
        ('Here: ```json\n[{"a": {"b": []}}\n, {"c": 2}]```', [{"a": {"b": []}}, {"c": 2}]),
        ('{"cases": [{"a": 1}, nothing, {"b": 2}]}', [{"a": 1}]),
        ('{"cases": [1, 2]}', []),
        ('{"a": 1', []),
        ("[" * 5000, []),
        ('[{"a": ' * 5000, []),
        ("", []),
    ],
)
def test_whole_objects_of_a_broken_reply(text: str, objects: list[dict[str, Any]]) -> None:
    assert whole_objects(text) == objects


PARTS = (
    "[", "]", "{", "}", '"', "\\", ",", ":", " ", "\n", "\ufeff", "1", "null", "NaN", "é", "\ud800", "<", ">", "think",
    "<think>", "</think>", "<Thinking>", "</thinking>", "<reasoning>", "</reasoning>", "```json\n", '{"items": [',
    '{"a": "}]"}', '{"b": {"c": [1, "\\""]}}', '{"k": "\\\\"}', "items",
)  # fmt: skip


def cut(text: str, places: list[int]) -> list[str]:
    """The text in pieces, some of which may be empty."""
    at = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(at)]


def read_in(pieces: list[str]) -> list[dict[str, Any]]:
    growing = GrowingList()
    return [each for piece in pieces for each in growing.add(piece)]


@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join), st.lists(st.integers(0, 400), max_size=30))
def test_any_cut_gives_the_same_objects(text: str, places: list[int]) -> None:
    whole = whole_objects(text)
    assert read_in(cut(text, places)) == whole
    assert read_in(list(text)) == whole


ITEM = st.dictionaries(
    st.text(max_size=5), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4)
)
BEFORE = st.sampled_from(
    [
        "",
        " \n",
        "Here they are [two]:\n```json\n",
        '<think>[{"a": 1}] no </think>',
        "<Reasoning></reasoning> <think></think>",
    ]
)


@given(BEFORE, st.lists(ITEM, min_size=1, max_size=5), st.booleans(), st.lists(st.integers(0, 400), max_size=10))
def test_they_are_those_of_the_whole_reply(
    before: str, items: list[dict[str, Any]], is_wrapped: bool, places: list[int]
) -> None:
    value = {"items": items} if is_wrapped else items
    text = before + json.dumps(value, ensure_ascii=False) + ("\n```" if "```" in before else "")
    whole = read_json_reply(text).value
    assert read_in(cut(text, places)) == (whole["items"] if isinstance(whole, dict) and is_wrapped else whole)


def test_each_is_there_as_soon_as_it_is_closed() -> None:
    growing = GrowingList()
    assert growing.add('{"items": [{"a": "') == []
    assert growing.add('}"}') == [{"a": "}"}]
    assert growing.add(', {"b": 2}, {"c": 3} ]') == [{"b": 2}, {"c": 3}]
    assert growing.add(', {"d": 4}]') == []


@pytest.mark.parametrize(
    "part", ["[", "[{", '[{"a": "', "<think></think>", "<think>", "[ ", '"', "\\", '[{"a": "\\', "{}", "[{}", ",{},"]
)
def test_the_work_is_linear_whole_and_by_the_character(part: str) -> None:
    def work(size: int, *, single: bool) -> int:
        text = "[{}" + part * size if part == ",{}," else part * size
        return calls(read_in, list(text) if single else [text])

    for single in (False, True):
        assert work(2_000, single=single) < 2.5 * work(1_000, single=single) + 1_000


def test_no_more_is_read_than_of_a_whole_reply() -> None:
    growing = GrowingList()
    growing.add("[" + " " * (MAX_CHARS - 1))
    assert growing.add('{"a": 1}') == []
    assert whole_objects("[" + " " * MAX_CHARS + '{"a": 1}]') == []
