"""What people's configurations of promptfoo name and an import cannot read: each by name, nothing made up for it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from promptpex.core.errors import InputError
from promptpex.interchange.promptfoo.providers import our_name
from promptpex.interchange.promptfoo.read import read
from tests.interchange.promptfoo.imported import CONFIG, imported

Capture = pytest.CaptureFixture[str]


def _config(folder: Path, config: Mapping[str, Any]) -> Path:
    (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    return folder / CONFIG


def test_providers_in_files_of_their_own(tmp_path: Path, capsys: Capture) -> None:
    more = "- {id: 'anthropic:messages:claude-3-5-haiku-latest'}\n- file://gone.yaml\n"
    made = imported(
        tmp_path,
        {"prompts": ["Hi {{x}}"], "providers": ["file://one.yaml", "file://more.yml", "file://own.py"]},
        capsys,
        one__yaml="id: openai:gpt-4o-mini\nconfig:\n  temperature: 0.1\n  response_format: {type: json_object}\n",
        more__yml=more,
    )
    models = tomllib.loads((made.folder / "promptpex.toml").read_text())["models"]
    assert models["under_test"] == ["my-gpt-4o-mini", "anthropic/claude-3-5-haiku-latest"]
    assert models["my-gpt-4o-mini"] == {"model": "openai/gpt-4o-mini", "temperature": 0.1}
    assert {(note["name"], note["line"]) for note in made.answer["left_out"]} == {
        ("config.response_format", 4),
        ("[1]", 2),
        ("providers[2]", 1),
    }


def test_a_file_of_providers_stays_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.yaml").write_text("id: openai:x\n")
    with pytest.raises(InputError, match="outside the folder"):
        read(_config(tmp_path / "in", {"prompts": ["Hi"], "providers": ["file://../secret.yaml"]}))


@pytest.mark.parametrize(
    "theirs",
    [
        "anthropic:claude-agent-sdk",
        "openai:embedding:text-embedding-3-small",
        "openai:image:gpt-image-1",
        "openai:realtime:gpt-4o-realtime-preview",
        "azure:assistant:asst_1",
        "google:live:gemini-2.0-flash-exp",
        "bedrock:kb:us.anthropic.claude-3-7-sonnet-20250219-v1:0",
        "mistral:embedding",
    ],
)
def test_what_is_no_model_for_chats_is_not_asked_as_one(theirs: str) -> None:
    assert our_name(theirs) is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("azure:responses:my-gpt", "azure/my-gpt"),
        ("litellm:chat:groq/llama-3", "groq/llama-3"),
        ("openai:chat:ft:gpt-4o-mini:us:name:id", "openai/ft:gpt-4o-mini:us:name:id"),
        ("bedrock:us.anthropic.claude-v1:0", "bedrock/us.anthropic.claude-v1:0"),
    ],
)
def test_ways_of_asking_are_no_part_of_a_model_s_name(theirs: str, ours: str) -> None:
    assert our_name(theirs) == ours


def test_an_address_of_the_environment_is_named_as_one(tmp_path: Path, capsys: Capture) -> None:
    provider = {"id": "openai:gpt-4o", "config": {"apiBaseUrl": "{{env.BASE}}"}}
    made = imported(tmp_path, {"prompts": ["Hi {{x}}"], "providers": [provider]}, capsys)
    assert "--api-base" in made.left_out["providers[0].config.apiBaseUrl"]


def test_a_variable_of_the_environment_is_an_input(tmp_path: Path, capsys: Capture) -> None:
    text = "{% if env.LONG %}At length.{% endif %} It is {{ env.TODAY | upper }}, not env.X: {{x}}"
    made = imported(tmp_path, {"prompts": [text], "tests": [{"vars": {"x": "a"}}]}, capsys)
    assert made.prompt.messages[0].content == text.replace("env.LONG", "LONG").replace("env.TODAY", "TODAY")
    assert set(made.changed) == {"prompts[0]: env.LONG", "prompts[0]: env.TODAY"}
    assert made.suite.cases[0].inputs == {"x": "a", "LONG": "", "TODAY": ""}


def test_a_test_whose_prompt_cannot_be_filled_is_left_out(tmp_path: Path, capsys: Capture) -> None:
    tests = [
        {"vars": {"x": "file://made.py"}, "assert": [{"type": "contains", "value": "A"}]},
        {"vars": {"x": "file://other.ts"}, "assert": [{"type": "contains", "value": "B"}]},
        {"vars": {"x": "c", "picture": "file://cat.png"}, "assert": [{"type": "contains", "value": "C"}]},
    ]
    made = imported(tmp_path, {"prompts": ["Hi {{x}}"], "tests": tests}, capsys, made__py="", other__ts="", cat__png="")
    assert [case.inputs["x"] for case in made.suite.cases] == ["c"]
    assert [rule.checks[0].value for rule in made.spec.rules] == ["C"]
    assert {"tests[0]", "tests[1]", "tests[0].vars.x", "tests[2].vars.picture"} <= set(made.left_out)
    assert made.answer["changed"] == []


def test_tests_that_a_program_makes_are_no_test(tmp_path: Path, capsys: Capture) -> None:
    made = imported(tmp_path, {"prompts": ["Hi {{x}}"], "tests": "file://make.py:tests"}, capsys)
    assert made.suite.cases == ()
    assert "tests" not in made.answer["came_over"]


@pytest.mark.parametrize("tests", [{}, {"tests": "file://make.py:tests"}])
def test_a_configuration_of_which_nothing_can_come_is_one_sentence(tmp_path: Path, tests: dict[str, Any]) -> None:
    config = {"prompts": ["file://make.py:prompt"], "providers": ["openai:gpt-4o"], **tests}
    with pytest.raises(InputError, match="nothing in this file can be imported; the first reason: a program makes"):
        read(_config(tmp_path, config))


def test_a_threshold_over_fewer_assertions_is_another_score(tmp_path: Path, capsys: Capture) -> None:
    asserts = [{"type": "contains", "value": "A"}, {"type": "similar", "value": "B"}]
    test = {"vars": {"x": "a"}, "threshold": 0.6, "assert": asserts}
    made = imported(tmp_path, {"prompts": ["Hi {{x}}"], "tests": [test]}, capsys)
    assert "score" in made.changed["tests[0]"]
    whole = {**test, "assert": [asserts[0], {"type": "assert-set", "assert": [asserts[0], asserts[0]]}]}
    (tmp_path / "whole").mkdir()
    made = imported(tmp_path / "whole", {"prompts": ["Hi {{x}}"], "tests": [whole]}, capsys)
    assert made.changed == {}
