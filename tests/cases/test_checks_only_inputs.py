"""Inputs that only checks and conditions look at: declared in front matter, held by cases, sent to nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.promptfile import read, read_with_warnings, render
from promptpex.report import runs

PROMPT = """---
name: shop
inputs:
  question: {type: text}
  keyword: {checks_only: true}
---
user:
{{question}}
"""
SPEC = """rules:
  - id: named
    rule: The answer names what was asked about.
    when: [{variable: keyword, kind: not-equals, value: ''}]
    checks: [{kind: icontains, value: '{{keyword}}'}]
"""
CASES = """cases:
  - {id: c1, inputs: {question: Where is my parcel?, keyword: parcel}}
  - {id: c2, inputs: {question: Where is my cat?, keyword: dog}}
  - {id: c3, inputs: {question: Where is it?, keyword: ''}}
"""


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("shop.md", PROMPT), ("shop.spec.yaml", SPEC), ("shop.cases.yaml", CASES)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / "shop.md"


def test_a_declared_input_is_held_by_cases_and_sent_to_nobody(prompt: Path) -> None:
    made, warnings = read_with_warnings(prompt)
    assert (made.variables, made.checks_only, warnings) == (("question",), ("keyword",), [])
    assert [turn.content for turn in render(made, {"question": "Where?", "keyword": "parcel"})] == ["Where?"]
    assert run_cli(["run", str(prompt), "--models", "fake/parcel", "--judge", "none", "-q"]) == 0
    verdicts = runs.read(runs.latest(Path("results"))).verdicts
    assert [verdict.status for verdict in verdicts] == ["pass", "fail", "not_concerned"]


def test_what_the_prompt_names_is_not_for_checks_alone(prompt: Path) -> None:
    prompt.write_text(PROMPT + "About {{keyword}}.\n", encoding="utf-8")
    assert read(prompt).checks_only == ()


def test_an_input_that_nobody_declares_is_still_a_mistake(prompt: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompt.write_text(PROMPT.replace("  keyword: {checks_only: true}\n", ""), encoding="utf-8")
    assert run_cli(["run", str(prompt), "--models", "fake/parcel", "--judge", "none", "-q"]) == 2
    assert "keyword" in capsys.readouterr().err
