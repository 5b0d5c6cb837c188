"""Foreign text reaches no terminal, spreadsheet or log as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cli.main import run_cli
from promptpex.codecs import jsonl, safe_csv
from promptpex.codecs.jsonl import dump_record
from promptpex.codecs.text.control_characters import OBEYED, escaped, visible
from promptpex.core.records import Case, Suite
from promptpex.interchange import junit
from tests.tables.by_hand import output, run, verdict

SIGNS = ["\x1b]0;x\x07", "\x9b31m", "\x7f", "\u202eevil", "\u2066x", "\u200f", "\x00", "\r"]


@pytest.mark.parametrize("sign", SIGNS)
def test_no_sign_is_obeyed(sign: str) -> None:
    text = f"a{sign}b"
    assert not OBEYED.search(visible(text))
    assert visible("a\n\tb é 😀 👩‍👩‍👧") == "a\n\tb é 😀 👩‍👩‍👧"
    for written in (jsonl.dumps(text), escaped(json.dumps([text], ensure_ascii=False)), dump_record(output(text=text))):
        assert not OBEYED.search(written.replace("\n", ""))
    assert json.loads(jsonl.dumps(text)) == text


@given(st.text())
def test_escapes_change_no_value(text: str) -> None:
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.parametrize("sign", SIGNS)
def test_junit_holds_no_sign(sign: str) -> None:
    document = junit.text(run([output(text=f"a{sign}b")], [verdict("fail", reason=f"x{sign}y")]))
    assert not OBEYED.search(document)


@pytest.mark.parametrize("before", [" ", "\u200b", "\ufeff", "\u00a0", " \u2060 ", "\x9b", "\u202e", "\x00"])
@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@x", "\uff1d1"])
def test_a_formula_behind_what_is_not_seen_is_guarded(before: str, formula: str) -> None:
    cell = before + formula
    assert safe_csv.guard(cell) == "'" + cell
    assert safe_csv.unguard(safe_csv.guard(cell)) == cell


@given(st.text(st.sampled_from("'= \u200b\ufeff@a\n") | st.characters(), max_size=6))
def test_a_guard_comes_off_again(cell: str) -> None:
    assert safe_csv.unguard(safe_csv.guard(cell)) == cell
    assert not safe_csv.guard(cell).lstrip(" \u200b\ufeff").startswith(("=", "@"))


def test_notes_of_an_export_are_shown_and_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prompt.md").write_text("Say {{a}}.\n", encoding="utf-8")
    (tmp_path / "prompt.spec.yaml").write_text("prompt: prompt.md\nrules:\n  - {id: r1, rule: One.}\n")
    bad = Case(id="c", rule="r1", inputs={"a": "b"}, invalid="\x1b]0;pwned\x07", origin="added")
    good = Case(id="d", rule="r1", inputs={"a": "b"}, origin="added")
    suite = Suite(prompt="prompt.md", cases=(bad, good))
    (tmp_path / "prompt.cases.jsonl").write_text(
        "".join(jsonl.dumps({"prompt": suite.prompt, **case.to_dict()}) + "\n" for case in suite.cases)
    )
    assert run_cli(["export", "promptfoo", str(tmp_path / "prompt.cases.jsonl")]) == 0
    err = capsys.readouterr().err
    assert "pwned" in err
    assert not OBEYED.search(err)
