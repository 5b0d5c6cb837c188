from __future__ import annotations

import contextlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptpex.assertions import assertion_file
from promptpex.codecs.json_text import without_comments
from promptpex.codecs.model_json import MAX_CHARS, MAX_REPAIRED, GrowingList, ReplyError, read_json_reply, whole_objects
from promptpex.core.errors import CheckError
from tests.work import calls, in_proportion

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
OBJECT = st.dictionaries(st.text(min_size=1, max_size=8), JSON, min_size=1, max_size=4)


def writable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@given(JSON.filter(writable))
def test_plain_json_is_read_as_it_is(value: Any) -> None:
    parsed = read_json_reply(json.dumps(value))
    assert parsed.value == value
    assert not parsed.repaired


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
def test_what_ends_a_line_for_python_alone_stays_in_a_text_within_a_fence(mark: str) -> None:
    assert read_json_reply(f'```json\n{{"a": "x{mark}y"}}\n```').value == {"a": f"x{mark}y"}


@given(OBJECT.filter(writable), st.sampled_from(["{}", "Sure!\n{}", "{}\nHope it helps.", "\ufeff{}", "A: {} (done)"]))
def test_text_around_an_object_is_read_past(value: Any, around: str) -> None:
    parsed = read_json_reply(around.replace("{}", json.dumps(value)))
    assert parsed.value == value
    assert not parsed.repaired


@given(OBJECT.filter(writable), st.sampled_from(["```json", "```", "~~~", "``` JSON"]))
@example({"</THINK>": None}, "```json")
@example({"a": ["</think>", {}]}, "~~~")
def test_fences_are_read_past(value: Any, fence: str) -> None:
    text = f"Here it is:\n{fence}\n{json.dumps(value, indent=1)}\n{fence[:3]}\nThat is all {{really}}."
    assert read_json_reply(text).value == value


@given(OBJECT.filter(writable))
def test_thinking_is_read_past(value: Any) -> None:
    answer = json.dumps(value)
    for text in (f'<think>maybe {{"a": 1}}</think>{answer}', f"let me see</think>\n{answer}"):
        assert read_json_reply(text).value == value


@settings(max_examples=50)
@given(st.text(max_size=300) | st.text(alphabet="{}[]\",:'\\`<>/think \n1a", max_size=300))
def test_any_text_gives_a_value_or_a_reply_error(text: str) -> None:
    with contextlib.suppress(ReplyError):
        value = read_json_reply(text).value
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("{'a': 'b'}", {"a": "b"}),
        ("{a: 1}", {"a": 1}),
        ('{"a": [1, 2,], "b": {"c": 3,},}', {"a": [1, 2], "b": {"c": 3}}),
        ('Well: {"a": "he said "no" today"} ok', {"a": 'he said "no" today'}),
        ('{"a": True, "b": None}', {"a": True, "b": None}),
        ('{"rules": [{"a": 1}, {"b": 2},]}', {"rules": [{"a": 1}, {"b": 2}]}),
    ],
)
def test_broken_json_is_repaired_and_flagged(text: str, value: Any) -> None:
    parsed = read_json_reply(text)
    assert parsed.value == value
    assert parsed.repaired


def test_a_line_break_inside_a_string_is_no_damage() -> None:
    assert read_json_reply('{"a": "x\ny"}').value == {"a": "x\ny"}


def test_an_object_is_preferred_to_brackets_in_prose() -> None:
    assert read_json_reply('As in [1], the set {x}: {"a": 1} [2]').value == {"a": 1}


def test_a_draft_outside_the_fence_is_no_rival_of_what_is_in_it() -> None:
    assert read_json_reply('First {"v": "fail"}, but then:\n```json\n{"v": "pass"}\n```').value == {"v": "pass"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "no json here",
        "<think>only thinking</think>",
        '{"v": "pass"} or rather {"v": "fail"}',
        '{"cases": [{"a": 1}, {"b": 2}',
        '```json\n{"cases": [{"a": 1}, {"b"',
        '<think>a draft {"v": "pass"} but no',
        '{"a": 1e999}',
        "[see below]"[:4],
        "[" * 5000,
        '{"a":' * 5000,
        "x" * (MAX_CHARS + 1),
    ],
)
def test_what_is_no_answer_is_an_error(text: str) -> None:
    with pytest.raises(ReplyError):
        read_json_reply(text)


def test_unfinished_thinking_gives_only_a_value_that_closes_the_text() -> None:
    parsed = read_json_reply('<think>a draft {"v": "fail"}; no: {"v": "pass"}')
    assert parsed.value == {"v": "pass"}
    assert parsed.repaired


def test_lone_surrogates_become_replacement_characters() -> None:
    assert read_json_reply('{"a": "x\\ud800y"}').value == {"a": "x\ufffdy"}


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "{",
        '"',
        "{'",
        '{"',
        '{"a":',
        "[1,",
        "<think>",
        "<think></think>",
        "```\n",
        "```a\n",
        '{"\\"',
        "{x} ",
        "\\",
        "'{",
        "{}",
    ],
)
def test_time_grows_in_proportion_to_the_text(piece: str) -> None:
    def read(length: int) -> None:
        text = piece * (length // len(piece))
        for each in (text, "{" + text + "}", 'x {"a": ' + text):
            read_or_refused(each)

    assert in_proportion(read, 30_000, 240_000)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.sampled_from(['{"', '"', "'", "{", "}", "[", "]", ":", ",", "a", "\\", "/*", "//", "\n", " "]), max_size=12
    )
)
@example(["\\", "{", "[", "]", "[", "}", "}", "a", " "])
@example(["[", '"', "}"])
@example([" ", "'", ",", "/*", "'", "//"])
def test_what_json_repair_is_given_is_bounded_too(pieces: list[str]) -> None:
    body = "".join(pieces)
    text = "{a:" + body * ((MAX_REPAIRED - 4) // max(1, len(body))) + "}"
    assert calls(read_or_refused, text) < 1_000 * MAX_REPAIRED


def read_or_refused(text: str) -> None:
    with contextlib.suppress(ReplyError):
        read_json_reply(text)


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


COMMENTED = """[
  {"type": "contains", // what it has to hold
   "value": "http://x.y // \\" /* no comment */"},
  /* and
     how long it may be */
  {"type": "word-count", "value": {"max": 3}} // the end
]
"""


def test_comments_become_blanks_on_their_lines(tmp_path: Path) -> None:
    plain = without_comments(COMMENTED)
    assert json.loads(plain)[0]["value"] == 'http://x.y // " /* no comment */'
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in COMMENTED.splitlines()]
    path = tmp_path / "checks.json"
    path.write_text(COMMENTED, encoding="utf-8")
    assert [check["type"] for check in assertion_file.read(path).raw] == ["contains", "word-count"]
    path.write_text(COMMENTED.replace("word-count", "word-cnt"), encoding="utf-8")
    with pytest.raises(CheckError) as caught:
        assertion_file.read(path)
    assert caught.value.line == 6


@pytest.mark.parametrize("text", ["- a // b\n", "{a: http://x.y}\n", "[a, // b\n c]\n", "{", '"a" // b', ""])
def test_what_is_no_json_without_them_stays(text: str) -> None:
    assert without_comments(text) == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('/*"\\ \n\u00e9a'), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.sampled_from('/*"\\a'), max_size=4), inner),
    max_leaves=8,
)


@given(VALUES.filter(lambda value: isinstance(value, list | dict)), st.integers(0, 3))
def test_a_value_is_the_same_with_comments_around_it(value: object, indent: int) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    commented = text.replace("\n", ' // a "comment" \\\n') + " /* 'b' */ // c"
    assert json.loads(without_comments(commented)) == value
