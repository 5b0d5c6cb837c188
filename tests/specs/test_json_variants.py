"""JSON in other forms says the same, and nothing else has other forms."""

from __future__ import annotations

import json

import pytest

from promptpex.specs.check_trials import DEEPEST, LONGEST, json_value, renderings

VALUE = '{"total": 19.90, "at": "a/b <é> 😀\\n", "items": [{"sku": "x", "n": 1e2}, [], {}, null, true]}'


def test_every_form_says_the_same_and_differs_from_the_others() -> None:
    forms = list(renderings(VALUE))
    texts = [form.text for form in forms]
    assert [form.how for form in forms] == [
        "with escapes",
        "without white space",
        "indented",
        "with its keys in another order",
    ]
    assert len({*texts, VALUE}) == 5
    assert all(json.loads(text) == json.loads(VALUE) for text in texts)
    assert all(json_value(text) == json_value(VALUE) for text in texts)
    assert all("19.90" in text and "1e2" in text for text in texts)


def test_the_forms_are_those_of_common_libraries() -> None:
    forms = {form.how: form.text for form in renderings('{"b": "é", "a": [1, {"c": "\\u00fc"}], "d": []}')}
    text = {form.how: form.text for form in renderings('{"at": "1/2", "reply": "So é"}')}
    assert text["with escapes"] == '{"at": "1\\/2", "reply": "\\u0053\\u006f \\u00e9"}'
    assert forms["with escapes"] == '{"b": "\\u00e9", "a": [1, {"c": "\\u00fc"}], "d": []}'
    assert forms["without escapes"] == '{"b": "é", "a": [1, {"c": "ü"}], "d": []}'
    assert forms["without white space"] == '{"b":"é","a":[1,{"c":"ü"}],"d":[]}'
    assert forms["indented"] == json.dumps(json.loads(forms["without escapes"]), indent=2, ensure_ascii=False)
    assert forms["with its keys in another order"] == '{"d": [], "a": [1, {"c": "ü"}], "b": "é"}'


@pytest.mark.parametrize(
    "text",
    [
        "NN",
        '"text"',
        "1",
        '```json\n{"a": 1}\n```',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),
        "[" * 9_000 + "]" * 9_000,
        json.dumps(["x" * LONGEST]),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_not_plain_json_is_left_alone(text: str) -> None:
    assert (list(renderings(text)), json_value(text)) == ([], None)
