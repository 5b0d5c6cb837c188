"""Imports that name keys and servers, or would grow without end."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptpex import interchange
from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Suite
from promptpex.interchange.format import Imported, formats
from promptpex.workflow.importing.write_import import write_imported
from tests.work import calls

KEY = "sk-" + "Ab3" * 12
HUGE = "9" * 390


def _imported(folder: Path, name: str, content: object, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """All that an import writes, and what it prints."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert run_cli(["import", str(path), "--out", str(folder / "out")]) == 0
    files = (file for file in sorted((folder / "out").rglob("*")) if file.is_file())
    printed = capsys.readouterr()
    return "".join(file.read_text(encoding="utf-8") for file in files), printed.out + printed.err


PROMPTY = "---\nname: x\nmodel: {}\n---\nsystem:\nHi\n"
CONFIG: dict[str, Any] = {
    "prompts": ["{{x}}"], "tests": [{"vars": {"x": "1"}}], "env": {"OPENAI_API_KEY": KEY},
    "providers": [{"id": "openai:gpt-4o", "label": KEY, "config": {
        "apiKey": KEY, "headers": {"Authorization": f"Bearer {KEY}"}, "stop": [KEY], "temperature": KEY,
        "apiBaseUrl": f"https://user:{KEY}@x.example/v1"}}, f"openai:chat:{KEY}"],
}  # fmt: skip
FAILED = {"custom_id": "a", "messages": [{"role": "user", "content": "q"}], "error": {"message": f"wrong key {KEY}"}}
SPANS = {"resourceSpans": [{"scopeSpans": [{"spans": [{
    "traceId": "a", "spanId": "b", "status": {"code": 2, "message": f"Authorization: Bearer {KEY}"},
    "attributes": [{"key": "gen_ai.prompt.0.content", "value": {"stringValue": "q"}},
                   {"key": "gen_ai.prompt.0.role", "value": {"stringValue": "user"}}]}]}]}]}  # fmt: skip
RESULTS = {
    "evalId": "x",
    "results": {
        "prompts": [{"raw": "{{x}}"}],
        "results": [
            {"testIdx": 0, "promptIdx": 0, "testCase": {"vars": {"x": "1"}}, "response": {"error": f"wrong key {KEY}"}}
        ],
    },
}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("promptfooconfig.json", CONFIG), ("results.json", RESULTS), ("c.jsonl", FAILED), ("s.json", SPANS),
        ("a.prompty", PROMPTY.format(f"{{id: gpt-4o, api_key: {KEY}}}")), ("a.prompty", PROMPTY.format(KEY)),
        ("a.prompt.yml", {"messages": [{"role": "user", "content": "x"}], "model": KEY}),
    ],
)  # fmt: skip
def test_a_key_gets_into_no_file_and_no_message(
    name: str, content: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written, printed = _imported(tmp_path, name, content, capsys)
    assert written
    assert KEY not in written + printed


def test_a_server_that_a_file_names_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"apiBaseUrl": "http://x.example/v1"}
    named = {**CONFIG, "providers": [{"id": "openai:gpt-4o", "config": config}]}
    written, printed = _imported(tmp_path, "promptfooconfig.json", named, capsys)
    assert "http://x.example/v1" in written
    assert "prompts go to this server, which the file names: http://x.example/v1" in printed


@pytest.mark.parametrize("model", ["openai/gpt-4o?api_base=http://x.example", "gpt-4o?key_env=GITHUB_TOKEN",
                                   "gpt-4o%3Fkey_env=A", "http://x.example/v1", "gpt-4o?temperature=1"])  # fmt: skip
@pytest.mark.parametrize("name", ["a.prompty", "a.prompt.yml"])
def test_a_models_name_brings_no_server_and_no_variable(
    name: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    github = {"messages": [{"role": "user", "content": "x"}], "model": model}
    content = PROMPTY.format(json.dumps(model)) if name == "a.prompty" else github
    _imported(tmp_path, name, content, capsys)
    assert not (tmp_path / "out" / "promptpex.toml").exists()


def test_numbers_that_no_double_holds_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    github = json.dumps({"messages": [{"role": "user", "content": "x"}], "model": "m"})
    text = github[:-1] + f', "modelParameters": {{"temperature": {HUGE}, "seed": {HUGE}, "topP": 0.5}}}}'
    _imported(tmp_path, "a.prompt.yml", text, capsys)
    settings = tomllib.loads((tmp_path / "out" / "promptpex.toml").read_text(encoding="utf-8"))
    assert [table for table in settings["models"].values() if isinstance(table, dict)] == [
        {"model": "github/m", "top_p": 0.5}
    ]


FORMATS = formats(interchange)


def _read(name: str, path: Path, **options: Any) -> Imported:
    defaults = {option.name: option.default for option in FORMATS[name].read_options}
    read = FORMATS[name].read
    assert read is not None
    return read(path, **(defaults | options))


def _lines(rows: list[Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _config(tests: list[Any], **more: Any) -> str:
    return json.dumps({"prompts": ["{{x}}"], "tests": tests, **more})


EQUAL: dict[str, tuple[str, str, Callable[[int], str], dict[str, Any]]] = {
    "equal ids in a column": (
        "jsonl", "a.jsonl", lambda n: _lines([{"k": "a", "q": f"x{i}"} for i in range(n)]),
        {"columns": "k=id,q=inputs.q"},
    ),
    "assertions of one kind": (
        "promptfoo", "promptfooconfig.json",
        lambda n: _config([{"vars": {"x": f"v{i}"}, "assert": [{"type": "equals", "value": f"v{i}"}]}
                           for i in range(n)]),
        {},
    ),
    "tests that many variables tell apart": (
        "promptfoo", "promptfooconfig.json",
        lambda n: _config([{"vars": {"z": str(i)}, "assert": [{"type": "equals", "value": f"a{i % 2}"}]}
                           for i in range(10)], defaultTest={"vars": {f"y{i}": "same" for i in range(n)}}),
        {},
    ),
    "evaluators of one name": (
        "github-prompt", "a.prompt.yml",
        lambda n: json.dumps({"messages": [{"role": "user", "content": "x"}],
                              "evaluators": [{"name": "a", "string": {"contains": "x"}}] * n}),
        {},
    ),
    "tests of one id": (
        "promptpex-tests", "tests.csv",
        lambda n: "ruleid,testid,testinput,expectedoutput,reasoning\n" + "1,1,a,b,c\n" * n,
        {},
    ),
    "tests of one id in JSON": (
        "promptpex-json", "tests.json",
        lambda n: json.dumps([{"ruleid": 1, "testid": 1, "testinput": f"x{i}", "expectedoutput": "y"}
                              for i in range(n)]),
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", list(EQUAL))
def test_what_is_alike_a_thousand_times_takes_no_square_of_it(what: str, tmp_path: Path) -> None:
    name, file, text, options = EQUAL[what]
    counted = []
    for size in (60, 480):
        path = tmp_path / file
        path.write_text(text(size), encoding="utf-8")
        _read(name, path, **options)  # what is loaded or compiled once
        counted.append(calls(lambda path=path: _read(name, path, **options)))
    assert counted[1] < 16 * counted[0], counted


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"scenarios": [{"config": [{}] * 400, "tests": [{}] * 400}]}, "make more than 100,000 tests"),
        ({"tests": [{}] * 110, "defaultTest": {"vars": {"y": "a" * 1_000_000}}}, "more than 100,000,000 characters in"),
        ({"tests": [{}] * 900, "defaultTest": {"assert": [{"type": "is-json"}] * 600}}, "more than 500,000 assertions"),
    ],
)
def test_defaults_that_multiply_are_refused(config: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": ["{{x}}"], **config}), encoding="utf-8")
    with pytest.raises(InputError, match=says):
        _read("promptfoo", path)


@pytest.mark.parametrize("text", ["{{" * 40_000 + "}", "{%" * 40_000, "{{" + " " * 40_000, "{#" * 40_000 + "#"])
def test_braces_without_end_are_read_in_one_go(text: str, tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": [f"x{text}"], "tests": []}), encoding="utf-8")
    assert _read("promptfoo", path).prompt is not None


def test_merge_keys_fill_in_what_is_not_there_the_first_first(tmp_path: Path) -> None:
    parts = ", ".join(f"{{a{n}: x, b: '{n}'}}" for n in range(300))
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(f"prompts: ['{{{{a0}}}}']\ntests:\n  - vars: {{<<: [{parts}], a0: mine}}\n", encoding="utf-8")
    suite = _read("promptfoo", path).suite
    assert suite is not None
    assert suite.cases[0].inputs == {**{f"a{n}": "x" for n in range(300)}, "a0": "mine", "b": "0"}


def test_cases_that_no_case_file_could_be_read_back_from_are_refused(tmp_path: Path) -> None:
    suite = Suite(cases=tuple(Case(id=f"c{n}", inputs={"x": "a" * 2_100_000}) for n in range(10)))
    with pytest.raises(InputError, match="write only the cases, as JSON lines: --cases-only"):
        write_imported(Imported(suite=suite), tmp_path / "x.cases.yaml")
    write_imported(Imported(suite=suite), tmp_path / "x.cases.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["x.cases.jsonl"]
