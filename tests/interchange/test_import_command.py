"""``promptpex import``: what is written can be reported, judged and run again without any model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex import promptfile
from promptpex.cases.file import read_suite
from promptpex.cli.main import run_cli
from promptpex.core.records import Message, Prompt
from tests.reproduce import recordings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    recordings.write(tmp_path / "clone")
    return tmp_path / "clone"


def _json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "content",
    ["user: not a role", "user:\nis a role line", "```\nuser:\n```", "{{ thing }} and {% raw %}{{x}}{% endraw %}"],
)
def test_a_prompt_file_reads_back_as_the_prompt(content: str) -> None:
    messages = (Message(role="system", content=content), Message(role="user", content="{{thing}}"))
    prompt = Prompt(name="a: b", messages=messages, variables=("thing",), fingerprint="x")
    name, text = promptfile.file_of(prompt.name, prompt.messages)
    again = promptfile.parse(text, name)
    assert again.messages == messages
    assert again.name == "a: b"


def test_cases_alone_go_into_a_folder_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "faq.csv").write_text("q,a\nWhy?,So.\n", encoding="utf-8")
    command = [
        "import",
        str(tmp_path / "faq.csv"),
        "--columns",
        "q=inputs.q,a=expected",
        "--out",
        str(tmp_path / "out"),
    ]
    assert run_cli(command) == 0
    suite = read_suite(tmp_path / "out" / "prompt.cases.yaml")
    assert [(case.inputs, case.expected) for case in suite.cases] == [({"q": "Why?"}, "So.")]
    assert run_cli(command) == 2
    assert "is there already" in capsys.readouterr().err
    assert run_cli([*command, "--force"]) == 0


def test_a_tests_file_becomes_a_case_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tests.csv"
    path.write_text(recordings.TESTS, encoding="utf-8")
    out = tmp_path / "prompt.cases.yaml"
    assert (
        run_cli(["import", "promptpex-tests", str(path), "--rule-count", "2", "--variable", "thing", "--out", str(out)])
        == 0
    )
    assert [case.rule for case in read_suite(out).cases] == ["r1", "r2", "r1", "r2"]
    capsys.readouterr()
    assert run_cli(["import", "promptpex-tests", str(path), "--rule-count", "2"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert json.loads(printed[1])["id"] == "r1-1"


@pytest.mark.parametrize("shape", ["csv", "jsonl"])
def test_cases_go_out_and_come_back(shape: str, tmp_path: Path) -> None:
    path, out, again = tmp_path / "tests.csv", tmp_path / "a.cases.yaml", tmp_path / "b.cases.yaml"
    path.write_text(recordings.TESTS, encoding="utf-8")
    run_cli(["import", "promptpex-tests", str(path), "--rule-count", "2", "--out", str(out)])
    assert run_cli(["export", shape, str(out), "--out", str(tmp_path / f"x.{shape}")]) == 0
    assert run_cli(["import", shape, str(tmp_path / f"x.{shape}"), "--out", str(again)]) == 0
    assert read_suite(again).cases == read_suite(out).cases


def test_a_file_that_does_not_end_as_its_format_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    path.write_text("x", encoding="utf-8")
    assert run_cli(["import", "csv", str(path)]) == 2
