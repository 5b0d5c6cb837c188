"""Every key that promptfoo's schema of configurations knows is taken over here, or named in what was left out.

The lists are the properties of its ``config-schema.json`` (promptfoo's repository, ``site/static``), written by hand.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from promptpex.assertions import check
from promptpex.core.errors import InputError
from promptpex.interchange.promptfoo import read
from promptpex.interchange.promptfoo.providers import our_name
from tests.interchange.promptfoo.imported import CONFIG, imported

TOP = ("tags", "description", "providers", "prompts", "tests", "scenarios", "defaultTest", "outputPath", "sharing",
       "nunjucksFilters", "env", "derivedMetrics", "extensions", "metadata", "redteam", "writeLatestResults", "tracing",
       "evaluateOptions", "commandLineOptions", "targets")  # fmt: skip
EVALUATE = ("cache", "delay", "generateSuggestions", "suggestionsCount", "interactiveProviders", "maxConcurrency",
            "progressCallback", "repeat", "showProgressBar", "timeoutMs", "maxEvalTimeMs", "isRedteam", "silent",
            "filterRange")  # fmt: skip
COMMAND = ("description", "prompts", "providers", "output", "maxConcurrency", "repeat", "delay", "vars", "tests",
           "config", "assertions", "modelOutputs", "verbose", "grader", "tableCellMaxLength", "write", "cache", "table",
           "share", "noShare", "progressBar", "watch", "filterErrorsOnly", "filterFailing", "filterFailingOnly",
           "filterFirstN", "filterMetadata", "filterPattern", "filterPrompts", "filterProviders", "filterRange",
           "filterSample", "filterTargets", "var", "tags", "generateSuggestions", "suggestionsCount", "promptPrefix",
           "promptSuffix", "retryErrors", "envPath", "extension")  # fmt: skip
PROVIDER = ("id", "label", "config", "prompts", "transform", "delay", "env", "inputs")
PROMPT = ("id", "label", "raw", "template", "display", "function", "config")
TEST = ("description", "vars", "provider", "providers", "prompts", "providerOutput", "assert", "assertScoringFunction",
        "options", "threshold", "metadata")  # fmt: skip
OPTIONS = ("prefix", "suffix", "postprocess", "transform", "transformVars", "storeOutputAs", "rubricPrompt", "provider",
           "factuality", "disableVarExpansion", "disableConversationVar", "disableDefaultAsserts", "runSerially",
           "repeat")  # fmt: skip
ASSERTION = ("type", "value", "config", "threshold", "weight", "provider", "rubricPrompt", "metric", "transform",
             "contextTransform")  # fmt: skip
SET = ("type", "assert", "weight", "metric", "threshold", "config", "value", "transform")
SCENARIO = ("description", "config", "tests")
TYPES = ("answer-relevance", "bleu", "classifier", "contains", "contains-all", "contains-any", "contains-html",
         "contains-json", "contains-sql", "contains-xml", "context-faithfulness", "context-recall", "context-relevance",
         "conversation-relevance", "cost", "equals", "factuality", "finish-reason", "g-eval", "gleu", "guardrails",
         "icontains", "icontains-all", "icontains-any", "is-html", "is-json", "is-refusal", "is-sql",
         "is-valid-function-call", "is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml",
         "javascript", "latency", "levenshtein", "llm-rubric", "pi", "meteor", "model-graded-closedqa",
         "model-graded-factuality", "moderation", "perplexity", "perplexity-score", "python", "regex", "rouge-n",
         "ruby", "similar", "similar:cosine", "similar:dot", "similar:euclidean", "starts-with", "tool-call-f1",
         "skill-used", "trajectory:goal-success", "trajectory:tool-args-match", "trajectory:step-count",
         "trajectory:tool-sequence", "trajectory:tool-used", "trace-error-spans", "trace-span-count",
         "trace-span-duration", "search-rubric", "webhook", "word-count", "select-best", "human",
         "max-score")  # fmt: skip

HELD = "held"
"""A value that is looked for in what came over."""
CHECK = {"type": "contains", "value": "a"}
TAKEN = {
    "providers": ["openai:held"], "targets": ["openai:held"], "prompts": ["held {{word}}"],
    "tests": [{"vars": {"word": HELD}}], "defaultTest": {"vars": {"other": HELD}}, "description": HELD,
    "scenarios": [{"config": [{"vars": {"word": HELD}}], "tests": [{}]}],
    "id": "openai:held", "label": HELD, "raw": "held {{word}}", "vars": {"word": HELD}, "threshold": 0.375,
    "assert": [{"type": "contains", "value": HELD}], "weight": 0.375, "metric": HELD, "type": "icontains",
    "transform": f"output + {HELD!r}", "postprocess": f"output + {HELD!r}", "prefix": HELD, "suffix": HELD,
    "config": {"temperature": 0.375}, "value": HELD, "repeat": 375, "maxConcurrency": 375,
}  # fmt: skip
"""A value of each key that comes over, with a mark in it; of other keys any will do."""
MARKS = (HELD, "0.375", "375", "icontains")


def _read(folder: Path, config: Mapping[str, Any]) -> tuple[str, set[str]]:
    """What came over, as text, and the names of what did not come over as it was."""
    path = folder / "promptfooconfig.yaml"
    path.write_text(yaml.safe_dump(dict(config), sort_keys=False), encoding="utf-8")
    made = read(path)
    parts = [made, *made.further]
    here = [(part.prompt, part.spec and part.spec.to_dict(), part.suite and part.suite.to_dict()) for part in parts]
    return str((here, made.settings)), {note.name for note in made.notes}


def _is_there(folder: Path, config: Mapping[str, Any], name: str) -> None:
    """That the key of this name is in what came over, or named."""
    here, named = _read(folder, config)
    key = name.rpartition(".")[2]
    is_named = any(one == name or one.startswith((f"{name}.", f"{name}[")) for one in named)
    assert is_named or (key in TAKEN and any(mark in here for mark in MARKS)), f"{name} is dropped without a word"


@pytest.mark.parametrize("key", TOP)
def test_a_key_of_the_configuration(key: str, tmp_path: Path) -> None:
    value = {"held": 1} if key in ("metadata", "evaluateOptions", "commandLineOptions") else TAKEN.get(key, {"a": "b"})
    rest = {"prompts": ["x {{word}}"], "tests": [{"vars": {"word": "a"}}]}
    _is_there(tmp_path, {**rest, key: value}, key)


@pytest.mark.parametrize(
    ("place", "key"), [("evaluateOptions", key) for key in EVALUATE] + [("commandLineOptions", key) for key in COMMAND]
)
def test_an_option_of_a_run(place: str, key: str, tmp_path: Path) -> None:
    config = {"prompts": ["x"], place: {key: 375 if key in ("repeat", "maxConcurrency") else "b"}}
    _is_there(tmp_path, config, f"{place}.{key}")


@pytest.mark.parametrize("key", PROVIDER)
def test_a_key_of_a_provider(key: str, tmp_path: Path) -> None:
    config = {"prompts": ["x"], "providers": [{"id": "openai:x", key: TAKEN.get(key, {"a": "b"}) if key != "transform"
                                               else "output"}]}  # fmt: skip
    _is_there(tmp_path, config, f"providers[0].{key}")


@pytest.mark.parametrize("key", PROMPT)
def test_a_key_of_a_prompt(key: str, tmp_path: Path) -> None:
    value = {"raw": "held {{word}}", "label": HELD}.get(key, "b")
    _is_there(tmp_path, {"prompts": [{"raw": "x", key: value}]}, f"prompts[0].{key}")


@pytest.mark.parametrize("where", ["tests[0]", "defaultTest"])
@pytest.mark.parametrize("key", TEST)
def test_a_key_of_a_test(key: str, where: str, tmp_path: Path) -> None:
    test: dict[str, Any] = {"vars": {"word": "a"}, "assert": [CHECK], "options": {}}
    test[key] = {"rubricPrompt": "x"} if key == "options" else {"a": "b"} if key == "metadata" else TAKEN.get(key, "b")
    config = {"prompts": ["x {{word}}"], **({"defaultTest": test} if where == "defaultTest" else {"tests": [test]})}
    _is_there(tmp_path, config, f"{where}.{key}")


@pytest.mark.parametrize("key", OPTIONS)
def test_an_option_of_a_test(key: str, tmp_path: Path) -> None:
    flags = {"disableVarExpansion": True, "disableDefaultAsserts": True}
    options = {key: flags.get(key, TAKEN.get(key, "b"))}
    test = {"vars": {"word": ["a", "c"]}, "assert": [CHECK], "options": options}
    default = {"assert": [{"type": "equals", "value": "b"}]}
    here, named = _read(tmp_path, {"prompts": ["x {{word}}"], "tests": [test], "defaultTest": default})
    if key in flags:
        assert ("'word': ['a', 'c']" in here) == (key == "disableVarExpansion")
        assert ("equals" in here) == (key != "disableDefaultAsserts")
    else:
        assert f"tests[0].options.{key}" in named or (key in TAKEN and HELD in here)


@pytest.mark.parametrize("key", ASSERTION)
def test_a_key_of_an_assertion(key: str, tmp_path: Path) -> None:
    value = {"config": {"a": HELD}}.get(key, TAKEN.get(key, "b"))
    test = {"vars": {"word": "a"}, "assert": [{**CHECK, key: value}]}
    _is_there(tmp_path, {"prompts": ["x"], "tests": [test]}, f"tests[0].assert[0].{key}")


@pytest.mark.parametrize("key", SET)
def test_a_key_of_a_set(key: str, tmp_path: Path) -> None:
    inner = [{"type": "javascript", "value": "true"}]
    given = {"type": "assert-set", "config": {"a": HELD}, "value": HELD, "assert": TAKEN["assert"]}
    test = {"vars": {"word": "a"}, "assert": [{"type": "assert-set", "assert": inner,
                                               key: given.get(key, TAKEN[key])}]}  # fmt: skip
    if key == "type":
        assert "assert-set" in _read(tmp_path, {"prompts": ["x"], "tests": [test]})[0]
    else:
        _is_there(tmp_path, {"prompts": ["x"], "tests": [test]}, f"tests[0].assert[0].{key}")


@pytest.mark.parametrize("key", SCENARIO)
def test_a_key_of_a_scenario(key: str, tmp_path: Path) -> None:
    held = {"description": HELD, "config": [{"vars": {"word": HELD}}], "tests": [{"vars": {"other": HELD}}]}
    rest: dict[str, Any] = {"config": [{"vars": {"word": "a"}}], "tests": [{}]}
    here, _ = _read(tmp_path, {"prompts": ["x {{word}}"], "scenarios": [{**rest, key: held[key]}]})
    assert HELD in here


@pytest.mark.parametrize("prefix", ["", "not-"])
def test_a_type_of_assertion(prefix: str, tmp_path: Path) -> None:
    asserts = [{"type": prefix + kind, "value": "a", "threshold": 0.5} for kind in TYPES]
    here, named = _read(tmp_path, {"prompts": ["x"], "tests": [{"vars": {"word": "a"}, "assert": asserts}]})
    for number, kind in enumerate(TYPES):
        is_named = any(one.startswith(f"tests[0].assert[{number}]") for one in named)
        assert is_named or f"'kind': '{prefix}{kind}'" in here, kind


def test_names_of_metrics_are_filled_in_and_sets_hand_down_their_config(tmp_path: Path) -> None:
    inner = [{"type": "javascript", "value": "context.config.least < 2", "metric": "{{word}}/{{ gone }}"}]
    test = {"vars": {"word": ["fox", "dog"]}, "assert": [
        {"type": "assert-set", "metric": "about {{word}}", "config": {"least": 1}, "assert": inner}]}  # fmt: skip
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(yaml.safe_dump({"prompts": ["x {{word}}"], "tests": [test]}), encoding="utf-8")
    made = read(path)
    assert made.spec is not None
    assert [rule.id for rule in made.spec.rules] == ["about-fox", "about-dog"]
    parts = [part for rule in made.spec.rules for check in rule.checks for part in check.asserts or ()]
    assert [(part.metric, part.config) for part in parts] == [
        ("fox/{{ gone }}", {"least": 1}), ("dog/{{ gone }}", {"least": 1})
    ]  # fmt: skip


def test_transforms_in_files_are_done_before_those_of_assertions(tmp_path: Path) -> None:
    (tmp_path / "t.js").write_text("export default (output) => output.trim();\n", encoding="utf-8")
    asserts = [{"type": "equals", "value": "b"}, {"type": "equals", "value": "B", "transform": "output.toUpperCase()"}]
    path = tmp_path / "promptfooconfig.yaml"
    test = {"vars": {"word": "a"}, "options": {"transform": "file://t.js"}, "assert": asserts}
    path.write_text(yaml.safe_dump({"prompts": ["x {{word}}"], "tests": [test]}), encoding="utf-8")
    made = read(path)
    assert made.spec is not None
    checks = [each for rule in made.spec.rules for each in rule.checks]
    assert [check("  b ", [each], vars={"word": "a"}).status for each in checks] == ["pass", "pass"]
    assert [check("c", [each], vars={"word": "a"}).status for each in checks] == ["fail", "fail"]


def test_transforms_in_files_and_scenarios_in_several_files_come_over(tmp_path: Path) -> None:
    (tmp_path / "t.js").write_text("export default (output) => output.trim();\n", encoding="utf-8")
    (tmp_path / "n.js").write_text("module.exports = require('fs');\n", encoding="utf-8")
    for name in ("one", "two"):
        scenario = [{"description": name, "config": [{"vars": {"word": name}}], "tests": [{"assert": [CHECK]}]}]
        (tmp_path / f"{name}.scenario.yaml").write_text(yaml.safe_dump(scenario), encoding="utf-8")
    config = {
        "prompts": ["x {{word}}"], "scenarios": ["file://*.scenario.yaml"],
        "defaultTest": {"options": {"transform": "file://t.js"}},
        "tests": [{"vars": {"word": "a"}, "assert": [{**CHECK, "transform": "file://n.js"}]},
                  {"path": "file://made.csv", "config": {"a": 1}}],
    }  # fmt: skip
    (tmp_path / "made.csv").write_text("word,__expected,__threshold\nb,contains: b,much\n", encoding="utf-8")
    here, named = _read(tmp_path, config)
    assert {"tests[0].assert[0].transform", "tests[1].config", "__threshold"} <= named
    assert here.count("output.trim()") >= 2
    assert "'scenario': 'one'" in here
    assert "'scenario': 'two'" in here


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
