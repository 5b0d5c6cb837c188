"""``.prompty`` as people have them: what an import keeps, what it names; and a run in place reads the same turns."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex import RuleChecks
from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Prompt
from promptpex.interchange import prompty
from promptpex.interchange.format import Imported
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Unfit
from promptpex.interchange.reading.foreign_files import At
from promptpex.interchange.reading.prompt_headers import format_rules, schema_of
from promptpex.promptfile import read as read_prompt
from promptpex.promptfile import read_with_warnings
from promptpex.promptfile.front_matter import TYPES
from promptpex.specs.file import read_spec
from promptpex.workflow.importing.write_import import write_imported
from promptpex.workflow.validation.validate import validate

OF_PROMPTPEX = """---
name: joke
inputs:
  joke: "How do you make a tissue dance?"
  tone: string
  level: {type: number, description: from 1 to 5, default: 3}
scenarios:
  - {name: english, instructions: in English, parameters: {tone: nice}}
instructions: {outputRules: Be strict.}
testSamples:
  - {joke: Knock knock., tone: dark}
  - real.csv
tags: [unlisted]
---
system:
Rate the joke in {{tone}} on {{level}}.
user:
{{joke}}
"""
TURNS = """---
name: turns
---
 # System:
Be brief.

user[name="bob"]:
Look: ![a cat](cat.png)

assistant:
Nice.
"""


def _file(folder: Path, text: str, name: str = "my.prompty") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _notes(imported: Imported) -> dict[str, tuple[str, int | None]]:
    return {note.name: (note.became, note.line) for note in imported.notes}


def test_what_promptpex_says_in_front_matter_stays_in_the_prompt(tmp_path: Path) -> None:
    path = _file(tmp_path, OF_PROMPTPEX)
    imported = prompty.read(path)
    write_imported(imported, tmp_path / "out")
    here, there = read_prompt(tmp_path / "out" / "prompt.md"), read_prompt(path)
    for key in ("scenarios", "instructions", "inputs"):
        assert here.meta[key] == there.meta[key], key
    assert {"joke": "Knock knock.", "tone": "dark"} in here.meta["samples"]
    assert _notes(imported) == {"tags": ("left out", 13), "testSamples[1]": ("left out", 12)}


def test_the_word_for_a_type_is_no_sample(tmp_path: Path) -> None:
    imported = prompty.read(_file(tmp_path, OF_PROMPTPEX))
    assert imported.suite is not None
    assert imported.suite.cases[0].inputs == {"joke": "How do you make a tissue dance?", "level": 3}
    assert set(TYPES) == prompty.TYPES


def test_a_turn_may_have_attributes_and_blanks_before_it(tmp_path: Path) -> None:
    path = _file(tmp_path, TURNS)
    imported = prompty.read(path)
    assert imported.prompt is not None
    assert [turn.role for turn in imported.prompt.messages] == ["system", "user", "assistant"]
    prompt, warnings = read_with_warnings(path)
    assert prompt.messages == imported.prompt.messages
    assert any("line 7" in sentence for sentence in warnings)
    assert any("line 8" in sentence and "image" in sentence for sentence in warnings)
    assert _notes(imported) == {'user[name="bob"]:': ("left out", 7), "image": ("changed", 8)}


@pytest.mark.parametrize("declared", ["inputs: ${file:real.json}", "sample: ${file:real.json}", "sample: real.json"])
def test_values_in_a_file_of_their_own(tmp_path: Path, declared: str) -> None:
    (tmp_path / "real.json").write_text(json.dumps({"who": "Ann"}), encoding="utf-8")
    path = _file(tmp_path, f"---\nname: x\n{declared}\n---\nHello {{{{who}}}}\n")
    imported = prompty.read(path)
    assert imported.suite is not None
    assert imported.suite.cases[0].inputs == {"who": "Ann"}
    prompt: Prompt = read_prompt(path)
    assert prompt.meta["samples"] in ([{"file": "real.json"}], "real.json")


def test_a_file_of_values_stays_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}", encoding="utf-8")
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError, match="outside the folder"):
        prompty.read(_file(tmp_path / "in", "---\ninputs: ${file:../secret.json}\n---\nHello {{who}}\n"))


def test_a_file_of_values_that_is_not_there_is_named(tmp_path: Path) -> None:
    imported = prompty.read(_file(tmp_path, "---\nname: x\nsample: gone.json\n---\nHello {{who}}\n"))
    assert _notes(imported) == {"sample": ("left out", 3)}


def test_inputs_that_are_no_texts_are_named(tmp_path: Path) -> None:
    text = "---\ninputs:\n  - {name: talk, kind: thread}\n  - {name: who, kind: string}\n---\n{{talk}} {{who}}\n"
    assert _notes(prompty.read(_file(tmp_path, text))) == {"inputs.talk": ("changed", 2)}


def test_mustache_that_jinja_has_not_is_one_sentence(tmp_path: Path) -> None:
    path = _file(tmp_path, "---\ntemplate: mustache\n---\nHello\n{{#vip}}dear{{/vip}} {{who}}\n")
    with pytest.raises(InputError, match=r"my\.prompty:5: Jinja has no \{\{#"):
        prompty.read(path)


def test_a_broken_template_names_the_prompt_and_no_file_that_nobody_has(tmp_path: Path) -> None:
    imported = prompty.read(_file(tmp_path, "---\nname: odd\n---\nHello {{ a b }}\n"))
    with pytest.raises(InputError) as caught:
        write_imported(imported, tmp_path / "out")
    assert str(caught.value).startswith("the prompt 'odd': the template is broken")


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
