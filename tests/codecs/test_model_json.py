from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptpex.codecs.model_json import MAX_CHARS, MAX_REPAIRED, ReplyError, read_json_reply
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


def test_the_same_value_twice_is_one_value() -> None:
    assert read_json_reply('{"a": 1}\nAgain: {"a": 1}').value == {"a": 1}


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
