"""Reasons of checks are kept in English, and recognised when they are shown: the project's words are translated, and
what a model or a person wrote is left, whatever it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptpex.assertions.evaluator import check
from promptpex.assertions.rule_verdicts import about_input
from promptpex.codecs.text.wording import beginning, quoted_json
from promptpex.core.errors import ModelError
from promptpex.core.translation import from_data, reading_in
from promptpex.llm.error_mapping import from_status
from tests.pseudo_language import bold, pseudo_language, stored_keys

HOSTILE = st.lists(
    st.sampled_from(
        (
            "the output",
            "it ",
            " is ",
            ", not ",
            '"',
            "’",
            "‘",
            ": ",
            "; ",
            "best",
            " 3 words",
            " wanted",
            "x",
            "\\",
            "\n",
            "<",
        )
    ),
    max_size=12,
).map("".join)
"""Texts made of what parts reasons."""
SHAPED = {
    "count": "3", "failed": "1", "least": "0.5", "left_out": "2", "limit": "1,024", "most": "inf", "number": "7",
    "passed": "2", "score": "0.25", "seconds": "30", "boolean": "True", "function": "check", "value": "{'a': 'b'}",
    "excerpt": "‘it is x, not \"y’",
}  # fmt: skip
"""What stands in places that have a shape."""
PLACES = re.compile(r"\{(\w+)\}")
STORED_KEYS = stored_keys()


def plain(shown: str, values: Sequence[str]) -> str:
    """What is left of a text without these values."""
    for value in sorted(values, key=len, reverse=True):
        assert value in shown
        shown = shown.replace(value, "", 1)
    return shown


def translated(reason: str) -> str:
    with reading_in(pseudo_language()):
        return from_data(reason)


def shown_and_wanted(key: str) -> tuple[str, str]:
    """What is shown for a stored text of this key, and its translation."""
    names = PLACES.findall(key)
    values = {name: SHAPED.get(name, '"a, not \\"b"' if name.startswith("quoted") else "Zé") for name in names}
    digits = pseudo_language().digits
    numbers = {name: digits(value) for name, value in values.items() if value in ("0.5", "1,024", "0.25")}
    return translated(key.format(**values)), bold(key).format(**{**values, **numbers})


def test_every_stored_text_is_known_again() -> None:
    """One test: a thousand would take longer to begin and end than to run."""
    pairs = {key: shown_and_wanted(key) for key in STORED_KEYS}
    assert len(pairs) > 900
    assert {key: shown for key, (shown, wanted) in pairs.items() if shown != wanted} == {}


@given(HOSTILE, HOSTILE)
@example("x", "")
@example("’, not ", '"y')
def test_what_an_output_and_a_check_hold_is_left_as_it_is(text: str, wanted: str) -> None:
    excerpt, quoted = beginning(text), quoted_json(wanted)
    excerpt = excerpt if excerpt.startswith("‘") else bold(excerpt)
    edge = beginning(text[: len(wanted) + 20])
    edge = edge if edge.startswith("‘") else bold(edge)
    rows: list[tuple[Mapping[str, object], list[str]]] = [
        ({"kind": "contains", "value": wanted}, [quoted, excerpt]),
        ({"kind": "equals", "value": wanted}, [excerpt, quoted]),
        ({"kind": "starts-with", "value": wanted}, [edge, quoted]),
        ({"kind": "word-count", "value": {"min": 500}}, ["500"]),
        ({"kind": "is-refusal"}, [excerpt]),
        ({"kind": "levenshtein", "value": wanted, "threshold": -1}, [quoted, excerpt]),
    ]
    for written, values in rows:
        report = check(text, [written])
        if report.status == "fail":
            head, _, rest = translated(report.reason).partition(": ")
            assert head == written["kind"]
            assert not re.search("[A-Za-z]", plain(rest, values)), report.reason


EXPECTED: list[tuple[object, Mapping[str, object], str]] = [
    ('Sure! {"a": 1}', {"kind": "is-json"}, "is-json: có chữ trước JSON: ‘Sure!’"),
    ('{"a": 1', {"kind": "is-json"}, 'is-json: JSON bị cắt ngang sau ‘{"a": 1’'),
    ('{"a" 1}', {"kind": "is-json"}, "is-json: JSON hỏng: thiếu dấu hai chấm trước ‘1}’"),
    ("one two", {"kind": "word-count", "value": 40}, "word-count: 2 từ, cần 40"),
    ("a b", {"kind": "not-word-count", "value": {"min": 1, "max": 2}}, "not-word-count: 2 từ, không được từ 1 đến 2"),
    (
        '{"n": 1.5, "m": "x"}',
        {"kind": "is-json", "value": {"type": "object", "properties": {"n": {"type": "number", "maximum": 1.25}}}},
        "is-json: JSON không theo lược đồ tại n: 1.5 lớn hơn mức tối đa 1,25",
    ),
    (
        '{"m": "x"}',
        {"kind": "is-json", "value": {"type": "object", "required": ["n"]}},
        "is-json: JSON không theo lược đồ: thiếu thuộc tính bắt buộc 'n'",
    ),
    ('{"m": "x"}', {"kind": "equals", "value": "y", "path": "m"}, 'equals: m: đầu ra là ‘x’, không phải "y"'),
    ('{"m": "x"}', {"kind": "equals", "value": "y", "path": "k"}, "equals: đầu ra không chứa JSON có giá trị k"),
    ("x", {"kind": "regex", "value": "^y$"}, 'regex: biểu thức chính quy "^y$" không khớp trong ‘x’'),
    ("x", {"kind": "javascript", "value": "0.25"}, "đạt khẳng định"),
    (
        "x",
        {"kind": "javascript", "value": "0.25", "threshold": 0.5},
        "javascript: điểm của script 0,25 dưới 0,5",
    ),
    ("x", {"kind": "javascript", "value": "({pass: false, score: 0, reason: 'as I wrote'})"}, "javascript: as I wrote"),
    ("SELEC", {"kind": "is-sql"}, "is-sql: không phải câu lệnh SQL"),
    ("<a>", {"kind": "is-xml"}, "is-xml: không phải XML (no element found: line 1, column 3): ‘<a>’"),
    ("x", {"kind": "cost", "threshold": 1}, "cost: không biết chi phí của đầu ra này"),
    ("x", {"kind": "expected"}, "expected: không có đầu ra mong đợi để so sánh"),
]


@pytest.mark.parametrize(("output", "written", "shown"), EXPECTED)
def test_reasons_in_vietnamese(output: object, written: Mapping[str, object], shown: str) -> None:
    with reading_in("vi"):
        assert from_data(check(output, [written]).reason) == shown


def test_a_reason_about_an_input_calls_it_so() -> None:
    reason = about_input(check("Hello", [{"kind": "contains", "value": "x"}]).reason)
    words = f"the rule's condition does not hold: the input question breaks {reason}"
    with reading_in("vi"):
        shown = from_data(words)
    assert shown == (
        'điều kiện của quy tắc không thỏa: đầu vào question không đạt contains: nó không chứa "x": ‘Hello’'
    )


def test_what_a_judge_says_of_a_question_is_left() -> None:
    with reading_in("vi"):
        assert from_data("question: no: the output is JSON") == "question: không: the output is JSON"


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (
            from_status(401, model="m", where="http://h", detail="bad key; sorry"),
            "m tại http://h: nhà cung cấp từ chối khóa hoặc tài khoản (HTTP 401: bad key; sorry); hãy kiểm tra khóa "
            "trong biến môi trường và quyền sử dụng của nó.",
        ),
        (
            from_status(429, model="m", retry_after=2.5),
            "m: nhà cung cấp nhận quá nhiều yêu cầu (HTTP 429), phía đó yêu cầu đợi 2,5 giây; hãy đợi, hoặc hạ "
            "--concurrency hay --rpm.",
        ),
    ],
)
def test_failures_of_servers_in_vietnamese(error: ModelError, shown: str) -> None:
    with reading_in("vi"):
        assert from_data(error.message) == shown
