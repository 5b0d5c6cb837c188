"""What promptfoo does not have: whole words, a dialect for every script, exact decimals, spoken words; and reasons."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptpex.assertions import check, compile_checks, evaluator
from promptpex.assertions.javascript import v8
from promptpex.assertions.kinds.measures import counted
from promptpex.core.records import Check

WORDS = [
    ("as an airy room", "airy", "as an ai", True),
    ("policyholder of the year", "policyholder", "policy", False),
    ("I am, as an\n  AI, sorry.", "as an ai", "sorr", True),
    ("Ich heiße STRASSE", "strasse", "heis", True),
    ("You can't or can’t go.", "can't", "can", False),
    ("the firm's label", "firm", "lab", False),
    ("a non-refundable room", "refundable", "fund", False),
    ("**sorry** _no_ (yes)", "no", "n", False),
    ("user_id is set", "user_id", "id", False),
    ("1,500 pieces at 3.5", "1,500", "500", False),
    ("It is 5.", "5", "It is 5.5", False),
    ("很抱歉，AI助手", "抱歉", "助理", False),
    ("很抱歉，AI助手", "AI", "A", False),
    ("ขอโทษครับ", "ขอโทษ", "ขอบ", False),
    ("कृपया नमस्ते", "नमस्ते", "नमस", False),
    ("cafe\u0301 and caf\u00e9s", "caf\u00e9", "cafe", False),
    ("مرحبا بكم", "مرحبا", "مرح", False),
    ("done ✓", "✓", "✗", False),
]


@pytest.mark.parametrize(("output", "there", "absent", "ignore_case"), WORDS, ids=range(len(WORDS)))
def test_a_word_counts_only_as_a_whole_word(output: str, there: str, absent: str, ignore_case: bool) -> None:
    def status(kind: str, *words: str) -> str:
        return check(output, [Check(kind=kind, value=list(words), ignore_case=ignore_case)]).status

    assert status("word-any", absent, there) == "pass"
    assert status("word-any", absent) == "fail"
    assert status("not-word-any", absent) == "pass"
    assert status("not-word-any", absent, there) == "fail"
    assert status("word-all", there) == "pass"
    assert status("word-all", there, absent) == "fail"
    assert status("not-word-all", there, absent) == "pass"


def test_capitals_count_unless_they_are_to_be_ignored() -> None:
    assert check("Sorry.", [{"kind": "word-any", "value": "sorry"}]).status == "fail"
    assert check("Sorry.", [{"kind": "word-any", "value": "sorry", "ignore_case": True}]).status == "pass"


@pytest.mark.parametrize(
    ("pattern", "output", "unicode", "ecmascript"),
    [
        (r"^.$", "😀", "pass", "fail"),
        (r"^\p{L}+$", "đường", "pass", "fail"),
        (r"[👍👎]", "👌", "fail", "pass"),
        (r"^\u{1F600}$", "😀", "pass", "fail"),
        (r"^\d+$", "١٢", "fail", "fail"),
    ],
)
def test_the_unicode_dialect_is_that_of_patterns_in_schemas(
    pattern: str, output: str, unicode: str, ecmascript: str
) -> None:
    schema = Check(kind="is-json", value={"type": "string", "pattern": pattern}, dialect="unicode")
    assert check(output, [Check(kind="regex", value=pattern, dialect="unicode")]).status == unicode
    assert check(json.dumps(output), [schema]).status == unicode
    assert check(output, [Check(kind="regex", value=pattern)]).status == ecmascript


@pytest.mark.parametrize(
    ("number", "factor", "status"),
    [
        ("19.99", 0.01, "pass"),
        ("0.07", 0.01, "pass"),
        ("19.991", 0.01, "fail"),
        ("1e300", 0.01, "pass"),
        ("1e-300", 0.01, "fail"),
        ("1e400", 0.01, "fail"),
        ("-12.50", 0.5, "pass"),
        ("3", 3, "pass"),
        ("true", 2, "pass"),
    ],
)
def test_exact_decimals_divide_as_on_paper(number: str, factor: float, status: str) -> None:
    assert check(number, [Check(kind="is-json", value={"multipleOf": factor}, exact=True)]).status == status
    assert check("19.99", [Check(kind="is-json", value={"multipleOf": 0.01})]).status == "fail"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("one — two -- three – four", 4),
        ("one—two", 2),
        ("- a\n* b\n• c 😀", 3),
        ("don't well-known 19.99 $5", 4),
        ("--- *** ___", 0),
        ("", 0),
        ("một hai ба", 3),
    ],
)
def test_a_spoken_word_holds_a_letter_or_a_digit(text: str, count: int) -> None:
    assert counted(text, "spoken-words") == count
    assert check(text, [Check(kind="word-count", value=count, unit="spoken-words")]).status == "pass"


@pytest.mark.parametrize(
    ("output", "written", "reason"),
    [
        ("one two", {"kind": "word-count", "value": 40}, "2 words, 40 wanted"),
        ("one — two", {"kind": "word-count", "value": {"min": 40}, "unit": "spoken-words"}, "2 words, at least 40"),
        ("one", {"kind": "not-word-count", "value": {"max": 3}}, "1 word, at most 3 not wanted"),
        ('Sure! Here: {"a": 1}', {"kind": "is-json"}, "text before the JSON: ‘Sure! Here:’"),
        ('{"a": 1}\nEnjoy.', {"kind": "is-json"}, "text after the JSON: ‘Enjoy.’"),
        ('```json\n{"a": 1}\n```', {"kind": "is-json"}, "the JSON is in a code fence"),
        ("Hello", {"kind": "contains-json"}, "no JSON object or list: ‘Hello’"),
        ("", {"kind": "contains", "value": "x"}, 'does not hold "x": nothing'),
        ("NN.", {"kind": "equals", "value": "NN"}, 'the output is ‘NN.’, not "NN"'),
        ("NN.", {"kind": "regex", "value": "^NN$"}, "is not found in ‘NN.’"),
        ("Sure, here", {"kind": "starts-with", "value": "{"}, "starts with ‘Sure, here’"),
        ("as an airy room", {"kind": "not-contains", "value": "as an ai"}, "‘as an airy room’"),
        ("x " * 50 + "so sorry" + " y" * 50, {"kind": "not-word-any", "value": "sorry"}, "x so sorry y"),
        ("a\ud800b", {"kind": "contains", "value": "x"}, "\\ud800"),
        ("I'm sorry, no.", {"kind": "is-json"}, "not JSON: ‘I'm sorry, no.’"),
        ('{"a": 1, "b": "The cust', {"kind": "is-json"}, 'the JSON is cut off after ‘{"a": 1, "b": "The cust’'),
        ('```json\n{"a": [1,', {"kind": "is-json"}, "the JSON is cut off after"),
        ("{'a': 1}", {"kind": "is-json"}, "a name in double quotes is missing before ‘'a': 1}’"),
        ('{"a": }', {"kind": "is-json"}, "a value is missing before ‘}’"),
        ('{"a" 1}', {"kind": "is-json"}, "a colon is missing before ‘1}’"),
        ('{"a": 1 "b": 2}', {"kind": "is-json"}, 'a comma is missing before ‘"b": 2}’'),
        ('{"a": "x\ny"}', {"kind": "is-json"}, "a line break or the like is not escaped: ‘y"),
        ('{"a": "C:\\q"}', {"kind": "is-json"}, "a backslash that JSON does not know: ‘\\q"),
        ('{"a": NaN}', {"kind": "is-json"}, "NaN is not JSON"),
        ("[" * 100_000, {"kind": "is-json"}, "it nests too deep"),
        ("[1, 2", {"kind": "equals", "value": [1, 2]}, "the JSON is cut off after ‘[1, 2’"),
        ("no refunds", {"kind": "not-regex", "value": "refund"}, '‘no refunds’ matches the pattern "refund"'),
        (" \n", {"kind": "not-regex", "value": "^\\s*$"}, "is found in nothing"),
        (
            "x " * 50 + "🙂 you owe £84.90 now" + " y" * 50,
            {"kind": "not-regex", "value": "[£€]"},
            "🙂 you owe £84.90 now",
        ),
        ("🙂" * 99 + "A🙃b", {"kind": "not-regex", "value": "A.", "dialect": "unicode"}, "🙂A🙃b’"),
        (
            "é" * 99 + " no 🙂 sorry",
            {"kind": "not-regex", "value": "sor+y", "dialect": "python"},
            "é no 🙂 sorry’",
        ),
        ("late", {"kind": "contains-all", "value": list("bcdfgh")}, '"b", "c", "d", "f", "g" and 1 more: ‘late’'),
        ("late", {"kind": "word-all", "value": ["soon"]}, 'does not hold "soon": ‘late’'),
        ("NNS and so on", {"kind": "levenshtein", "value": "NN", "threshold": 2}, 'to "NN" is over 2: ‘NNS'),
        ("hello", {"kind": "is-xml"}, "‘hello’"),
        ("hello", {"kind": "contains-xml"}, "the output holds no XML: ‘hello’"),
        ("hello", {"kind": "contains-html"}, "the output holds no HTML: ‘hello’"),
        ("hello", {"kind": "is-refusal"}, "not a refusal: ‘hello’"),
        ("SELECT FROM", {"kind": "is-sql"}, "Expected table name but got the end"),
    ],
)
def test_a_failure_says_what_is_there(output: str, written: dict[str, Any], reason: str) -> None:
    report = check(output, [written])
    assert report.status == "fail"
    assert reason in report.reason
    assert len(report.reason) < 250


@pytest.mark.parametrize(
    ("value", "inputs", "status"),
    [
        ("{{order.status}}", {"order": {"status": "sent"}}, "pass"),
        ("{{order.status}}", {"order": '{"status": "sent"}'}, "pass"),
        ("{{ order.lines[0].state }}", {"order": ' {"lines": [{"state": "sent"}]}'}, "pass"),
        ("{{order.total}}", {"order": '{"total": 19.99}'}, "fail"),
        ("{{order.status}}", {"order": '{"status": "lost"}'}, "fail"),
        ("{{order}}", {"order": "sent"}, "pass"),
        ("{{order.status}}", {"order": "{sent"}, "unscored"),
        ("{{order.status}}", {"order": '["sent"]'}, "unscored"),
    ],
)
def test_a_value_reaches_into_json_inputs(value: str, inputs: dict[str, Any], status: str) -> None:
    assert check("It was sent.", [Check(kind="contains", value=value)], vars=inputs).status == status


REPLY = '{"reply": "I am sorry", "n": 5, "none": null, "items": [{"sku": "A1"}, {"sku": "B2"}], "a key": {"b": [1, 2]}}'


@pytest.mark.parametrize(
    ("path", "written", "status"),
    [
        ("reply", {"kind": "word-count", "value": 3, "unit": "spoken-words"}, "pass"),
        ("reply", {"kind": "not-word-any", "value": "sorry"}, "fail"),
        ("$.reply", {"kind": "equals", "value": "I am sorry"}, "pass"),
        ("n", {"kind": "equals", "value": "5"}, "pass"),
        ("none", {"kind": "is-json", "value": {"type": "null"}}, "pass"),
        ("none", {"kind": "not-contains", "value": "x"}, "unscored"),
        ("items", {"kind": "word-count", "value": 2}, "unscored"),
        ("items[].sku", {"kind": "regex", "value": r"^\p{Lu}\d$", "dialect": "unicode"}, "pass"),
        ("items[].sku", {"kind": "equals", "value": "A1"}, "fail"),
        ("items[].sku", {"kind": "not-equals", "value": "A1"}, "fail"),
        ("items[].sku", {"kind": "not-equals", "value": "C3"}, "pass"),
        ("items[1].sku", {"kind": "equals", "value": "B2"}, "pass"),
        ('["a key"].b', {"kind": "is-json", "value": {"type": "array", "minItems": 2}}, "pass"),
        ("a key.b[]", {"kind": "is-json", "value": {"type": "integer"}}, "pass"),
        ("reply", {"kind": "is-json", "value": {"type": "string"}}, "pass"),
        ("items", {"kind": "javascript", "value": "output.length === 2"}, "pass"),
        ("items[7].sku", {"kind": "not-equals", "value": "A1"}, "unscored"),
        ("items[].price", {"kind": "not-equals", "value": "A1"}, "unscored"),
        ("reply.text", {"kind": "contains", "value": "A1"}, "unscored"),
    ],
)
def test_a_check_with_a_path_looks_at_values_of_a_json_output(path: str, written: dict[str, Any], status: str) -> None:
    for output in (REPLY, f"Sure! {{}} ```json\n{REPLY}\n```", json.loads(REPLY)):
        report = check(output, [{**written, "path": path}])
        assert report.status == status
        assert report.unscored == ("no-value" if status == "unscored" else None)


def test_patterns_at_paths_are_matched_together() -> None:
    """As all others: in one call for all outputs of a file."""
    compiled = compile_checks([Check(kind="regex", value="^[AB]", path="items[].sku")])
    rows = [(compiled, evaluator.checked_output(REPLY.replace("A1", f"A{n}")), None) for n in range(50)]
    assert {report.status for report in evaluator.evaluate_many(rows)} == {"pass"}
    assert not v8.REGEXES._recent, "a match was made by itself"
