"""What prompt files declare of the answer's form becomes a rule that code decides, on import and in place."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex import RuleChecks
from promptpex.cli.main import run_cli
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Unfit
from promptpex.interchange.reading.foreign_files import At
from promptpex.interchange.reading.prompt_headers import format_rules, schema_of
from promptpex.specs.file import read_spec
from promptpex.workflow.validation.validate import validate

CITY = {"city": {"type": "string"}, "degrees": {"type": "number", "minimum": -90}}


def rules(**front: Any) -> tuple[list[Any], list[tuple[str, str]]]:
    log = Log()
    made = format_rules(front, At(Path("x.prompty")), log)
    return made, [(note.became, note.name) for note in log.notes]


@pytest.mark.parametrize(
    ("declared", "schema"),
    [
        (CITY, {"type": "object", "properties": CITY, "required": ["city", "degrees"]}),
        ({"city": "string", "note": {"type": "str", "required": False}, "top": {"default": 3}},
         {"type": "object", "properties": {"city": {"type": "string"}, "note": {"type": "string"},
                                           "top": {"default": 3}}, "required": ["city"]}),
        ([{"name": "city", "kind": "string"}, {"name": "days", "kind": "array", "items": {"kind": "float"}},
          {"name": "at", "kind": "object", "properties": [{"name": "x", "kind": "integer", "required": False}]}],
         {"type": "object", "required": ["city", "days", "at"], "properties": {
             "city": {"type": "string"}, "days": {"type": "array", "items": {"type": "number"}},
             "at": {"type": "object", "properties": {"x": {"type": "integer"}}}}}),
        ({"properties": {"city": {"kind": "string"}}},
         {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        ({"type": "object", "properties": CITY, "required": ["city"], "additionalProperties": False},
         {"type": "object", "properties": CITY, "required": ["city"], "additionalProperties": False}),
        ({"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "string"}}),
    ],
)  # fmt: skip
def test_outputs_in_every_shape_are_one_schema(declared: Any, schema: dict[str, Any]) -> None:
    assert schema_of(declared) == schema
    (rule,), notes = rules(outputs=declared)
    assert (rule.id, rule.checks[0].kind, rule.checks[0].value) == ("outputs", "is-json", schema)
    assert notes == [("changed", "outputs")]


@pytest.mark.parametrize("declared", ["text", 3, {"type": "string", "description": "One word."}, [{"kind": "string"}]])
def test_outputs_that_say_nothing_of_the_form_are_named(declared: Any) -> None:
    assert rules(outputs=declared) == ([], [("left out", "outputs")])


def test_response_formats_are_one_rule_each_form(tmp_path: Path) -> None:
    schema = {"type": "object", "required": ["a"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    made, notes = rules(
        response_format={"type": "json_object"}, model={"parameters": {"response_format": wanted}},
        responseFormat="json_schema", jsonSchema='{"schema": {"type": "object", "required": ["a"]}}',
    )  # fmt: skip
    assert [(rule.id, rule.checks[0].value) for rule in made] == [("response-format", schema), ("response-format-2",
                                                                                                None)]  # fmt: skip
    assert {name for _, name in notes} == {"responseFormat", "response_format", "model.parameters.response_format"}
    assert rules(response_format={"type": "text"}, responseFormat="text") == ([], [])


PROMPTY = """---
name: weather
model: {api: chat, configuration: {type: openai, name: gpt-4o-mini}}
outputs:
  city: {type: string}
  degrees: {type: number}
---
system:
Say the weather of {{city}} as JSON.
"""


def test_the_rule_decides_and_is_there_on_import_and_in_place(tmp_path: Path) -> None:
    file = tmp_path / "weather.prompty"
    file.write_text(PROMPTY, encoding="utf-8")
    sentences = [problem.message for problem in validate([file])]
    assert "the file's requirements become rules of a new spec: outputs" in sentences
    assert run_cli(["import", str(file), "--out", str(tmp_path / "out")]) == 0
    spec = read_spec(tmp_path / "out" / "prompt.spec.yaml")
    checks = RuleChecks(spec.rules)
    assert checks('{"city": "Hue", "degrees": 31}')["outputs"].status == "pass"
    assert checks('{"city": "Hue"}')["outputs"].status == "fail"
    assert checks("hot")["outputs"].status == "fail"


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "kind", "name", "items", "properties", "required", "x"]), inner)
    ),
    max_leaves=8,
)


@given(JSON)
def test_anything_is_a_schema_or_unfit(value: Any) -> None:
    with contextlib.suppress(Unfit):
        assert isinstance(schema_of(value), dict)
