"""``gate --format``: what CI systems are given, and that nothing foreign in it does anything there."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cli.main import run_cli
from promptpex.codecs.ci_reports import code, plain_line, workflow_command
from promptpex.codecs.text.comparing import line_of
from promptpex.core.records import Run
from promptpex.report import runs
from tests.tables.many import many

HOSTILE = "a | b\n::error::no %0A ##[set-env] @user <img src=x> `x` **y** [z](http://w) $q$ \x1b[31m"
PROMPT = "---\nname: p\n---\nYou are kind.\nYour answer is one word,\nin capitals.\nEnd with a *full* stop.\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the prompt's file, and with a run in which model a fails half of the cases."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "p.md").write_text(PROMPT, encoding="utf-8")
    keep(tmp_path, many(20, {"a": lambda n: n % 2 == 0, "b": lambda n: True}))
    return tmp_path


def keep(folder: Path, made: Run, rule: str = "The answer is one word in capitals.", reason: str = "two words") -> None:
    """Keeps the run with these words, by the prompt in the folder."""
    rules = (made.spec.rules[0].replace(rule=rule, source="one word, in capitals."), *made.spec.rules[1:])
    failing = tuple(one.replace(reason=reason) if one.status == "fail" else one for one in made.verdicts)
    prompt = made.prompt.replace(path="prompts/p.md")
    whole = made.replace(spec=made.spec.replace(rules=rules), verdicts=failing, prompt=prompt)
    runs.finish(runs.folder_for(folder / "results", made.prompt.name, made.manifest.run), whole)


def gate(capsys: pytest.CaptureFixture[str], layout: str) -> tuple[int, str, str]:
    code = run_cli(["gate", "--max-non-compliance", "10%", "--format", layout])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_github_is_given_the_line_that_a_broken_rule_rests_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = gate(capsys, "github")
    assert code == 1
    failed, passed, rule = out.splitlines()
    assert failed.startswith(
        "::error file=prompts/p.md,title=gate failed%3A a::a: non-compliance is 50%25, above 10%25"
    )
    assert passed.startswith("::notice file=prompts/p.md,title=gate cannot tell%3A b::b: non-compliance is 0%25")
    assert rule.startswith("::error file=prompts/p.md,line=5,title=rule r1 of ")
    assert rule.endswith(
        "::10 of 20 outputs break r1: The answer is one word in capitals.%0ASuch as c1 on a: two words"
    )
    assert "gate failed: 1 of 2 models (a)" in err


def test_the_summary_of_the_step_is_added_to(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder / "prompts"))
    (folder / "summary.md").write_text("Before.\n", encoding="utf-8")
    out = gate(capsys, "github")[1]
    assert "file=p.md," in out
    assert (folder / "summary.md").read_text(encoding="utf-8") == f"Before.\n{gate(capsys, 'markdown')[1]}\n"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder))
    done, _, err = gate(capsys, "github")
    assert done == 1
    assert "GITHUB_STEP_SUMMARY cannot be written" in err


def test_junit_has_a_case_for_each_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = gate(capsys, "junit")
    assert code == 1
    cases = {case.get("name"): case for case in ElementTree.fromstring(out).iter("testcase")}
    assert list(cases) == ["a", "b"]
    failure = cases["a"].find("failure")
    assert failure is not None
    assert "10 of 20 outputs break r1" in (failure.text or "")
    assert cases["b"].find("failure") is None
    assert cases["b"].find("skipped") is not None


def test_json_is_what_the_flag_gives_and_two_wishes_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_format = gate(capsys, "json")[1]
    assert run_cli(["gate", "--max-non-compliance", "10%", "--json"]) == 1
    assert capsys.readouterr().out == by_format
    assert run_cli(["gate", "--max-non-compliance", "10%", "--json", "--format", "junit"]) == 2
    assert "give one of them" in capsys.readouterr().err


def test_words_of_prompts_and_models_are_harmless(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(folder, many(20, {"a": lambda n: n % 2 == 0}, run="hostile"), rule=HOSTILE, reason=HOSTILE)
    out = gate(capsys, "github")[1]
    assert len(out.splitlines()) == 2
    assert all(line.startswith("::error file=") for line in out.splitlines())
    assert "##[" not in out
    assert "\x1b" not in out
    page = gate(capsys, "markdown")[1]
    assert all(sign not in page for sign in ("@user", "<img", "`x`", "**y**", "](", "http:", "$q$", "::error"))
    (row,) = (line for line in page.splitlines() if line.startswith("| 10 of 20 |"))
    assert row.count("|") == 6
    assert ElementTree.fromstring(gate(capsys, "junit")[1]).get("failures") == "1"


@given(st.text(st.characters(codec="utf-8")))
def test_text_as_code_is_one_line_without_any_sign(text: str) -> None:
    shown = code(text)
    inner = shown.removeprefix("<code>").removesuffix("</code>")
    assert not set("|<>`*_[]@$:~!\\") & set(inner)
    assert not re.search(r"&(?!#\d+;)", inner)
    assert "\n" not in shown


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_a_workflow_command_is_one_line_whose_parts_are_what_was_given(message: str, title: str) -> None:
    line = workflow_command("error", message, {"title": title, "line": None})
    assert len(line.splitlines() if line.isascii() else line.split("\n")) == 1
    assert "##[" not in line
    match = re.fullmatch(r"::error title=([^:,]*)::(.*)", line)
    assert match is not None
    assert plain_line(message)[:2] != "::"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("You are kind.", 4),
        ("one word, in capitals", 5),
        ("end with a full stop", 7),
        ("in capitals. ... full stop", 6),
        ("not there at all", None),
        ("", None),
        ("...", None),
    ],
)
def test_the_line_of_a_quotation_is_where_it_begins(source: str, line: int | None) -> None:
    assert line_of(source, PROMPT) == line
