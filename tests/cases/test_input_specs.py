"""Values under an input spec, and inputs that are for checks alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cases.input_specs import type_problems, unusable_schemas
from promptpex.cli.main import run_cli
from promptpex.core.records import VariableSpec
from promptpex.promptfile import read, read_with_warnings, render
from promptpex.report import runs

SCHEMA = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ("x", {}),
        (1.5, {"type": "number", "minimum": 1, "maximum": 2}),
        (2, {"type": "integer"}),
        (2.0, {"type": "integer"}),
        (False, {"type": "boolean"}),
        ("b", {"type": "enum", "values": ["a", "b"]}),
        ("2", {"type": "enum", "values": [1, 2]}),
        ({"id": 3}, {"type": "json", "schema": SCHEMA}),
        ("[1]", {"type": "json"}),
        ("abc", {"min_length": 3, "max_length": 3}),
    ],
)
def test_values_that_fit(value: Any, fields: dict[str, Any]) -> None:
    assert type_problems("v", value, VariableSpec.model_validate(fields)) == []


@pytest.mark.parametrize(
    ("value", "fields", "problem"),
    [
        (3, {}, "v is 3, and not a text"),
        (True, {"type": "number"}, "v is true, and not of type number"),
        ("1", {"type": "integer"}, 'v is "1", and not of type integer'),
        (2.5, {"type": "integer"}, "v is 2.5, and not of type integer"),
        (3, {"type": "number", "maximum": 2}, "v is 3, more than 2"),
        (True, {"type": "enum", "values": [1]}, "v is true, which is not one of the allowed values"),
        (
            {"id": "3"},
            {"type": "json", "schema": SCHEMA},
            'v is not as it should be: the JSON does not follow the schema at id: "\\"3\\"" is not of type integer',
        ),
        ("{", {"type": "json"}, 'v is "{", and not of type json'),
        ("ab", {"min_length": 3}, "v has 2 characters, fewer than 3"),
    ],
)
def test_values_that_do_not(value: Any, fields: dict[str, Any], problem: str) -> None:
    assert type_problems("v", value, VariableSpec.model_validate(fields)) == [problem]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(VALUES, st.sampled_from(["text", "number", "integer", "boolean", "enum", "json"]), VALUES)
def test_any_value_is_judged(value: Any, kind: str, other: Any) -> None:
    schema = {"const": other, "type": other} if other is not None else None
    fields = {"type": kind, "values": (other,), "minimum": 0, "max_length": 5, "schema": schema}
    assert all(problem.startswith("v ") for problem in type_problems("v", value, VariableSpec.model_validate(fields)))


NEWEST = "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    ("schema", "fitting", "broken"),
    [
        ({"$schema": NEWEST, "prefixItems": [{"type": "integer"}], "items": False}, [1], [1, 2]),
        ({"type": "string", "x-note": "ours", "format": "of our own", "pattern": "^a"}, "ab", "b"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
        ({"$defs": {"n": {"minimum": 3}}, "$ref": "#/$defs/n", "maximum": 5}, 4, 6),
        ({"properties": {"a": True}, "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": True}, 2, 3),
    ],
    ids=["newest draft", "unknown keyword and format", "dependent", "beside a reference", "unevaluated", "draft-04"],
)
def test_schemas_are_read_as_their_draft_says(schema: dict[str, Any], fitting: Any, broken: Any) -> None:
    variable = VariableSpec.model_validate({"type": "json", "schema": schema})
    assert unusable_schemas({"v": variable}) == {}
    assert [bool(type_problems("v", value, variable)) for value in (fitting, broken)] == [False, True]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "strnig"}, "strnig"),
        ({"properties": {"a": {"typ": "string"}}}, 'the unknown keyword "typ"'),
        ({"$schema": "https://example.org/mine"}, "not a known draft"),
        ({"prefixItems": [{"pattern": "("}]}, "does not compile"),
        ({"$ref": "#/$defs/none"}, "leads nowhere"),
        ({"unevaluatedProperties": False, "patternProperties": {"^(a+)+$": True}}, "not supported"),
    ],
)
def test_a_schema_that_cannot_be_used_is_named(schema: dict[str, Any], reason: str) -> None:
    (problem,) = unusable_schemas({"v": VariableSpec.model_validate({"type": "json", "schema": schema})}).values()
    assert reason in problem


PROMPT = """---
name: shop
inputs:
  question: {type: text}
  keyword: {checks_only: true}
---
user:
{{question}}
"""
SPEC = """rules:
  - id: named
    rule: The answer names what was asked about.
    when: [{variable: keyword, kind: not-equals, value: ''}]
    checks: [{kind: icontains, value: '{{keyword}}'}]
"""
CASES = """cases:
  - {id: c1, inputs: {question: Where is my parcel?, keyword: parcel}}
  - {id: c2, inputs: {question: Where is my cat?, keyword: dog}}
  - {id: c3, inputs: {question: Where is it?, keyword: ''}}
"""


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("shop.md", PROMPT), ("shop.spec.yaml", SPEC), ("shop.cases.yaml", CASES)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / "shop.md"


def test_a_declared_input_is_held_by_cases_and_sent_to_nobody(prompt: Path) -> None:
    made, warnings = read_with_warnings(prompt)
    assert (made.variables, made.checks_only, warnings) == (("question",), ("keyword",), [])
    assert [turn.content for turn in render(made, {"question": "Where?", "keyword": "parcel"})] == ["Where?"]
    assert run_cli(["run", str(prompt), "--models", "fake/parcel", "--judge", "none", "-q"]) == 0
    verdicts = runs.read(runs.latest(Path("results"))).verdicts
    assert [verdict.status for verdict in verdicts] == ["pass", "fail", "not_concerned"]


def test_what_the_prompt_names_is_not_for_checks_alone(prompt: Path) -> None:
    prompt.write_text(PROMPT + "About {{keyword}}.\n", encoding="utf-8")
    assert read(prompt).checks_only == ()


def test_an_input_that_nobody_declares_is_still_a_mistake(prompt: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompt.write_text(PROMPT.replace("  keyword: {checks_only: true}\n", ""), encoding="utf-8")
    assert run_cli(["run", str(prompt), "--models", "fake/parcel", "--judge", "none", "-q"]) == 2
    assert "keyword" in capsys.readouterr().err
