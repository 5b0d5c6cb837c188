"""promptfoo's configurations as prompt, spec, cases and settings: what each of their parts becomes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from tests.interchange.promptfoo.imported import CONFIG, imported

Capture = pytest.CaptureFixture[str]


def _config(**parts: Any) -> dict[str, Any]:
    return {"prompts": ["Say {{word}}."], "tests": [{"vars": {"word": "a"}}], **parts}


def _asserted(*asserts: Any, **parts: Any) -> dict[str, Any]:
    return _config(tests=[{"vars": {"word": "a"}, "assert": list(asserts)}], **parts)


def test_lists_multiply_and_names_are_filled_in(tmp_path: Path, capsys: Capture) -> None:
    variables = {"word": ["a", "b {{mark}}"], "mark": ["!", "?"], "kept": [1, 2], "text": "file://long.txt"}
    made = imported(tmp_path, _config(tests=[{"vars": variables}]), capsys, long__txt=" words \n")
    assert [case.inputs for case in made.suite.cases] == [
        {"word": word, "mark": mark, "kept": [1, 2], "text": "words"}
        for word, mark in (("a", "!"), ("a", "?"), ("b !", "!"), ("b ?", "?"))
    ]
    assert made.prompt.checks_only == ("mark", "kept", "text")


def test_what_all_tests_demand_holds_always_and_the_rest_under_conditions(tmp_path: Path, capsys: Capture) -> None:
    never = {"type": "not-contains", "value": "Z"}
    tests: list[Any] = [
        {"vars": {"word": "a"}, "assert": [{"type": "contains", "value": "A"}, never]},
        {"vars": {"word": "b"}, "assert": [{"type": "contains", "value": "B"}, never]},
        {"vars": {"word": "c"}, "assert": [{"type": "contains", "value": "B"}, never]},
        {"vars": {"word": "{{d}}" * 40}, "assert": [{"type": "equals", "value": "D"}]},
        {"vars": {"word": "e"}, "options": {"disableDefaultAsserts": True}},
    ]
    default = {"assert": [{"type": "icontains", "value": "{{word}}"}], "vars": {"other": "o"}}
    made = imported(tmp_path, _config(tests=tests, defaultTest=default), capsys)
    assert {rule.id: made.concerned(rule) for rule in made.spec.rules} == {
        "icontains": ["t1", "t2", "t3", "t4"],
        "contains": ["t1"],
        "contains-2": ["t2", "t3"],
        "not-contains": ["t1", "t2", "t3"],
        "equals": ["t4"],
    }
    first, *_ = made.suite.cases
    assert made.verdict(first, "A a")
    assert not made.verdict(first, "a")
    assert first.inputs["other"] == "o"


def test_tests_that_no_single_variable_tells_apart(tmp_path: Path, capsys: Capture) -> None:
    pairs = [(x, y) for x in "ab" for y in "cd"]
    tests = [{"vars": {"word": x, "y": y}, "assert": [{"type": "contains", "value": x + y}]} for x, y in pairs]
    tests.append({"vars": {"word": "a", "y": "c"}, "assert": [{"type": "contains", "value": "again"}]})
    made = imported(tmp_path, _config(tests=tests), capsys)
    assert len(made.suite.cases) == 4
    assert [made.concerned(rule) for rule in made.spec.rules] == [["t1"], ["t1"], ["t2"], ["t3"], ["t4"]]
    assert made.changed == {"tests[4]": "an earlier test has the same inputs: they are one case"}


def test_assertions_of_a_metric_are_one_rule(tmp_path: Path, capsys: Capture) -> None:
    asserts = [
        {"type": "contains", "value": "a", "metric": "form", "weight": 2},
        {"type": "not-regex", "value": "b", "metric": "form"},
        {"type": "llm-rubric", "value": "It is polite.", "metric": "tone"},
        {"type": "word-count", "value": 3, "metric": "tone"},
    ]
    made = imported(tmp_path, _asserted(*asserts), capsys)
    form, tone = made.spec.rules
    assert (form.id, [each.kind for each in form.checks], form.checks[0].weight) == (
        "form",
        ["contains", "not-regex"],
        2,
    )
    assert (tone.rule, tone.decides, tone.needs_judge, tone.checks[0].kind) == (
        "It is polite.", "partly", True, "word-count"
    )  # fmt: skip


def test_a_threshold_makes_a_set_of_a_test(tmp_path: Path, capsys: Capture) -> None:
    inner = {"type": "assert-set", "weight": 2, "metric": "inner", "assert": [{"type": "contains", "value": "b"},
                                                                              {"type": "contains", "value": "c",
                                                                               "weight": 3}]}  # fmt: skip
    test = {"vars": {"word": "a"}, "threshold": 0.5, "assert": [{"type": "contains", "value": "a"}, inner]}
    made = imported(tmp_path, _config(tests=[test]), capsys)
    (rule,) = made.spec.rules
    (case,) = made.suite.cases
    weights = [part.weight for part in rule.checks[0].asserts or ()]
    assert (rule.checks[0].threshold, weights) == (0.5, [1, 0.5, 1.5])
    assert list(made.left_out) == ["tests[0].assert[1].metric"]
    assert [made.verdict(case, output) for output in ("a", "a b", "a c", "c")] == [False, True, True, True]


def test_what_judges_decide_is_a_rule_or_a_question(tmp_path: Path, capsys: Capture) -> None:
    asserts = [
        {"type": "llm-rubric", "value": "It is polite.", "threshold": 0.8, "provider": "openai:gpt-4o"},
        {"type": "llm-rubric", "value": "It names {{word}}."},
        {"type": "not-llm-rubric", "value": "It is rude."},
        {"type": "g-eval", "value": ["It is short.", "It is true."]},
        {"type": "factuality", "value": "Paris is in France"},
        {"type": "answer-relevance", "threshold": 0.7},
    ]
    made = imported(tmp_path, _asserted(*asserts), capsys)
    assert [(rule.rule, rule.needs, [each.kind for each in rule.checks]) for rule in made.spec.rules] == [
        ("It is polite.", "output", []),
        ("The output meets this: It names {{word}}.", "output", ["llm-rubric"]),
        ("The output must not meet this: It is rude.", "output", ["not-llm-rubric"]),
        ("It is short. It is true.", "output", []),
        ("The output agrees in its facts with this: Paris is in France", "output", []),
        ("The output answers the input.", "input", []),
    ]
    assert set(made.changed) == {
        f"tests[0].assert[{place}" for place in ("0].threshold", "3]", "4]", "5]", "5].threshold")
    }
    assert set(made.left_out) == {"tests[0].assert[0].provider"}


def test_code_comes_from_files_of_the_folder(tmp_path: Path, capsys: Capture) -> None:
    asserts = [
        {"type": "javascript", "value": "file://check.js"},
        {"type": "javascript", "value": "file://named.js:long"},
        {"type": "python", "value": "file://check.py:told"},
        {"type": "is-json", "value": "file://schema.json"},
        {"type": "javascript", "value": "file://needs.js"},
    ]
    made = imported(
        tmp_path, _asserted(*asserts), capsys,
        check__js="module.exports = (output, context) => {\n  return output.length > `{{`.length;\n};\n",
        named__js="function long(output) { return output.length > 3; }\nmodule.exports = { long };\n",
        check__py="def other(output):\n    return False\n\ndef told(output, context):\n    return 'a' in output\n",
        schema__json='{"type": "array"}',
        needs__js="const fs = require('fs');\nmodule.exports = () => true;\n",
    )  # fmt: skip
    (case,) = made.suite.cases
    assert [made.verdict(case, output) for output in ('["a"]', '["b"]', '{"a": 1}', "[]")] == [
        True,
        False,
        False,
        False,
    ]
    assert made.left_out == {"tests[0].assert[4]": "needs.js needs modules, which the sandbox for checks does not have"}


def test_tables_hold_variables_and_assertions(tmp_path: Path, capsys: Capture) -> None:
    table = (
        "word,__expected,__expected2,__description,__metadata:case,__threshold\n"
        'a,"contains-any: a, ""b,c""",javascript: output.length < 9,first,mine,\n'
        "b,levenshtein(2): bee,,,,\n"
        "c,not-is-json,similar(0.9): x,,,\n"
        "d,see: below,,,,0.5\n"
    )
    made = imported(tmp_path, _config(tests="file://tests.csv"), capsys, tests__csv=table)
    assert [case.id for case in made.suite.cases] == ["mine", "t2", "t3", "t4"]
    first, second, third, fourth = made.suite.cases
    assert [made.verdict(first, output) for output in ("x b,c", "a" * 9, "b c")] == [True, False, False]
    assert [made.verdict(second, output) for output in ("be", "bumble")] == [True, False]
    assert [made.verdict(third, output) for output in ("x", "{}")] == [True, False]
    assert [made.verdict(fourth, output) for output in ("see: below", "see")] == [True, False]
    assert list(made.left_out) == ["assert[1]"]


def test_scenarios_try_each_test_with_each_configuration(tmp_path: Path, capsys: Capture) -> None:
    scenario = {
        "description": "greetings",
        "config": [{"vars": {"word": "a"}}, {"vars": {"word": "b"}, "assert": [{"type": "contains", "value": "B"}]}],
        "tests": [{"vars": {"n": "1"}}, {"vars": {"n": "2"}, "assert": [{"type": "contains", "value": "2"}]}],
    }
    made = imported(tmp_path, {"prompts": ["{{word}}{{n}}"], "scenarios": [scenario]}, capsys)
    assert [(case.scenario, case.inputs) for case in made.suite.cases] == [
        ("greetings", {"word": word, "n": n}) for word in "ab" for n in "12"
    ]
    assert {rule.checks[0].value: made.concerned(rule) for rule in made.spec.rules} == {
        "2": ["t2", "t4"], "B": ["t3", "t4"]
    }  # fmt: skip


def test_expected_is_the_right_answer_unless_the_prompt_names_it(tmp_path: Path, capsys: Capture) -> None:
    tests = [{"vars": {"word": "a", "expected": "A"}}, {"vars": {"word": "b"}}]
    default = {"assert": [{"type": "equals", "value": "{{expected}}"}]}
    made = imported(tmp_path, _config(tests=tests[:1], defaultTest=default), capsys)
    assert [(case.inputs, case.expected) for case in made.suite.cases] == [({"word": "a"}, "A")]
    assert made.verdict(made.suite.cases[0], "A")
    (tmp_path / "b").mkdir()
    made = imported(tmp_path / "b", _config(prompts=["{{word}} {{expected}}"], tests=tests), capsys)
    assert [case.inputs for case in made.suite.cases] == [{"word": "a", "expected": "A"}, {"word": "b", "expected": ""}]


def test_merge_keys_templates_and_anchors(tmp_path: Path, capsys: Capture) -> None:
    text = """
prompts: ["Say {{word}}."]
assertionTemplates:
  short: {type: word-count, value: {max: 2}}
tests:
  - &first
    vars: {word: a}
    assert: [{$ref: '#/assertionTemplates/short', metric: size}]
  - <<: *first
    vars: {word: b}
"""
    made = imported(tmp_path, text, capsys)
    (rule,) = made.spec.rules
    assert (rule.id, made.concerned(rule)) == ("size", ["t1", "t2"])


def test_models_and_settings(tmp_path: Path, capsys: Capture) -> None:
    providers = [
        "openai:gpt-4o-mini",
        {
            "id": "openai:chat:local",
            "label": "small",
            "config": {"temperature": 0, "apiBaseUrl": "http://127.0.0.1:9/v1"},
        },
        {"anthropic:messages:claude-3-haiku-20240307": {"config": {"max_tokens": 50, "apiKey": "sk-ant-abc"}}},
        "ollama:llama3.2:1b",
        "google:gemini-2.0-flash",
        "exec:./run.sh",
        "echo",
    ]
    config = _config(providers=providers, evaluateOptions={"repeat": 2, "maxConcurrency": 3, "delay": 5})
    made = imported(tmp_path, config, capsys)
    settings = (made.folder / "promptpex.toml").read_text(encoding="utf-8")
    assert tomllib.loads(settings) == {
        "repeats": 2,
        "concurrency": 3,
        "models": {
            "under_test": [
                "openai/gpt-4o-mini", "small", "claude-3-haiku-20240307", "ollama/llama3.2:1b",
                "gemini/gemini-2.0-flash",
            ],
            "small": {"model": "openai/local", "temperature": 0, "api_base": "http://127.0.0.1:9/v1"},
            "claude-3-haiku-20240307": {"model": "anthropic/claude-3-haiku-20240307", "max_tokens": 50},
        },
    }  # fmt: skip
    assert "sk-ant" not in settings + str(made.answer)
    assert set(made.left_out) == {
        "providers[2].config.apiKey", "providers[5]", "providers[6]", "evaluateOptions.delay"
    }  # fmt: skip
    assert run_cli(["estimate", str(made.folder / "prompt.md"), "--judge", "none", "-q"]) == 0


def test_nothing_is_dropped_without_a_word(tmp_path: Path, capsys: Capture) -> None:
    test = {
        "vars": {"word": "a"}, "provider": "openai:x", "options": {"rubricPrompt": "x"}, "metadata": {"topic": "t"},
        "assert": [{"type": "contains", "value": "a", "fuzzy": True}, {"type": "similar", "value": "x"},
                   {"type": "contains"}, {"type": "regex", "value": "("}],
    }  # fmt: skip
    made = imported(tmp_path, _config(tests=[test], env={"A": "b"}, extensions=["file://x.js"], odd=1), capsys)
    assert set(made.left_out) == {
        "tests[0].provider", "tests[0].options.rubricPrompt", "tests[0].metadata.topic", "tests[0].assert[0].fuzzy",
        "tests[0].assert[1]", "tests[0].assert[2]", "tests[0].assert[3]", "env", "extensions", "odd",
    }  # fmt: skip
    assert [rule.id for rule in made.spec.rules] == ["contains"]
    assert all(note["path"].endswith(CONFIG) and note["line"] for note in made.answer["left_out"])
