"""What strangers wrote runs nothing and reads nothing in promptfoo because it was exported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from promptpex.core.errors import InputError
from promptpex.core.records import Case, Check, Message, Prompt, Rule, Spec, Suite
from promptpex.interchange.format import Exported, Project
from promptpex.interchange.promptfoo import config, write
from promptpex.interchange.promptfoo.write import runs_code

CODE = "{{ ''.constructor.constructor('return 1')() }}"


def _config(rule: Rule | None = None, case: Case | None = None, body: str = "Say {{x}}.", intent: str = "") -> Exported:
    prompt = Prompt(name="p", messages=(Message(role="user", content=body),), variables=("x",), fingerprint="f")
    spec = Spec(intent=intent, rules=(rule,) if rule is not None else ())
    return config(prompt, spec, Suite(cases=(case or Case(id="c", inputs={"x": "a"}),)), rubrics=True)


def _rule(value: Any = None, text: str = "It is short.", **more: Any) -> Rule:
    checks = (Check(kind=more.pop("kind", "contains"), value=value, **more),) if value is not None else ()
    return Rule(id="r", rule=text, checks=checks)


@pytest.mark.parametrize("inputs", [{"x": "{{ env.OPENAI_API_KEY }}"}, {"x": ["{{ 1 | f(env['A']) }}"]},
                                    {"x": "file://notes.txt"}, {"x": "package:evil:run"}])  # fmt: skip
def test_inputs_that_promptfoo_would_fill_in_are_left_out(inputs: dict[str, Any]) -> None:
    made = _config(case=Case(id="c", inputs=inputs))
    assert yaml.safe_load(made.text)["tests"] == []
    assert "case c is left out" in made.left_out[0]


@pytest.mark.parametrize("more", [{"expected": "file:///etc/passwd"}, {"expected": "{{env.A}}"},
                                  {"scenario": "{{env.A}}"}, {"expected": "{{x}}"}])  # fmt: skip
def test_what_stands_beside_the_inputs_is_no_way_in_either(more: dict[str, str]) -> None:
    assert yaml.safe_load(_config(case=Case(id="c", inputs={"x": "a"}, **more)).text)["tests"] == []


@pytest.mark.parametrize(
    "rule",
    [
        _rule("file://evil.js"), _rule(["a", "file://evil.js"], kind="contains-any"), _rule("package:evil:run"),
        _rule(CODE), _rule("{{ env.A }}"), _rule("a", transform="file://evil.js"), _rule("a", metric="{{env.A}}"),
        _rule({"type": "object", "pattern": "{{ env.A }}"}, kind="is-json"),
        _rule({"a": {"$ref": "http://127.0.0.1/{{x}}"}}, kind="is-json"),
        _rule(text="{{ env.A }}"),
    ],
)  # fmt: skip
def test_rules_that_promptfoo_would_run_or_fill_in_are_left_out(rule: Rule) -> None:
    made = _config(rule)
    written = yaml.safe_load(made.text)
    assert "defaultTest" not in written
    assert made.left_out
    assert "env" not in made.text.replace("yaml-language-server", "")
    assert "evil" not in made.text


def test_a_reference_of_a_schema_is_not_followed() -> None:
    schema = {"$ref": "#/definitions/a", "definitions": {"a": {"type": "object"}}}
    entry = yaml.safe_load(_config(_rule(schema, kind="is-json")).text)["defaultTest"]["assert"][0]
    assert yaml.safe_load(entry["value"]) == schema


@pytest.mark.parametrize("body", [CODE + "{{x}}", "{{x}} {{ env.A }}", "{% include '.env' %}{{x}}",
                                  "{% raw %}{{ env.A }}{% endraw %}{{x}}", "{{ x['con' ~ 'structor'] }}"])  # fmt: skip
def test_a_prompt_that_would_run_or_be_filled_in_is_refused(body: str) -> None:
    with pytest.raises(InputError, match="cannot be exported to promptfoo"):
        _config(body=body)


def test_words_are_not_filled_in_and_code_is_named() -> None:
    made = _config(_rule("true", "See {{ env.A }}.", kind="javascript"), intent="{{ env.B }}")
    assert "env" not in made.text.replace("yaml-language-server", "")
    assert yaml.safe_load(made.text)["description"] == "p"
    assert [sentence for sentence in made.left_out if "without a sandbox" in sentence]


@pytest.mark.parametrize("template", [
    "Explain what a constructor is: {{x}}", "{{ user.name }}", '{{ x | join(", ") }}', "{{ x['first name'] }}",
    "{% for one in items %}{{ one[0] }}{% endfor %}", "{% if x in ['a', 'b'] %}y{% endif %}", '{{ "}} [x" }}',
    "{% raw %}${{ secrets }}{% endraw %}", "{# process #}{{x}}",
])  # fmt: skip
def test_ordinary_templates_are_taken_for_such(template: str) -> None:
    assert not runs_code(template)


@pytest.mark.parametrize("template", [
    CODE, "{{ range.constructor }}", "{{ x[y] }}", "{{ x['a\\x62'] }}", "{{ x", '{{ "a }}', "{% import 'a' as b %}",
    "{{ '}}' ~ x['con' ~ y] }}", "{{ x [ y ] }}", "{{ f()[a] }}", "{% set a = x.__proto__ %}", "{{ 'a'[b] }}",
])  # fmt: skip
def test_templates_that_could_run_code_are_told(template: str) -> None:
    assert runs_code(template)


@dataclass
class _Run:
    models: tuple[str, ...]

    def project(self) -> Project:
        prompt = Prompt(name="p", messages=(Message(role="user", content="{{x}}"),), variables=("x",), fingerprint="f")
        return Project(prompt, Spec(), Suite(), self.models)

    suite = run = project


def test_a_runs_models_are_no_programs() -> None:
    made = write(_Run(("exec:rm -rf /", "openai/gpt-4o", "file://evil.js", "{{env.A}}")), models=None, rubrics=False)  # type: ignore[arg-type]
    assert yaml.safe_load(made.text)["providers"] == ["openai:chat:gpt-4o"]
    assert len([sentence for sentence in made.left_out if "would run a program" in sentence]) == 2
    wanted = write(_Run(()), models="exec:./mine", rubrics=False)  # type: ignore[arg-type]
    assert yaml.safe_load(wanted.text)["providers"] == ["exec:./mine"]
