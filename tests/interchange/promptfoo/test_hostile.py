"""Configurations and projects of strangers: nothing is run, fetched or filled in, here or there."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Check, Message, Prompt, Rule, Spec, Suite
from promptpex.interchange.format import Exported, Project
from promptpex.interchange.notes import Log
from promptpex.interchange.promptfoo import config, write
from promptpex.interchange.promptfoo.files import ConfigFiles
from promptpex.interchange.promptfoo.read import read
from promptpex.interchange.promptfoo.write import runs_code
from tests.interchange.promptfoo.imported import CONFIG

HEAD = "prompts: ['{{x}}']\n"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (HEAD + BOMB + "tests: *h\n", None, "expands to more than"),
        (HEAD + "tests: 3\n", 2, "tests must be a list"),
        (HEAD + "tests: [3]\n", 2, "a test must be a mapping, not a number"),
        (HEAD + "tests:\n  - vars: 3\n", 3, "vars must be a mapping"),
        (HEAD + "tests:\n  - assert: [contains]\n", 3, "an assertion must be a mapping, not a text"),
        (HEAD + "tests:\n  - assert: [{value: x}]\n", 3, "an assertion needs a type"),
        (HEAD + "tests:\n  - assert: [{$ref: 'http://x/y'}]\n", 3, "there is no 'http://x/y' in this file"),
        (HEAD + "tests:\n  - assert: [{type: contains, value: 'file://../x.txt'}]\n", 3, "outside the folder"),
        (HEAD + "tests:\n  - assert: [{type: contains, value: 'file:///etc/passwd'}]\n", 3, "outside the folder"),
        (HEAD + "tests:\n  - assert: [{type: contains, value: 'file://link.txt'}]\n", 3, "outside the folder"),
        (HEAD + "tests: file://../*.csv\n", 2, "leads out of the folder"),
        (HEAD + "tests: file://out/*.csv\n", 2, "matches no files"),
        (HEAD + "tests: https://x/y.csv\n", 2, "addresses are not fetched"),
        (HEAD + "tests:\n  - vars: {x: 'file://out/secret.txt'}\n", 3, "outside the folder"),
        ("prompts: [file://binary.txt]\ntests: []\n", None, "binary"),
        ("prompts: [file://missing.txt]\ntests: []\n", None, "no such file"),
        ("prompts: [3]\ntests: []\n", 1, "a prompt must be text"),
        ("providers: [x]\n", 1, "neither prompts nor tests"),
        (HEAD + "providers: [{label: x, config: {}}]\ntests: []\n", 2, "a provider must be an id"),
        (HEAD + "x: [", None, ""),
        ("\0", None, "binary"),
        ("- a\n", 1, "must be a mapping, not a list"),
        (HEAD + "tests:\n  - vars: {" + ", ".join(f"v{n}: [a, b]" for n in range(40)) + "}\n", 3, "more than 100,000"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    tmp_path: Path, text: str, line: int | None, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "secret.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "here" / "link.txt").symlink_to(tmp_path / "secrets" / "secret.txt")
    (tmp_path / "here" / "out").symlink_to(tmp_path / "secrets")
    (tmp_path / "here" / "binary.txt").write_bytes(b"a\0b")
    path = tmp_path / "here" / CONFIG
    path.write_text(text, encoding="utf-8")
    assert run_cli(["import", "promptfoo", str(path), "--out", str(tmp_path / "made")]) == 2
    message = capsys.readouterr().err
    assert says in message
    assert len(message.strip().splitlines()) == 1
    assert line is None or f"{CONFIG}:{line}:" in message, message
    assert "secret" not in message.replace("secret.txt", "")
    assert not (tmp_path / "made").exists()


def test_a_huge_file_is_refused_unread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / CONFIG
    with path.open("wb") as file:
        file.write(HEAD.encode())
        file.truncate(30_000_000)
    assert run_cli(["import", "promptfoo", str(path), "--out", str(tmp_path / "made")]) == 2
    assert "the limit is 20 MB" in capsys.readouterr().err


def test_nothing_is_run_at_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_TEST", "s3cret")
    touch = f"open({str(tmp_path / 'ran')!r}, 'w')"
    (tmp_path / "p.py").write_text(touch, encoding="utf-8")
    (tmp_path / "t.py").write_text(touch, encoding="utf-8")
    script = f"require('fs').writeFileSync({str(tmp_path / 'ran')!r}, 'x')"
    (tmp_path / CONFIG).write_text(
        "prompts: ['{{x}}', 'file://p.py', 'exec:./p.py', 'file://p.py:make']\nproviders: ['python:p.py']\n"
        "tests: ['file://t.py', {vars: {x: 'file://t.py', y: '{{env.SECRET_OF_TEST}}'},\n"
        f"  assert: [{{type: javascript, value: \"{script}\"}}, {{type: python, value: 'file://t.py'}}]}}]\n"
        "extensions: ['file://p.py:hook']\nnunjucksFilters: {f: p.py}\n",
        encoding="utf-8",
    )
    assert run_cli(["import", str(tmp_path / CONFIG), "--out", str(tmp_path / "made"), "-q"]) == 0
    assert not (tmp_path / "ran").exists()
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "made").glob("p*.*"))
    assert "s3cret" not in written


def test_a_pattern_enters_no_link_and_looks_at_so_many_files_only(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).symlink_to(".")  # 2**12 ways to a folder that is twelve links deep
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for place in ("one.txt", "deep/two.txt", "deep/er/three.txt"):
        (tmp_path / place).write_text(place, encoding="utf-8")
    path = tmp_path / CONFIG
    for pattern, texts in {
        "*.txt": ["one.txt"], "*/*.txt": ["deep/two.txt"], "deep/**/t*.txt": ["deep/er/three.txt", "deep/two.txt"],
        "**/*.txt": ["deep/er/three.txt", "deep/two.txt", "one.txt"], "[n-p]n?.txt": ["one.txt"],
    }.items():  # fmt: skip
        path.write_text(HEAD + f"tests: [{{vars: {{x: 'file://{pattern}'}}}}]\n", encoding="utf-8")
        suite = read(path).suite
        assert suite is not None
        assert [case.inputs["x"] for case in suite.cases] == texts
    path.write_text(HEAD + "tests: [{vars: {x: 'file://" + "*/" * 40 + "x.txt'}}]\n", encoding="utf-8")
    with pytest.raises(InputError, match="matches no files"):
        read(path)


@pytest.mark.parametrize(
    "name", ["a" * 300 + ".txt", "a" * 300 + "*.txt", "a\0b.txt", "C:\\x.txt", "~/x.txt", "a/b.txt"]
)
@pytest.mark.parametrize(
    "place", ["prompts: [NAME]\ntests: []\n", HEAD + "tests: NAME\n", HEAD + "tests: [{vars: {x: NAME}}]\n"]
)
def test_names_that_no_file_has_are_one_sentence(name: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / CONFIG
    path.write_text(place.replace("NAME", json.dumps(f"file://{name}")), encoding="utf-8")
    with contextlib.suppress(InputError):  # or it is noted, as a file that is no table of tests
        assert read(path).notes


def test_a_file_that_is_named_again_and_again_is_not_read_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("x", encoding="utf-8")
    files = ConfigFiles(tmp_path, Log())
    for _ in range(10_000):
        files.text(path)
    with pytest.raises(InputError, match="name each file once"):
        files.text(path)


def test_cells_stay_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,__expected\n'=1+1,equals: '-2\n", encoding="utf-8")
    (tmp_path / CONFIG).write_text(HEAD + "tests: t.csv\n", encoding="utf-8")
    made = read(tmp_path / CONFIG)
    assert made.suite is not None
    assert made.spec is not None
    assert made.suite.cases[0].inputs == {"x": "'=1+1"}
    assert made.spec.rules[0].checks[0].value == "'-2"


def test_what_is_printed_of_a_file_stands_on_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = "a\nleft out:\n  \u202ex\x1b[2J" + "b" * 900
    config = {"prompts": ["{{x}}"], "tests": [{"vars": {"x": "1"}, odd: 1}], odd: 1, "evaluateOptions": {odd: 1}}
    (tmp_path / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    assert run_cli(["import", str(tmp_path / CONFIG), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines().count("left out:") == 1
    assert not {"\x1b", "\u202e"} & set(printed)
    assert max(map(len, printed.splitlines())) < 2_000


def test_notes_do_not_depend_on_the_order_of_a_set(tmp_path: Path) -> None:
    keys = {f"k{number}": 1 for number in range(30)}
    config = {"prompts": [{"raw": "{{x}}", **keys}], "providers": [{"id": "openai:m", **keys}],
              "scenarios": [{"config": [{}], "tests": [{"vars": {"x": "1"}}], **keys}]}  # fmt: skip
    (tmp_path / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    names = [note.name for note in read(tmp_path / CONFIG).notes]
    for place in ("prompts[0].", "providers[0].", "scenarios[0]."):
        mine = [name for name in names if name.startswith(f"{place}k")]
        assert mine == sorted(mine)
        assert len(mine) == 30


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "x", "{{x}}", "{%", "file://x", "file://..", "*.csv", "contains", "llm-rubric", "echo"])
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "value", "assert", "vars", "options", "threshold", "metric", "weight", "id", "config",
                         "label",
                         "raw", "role", "content", "transform", "path", "<<", "$ref", "metadata", "case", "x"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
_KEYS = ("tests", "providers", "defaultTest", "scenarios", "metadata", "evaluateOptions")
_CONFIGS = st.fixed_dictionaries({"prompts": _VALUES}, optional=dict.fromkeys(_KEYS, _VALUES))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(_CONFIGS)
def test_whatever_stands_in_a_config_is_read_or_named(tmp_path: Path, config: dict[str, Any]) -> None:
    path = tmp_path / CONFIG
    path.write_text(json.dumps(config), encoding="utf-8")
    refused = None
    try:
        read(path)
    except InputError as error:
        refused = error
    assert refused is None or (refused.path is not None and "\n" not in refused.message)
    assert refused is None or os.fspath(refused.path or "").startswith(os.fspath(tmp_path))


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
