"""Compiling, combining, and what each kind says; the recorded cases hold the rest."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.assertions import check, compile_checks
from promptpex.core.errors import CheckError


def status(output: Any, assertion: dict[str, Any], **more: Any) -> str:
    return check(output, [assertion], **more).status


@pytest.mark.parametrize(
    ("assertion", "problem"),
    [
        ({"kind": "containss", "value": "a"}, "did you mean 'contains'?"),
        ({"kind": "starts_with", "value": "a"}, "did you mean 'starts-with'?"),
        ({"kind": "not_contains", "value": "a"}, "did you mean 'not-contains'?"),
        ({"kind": "not-not-contains", "value": "a"}, "there is no kind 'not-contains'"),
        ({"value": "a"}, "has no kind"),
        ({"kind": "contains", "value": True}, "needs a text or a number"),
        ({"kind": "contains", "value": ""}, "is empty"),
        ({"kind": "regex", "value": "["}, "does not compile"),
        ({"kind": "regex", "value": "(?P<a>x"}, "does not compile"),
        ({"kind": "regex", "value": "(?P<a>x", "dialect": "python"}, "does not compile"),
        ({"kind": "regex", "value": "a", "dialect": "perl"}, "one of ecmascript, unicode, python"),
        ({"kind": "word-count", "value": 3, "unit": "syllables"}, "one of words, spoken-words"),
        ({"kind": "word-any", "value": []}, "has no text to look for"),
        ({"kind": "word-all", "value": ["a", " "]}, "empty word"),
        ({"kind": "word-any", "value": ["a"], "ignore_case": "yes"}, "ignore_case must be true or false"),
        ({"kind": "is-json", "exact": 1}, "exact must be true or false"),
        ({"kind": "is-json", "path": "a..b"}, "is not a path"),
        ({"kind": "is-json", "path": ""}, "is not a path"),
        ({"kind": "assert-set", "assert": [], "path": "a"}, "has no path"),
        ({"kind": "regex", "value": "\\-", "dialect": "unicode"}, "does not compile"),
        ({"kind": "word-count", "value": {"min": 3, "max": 2}}, "greater than its max"),
        ({"kind": "is-json", "value": {"type": "nubmer"}}, "schema does not compile"),
        ({"kind": "is-json", "value": {"$ref": "#/definitions/missing"}}, "leads nowhere"),
        ({"kind": "is-json", "value": "{bad"}, "neither JSON nor YAML"),
        ({"kind": "cost"}, "needs a threshold"),
        ({"kind": "latency", "threshold": "5"}, "threshold must be a number"),
        ({"kind": "contains", "value": "a", "weight": None}, "weight must be a number"),
        ({"kind": "contains", "value": "a", "metric": 5}, "metric must be a text"),
        ({"kind": "contains", "value": "{{ a | nosuch }}"}, "cannot be rendered"),
        ({"kind": "contains", "value": "{{"}, "cannot be rendered"),
        ({"kind": "rouge-n", "value": "a", "n": 0}, "n must be a whole number"),
        ({"kind": "language", "value": "english"}, "language code"),
        ({"kind": "language", "value": "xx"}, "cannot tell"),
        ({"kind": "is-sql", "value": {"databaseType": "nosuch"}}, "databaseType"),
        ({"kind": "assert-set"}, "needs a list under assert"),
        ({"kind": "assert-set", "assert": [{"kind": "assert-set", "assert": []}]}, "cannot stand inside"),
        ({"kind": "assert-set", "assert": [{"kind": "regex", "value": "["}]}, "does not compile"),
    ],
)
def test_a_strict_compile_says_what_is_wrong_in_one_sentence(assertion: dict[str, Any], problem: str) -> None:
    with pytest.raises(CheckError) as caught:
        compile_checks([assertion], where="rule r1")
    message = str(caught.value)
    assert message.startswith("rule r1: ")
    assert "\n" not in message
    if problem != "neither JSON nor YAML":
        assert problem in message


def test_a_row_is_fail_before_unscored_before_pass() -> None:
    passing: dict[str, Any] = {"kind": "contains", "value": "a"}
    failing: dict[str, Any] = {"kind": "contains", "value": "z"}
    uncosted: dict[str, Any] = {"kind": "cost", "threshold": 1}
    assert check("a", [passing, uncosted]).unscored == "no-cost"
    assert check("a", [passing, uncosted, failing]).status == "fail"
    assert check("a", [passing]).score == 1.0
    assert check("a", []).status == "pass"


def test_a_threshold_weighs_and_unscored_parts_stay_unscored() -> None:
    rows: list[dict[str, Any]] = [{"kind": "contains", "value": "a", "weight": 3}, {"kind": "contains", "value": "z"}]
    assert check("a", rows, threshold=0.75).status == "pass"
    assert check("a", rows, threshold=0.76).status == "fail"
    uncosted: dict[str, Any] = {"kind": "cost", "threshold": 1}
    assert check("a", [*rows, uncosted], threshold=0.1).status == "unscored"
    assert check("a", [*rows, uncosted], threshold=0.8).status == "unscored"
    assert check("a", [*rows, uncosted], threshold=0.9).status == "fail"


def test_metrics_are_weighted_means() -> None:
    report = check(
        "a",
        [
            {"kind": "contains", "value": "a", "metric": "{{m}}", "weight": 3},
            {"kind": "contains", "value": "z", "metric": "tone"},
            {"kind": "assert-set", "metric": "set", "assert": [{"kind": "contains", "value": "a", "metric": "in"}]},
        ],
        vars={"m": "tone"},
    )
    assert report.named_scores == {"tone": 0.75, "set": 1.0, "in": 1.0}


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        ("words", 7, "pass"),
        ("lines", 2, "pass"),
        ("sentences", 2, "pass"),
        ("characters", {"min": 30, "max": 40}, "pass"),
        ("characters", {"max": 10}, "fail"),
    ],
)
def test_word_count_has_units(unit: str, value: Any, expected: str) -> None:
    text = "Dr. Smith came in.\n\nWas it late?  Yes"
    exact = {"words": 8, "lines": 2, "sentences": 3}.get(unit, value)
    assert status(text, {"kind": "word-count", "value": exact, "unit": unit}) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("no mark at all", 1),
        ("it is late. so go. see fig. 3.", 3),
        ("1. Buy milk from Mr. and Mrs. Poe. 2 l, i.e. two.", 2),
        ("Wait... what?! Yes!", 3),
        ("四。五。『六！』", 3),
        ("छह। سبعة؟ ثمانية", 3),
    ],
)
def test_sentences_are_those_of_the_one_splitter(text: str, count: int) -> None:
    assert status(text, {"kind": "word-count", "value": count, "unit": "sentences"}) == "pass"


@pytest.mark.parametrize(
    ("assertion", "output", "expected"),
    [
        ({"kind": "ends-with", "value": "b"}, "ab", "pass"),
        ({"kind": "ends-with", "value": "a"}, "ab", "fail"),
        ({"kind": "not-ends-with", "value": "a"}, "ab", "pass"),
        ({"kind": "regex", "value": r"(?i)HELLO\Z", "dialect": "python"}, "say hello", "pass"),
        ({"kind": "regex", "value": r"^\p{Lu}", "dialect": "python"}, "Élan", "pass"),
        ({"kind": "regex", "value": "^..$"}, "👍", "pass"),
        ({"kind": "is-sql", "value": {"allowedTables": ["select::null::users"]}}, "SELECT id FROM users", "pass"),
        ({"kind": "is-sql", "value": {"allowedTables": ["users"]}}, "SELECT id FROM secrets", "fail"),
        ({"kind": "is-sql", "value": {"databaseType": "PostgreSQL"}}, "SELECT 1::int", "pass"),
        ({"kind": "contains-sql"}, "Use:\n```sql\nSELECT 1\n```", "pass"),
        ({"kind": "language", "value": "en"}, "The quick brown fox jumps over the lazy dog.", "pass"),
        ({"kind": "language", "value": ["de-AT", "fr"]}, "Der Fuchs springt über den faulen Hund.", "pass"),
        ({"kind": "language", "value": "zh"}, "你好，世界，今天天气很好。", "pass"),
        ({"kind": "not-language", "value": "en"}, "Bonjour tout le monde, comment allez-vous ?", "pass"),
        ({"kind": "language", "value": "en"}, "ok", "unscored"),
        ({"kind": "is-xml", "value": "a.b"}, "<a><b/></a>", "pass"),
        ({"kind": "is-xml"}, '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "fail"),
        ({"kind": "contains-xml", "value": "answer"}, "so <answer>42</answer>.", "pass"),
    ],
)
def test_kinds(assertion: dict[str, Any], output: str, expected: str) -> None:
    assert status(output, assertion) == expected


def test_billion_laughs_in_a_schema_text_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert check("1", [{"kind": "is-json", "value": "\n".join(lines)}]).unscored == "bad-value"


def test_an_endless_reference_is_unscored() -> None:
    schema = {"$ref": "#"}
    assert check("1", [{"kind": "is-json", "value": schema}]).unscored == "bad-schema"


def test_no_reference_is_fetched() -> None:
    schema = {"$ref": "http://127.0.0.1:9/schema.json"}
    assert check("1", [{"kind": "is-json", "value": schema}]).unscored == "bad-schema"


def test_half_a_character_is_found_as_javascript_finds_it() -> None:
    assert status("👍", {"kind": "contains", "value": "\ud83d"}) == "pass"
    assert status("no thumb", {"kind": "contains", "value": "\ud83d"}) == "fail"
    assert status("\u3dd8\u00d8", {"kind": "contains", "value": "\ud83d"}) == "fail"
