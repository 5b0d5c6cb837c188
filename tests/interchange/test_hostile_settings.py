"""Keys, servers and parameters in foreign files: keys go into no file of ours, servers are named, names are names."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli

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
