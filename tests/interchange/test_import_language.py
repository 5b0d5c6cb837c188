"""What ``import`` says is in the reader's language; what it gives programs, and a foreign file's own words, are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.translation import reading_in
from tests.marked_language import Marked, unmarked

CONFIG = """
prompts: ["Sort: {{ticket}}", "exec:make.sh"]
providers:
  - openai:responses:gpt-4o-mini
  - id: openai:gpt-4o
    label: two words
    config: {apiKey: sk-1, passthrough: {}}
  - exec:run.sh
  - echo
env: {A: b}
redteam: {}
evaluateOptions: {delay: 3}
scenarios:
  - config: [{vars: {a: b}}]
tests:
  - vars: {ticket: one}
    options: {transform: "file://t.js", rubricPrompt: mine, prefix: Hey}
    metadata: {owner: me}
    provider: openai:gpt-4o
    assert:
      - {type: similar, value: sorted}
      - {type: moderation}
      - {type: llm-rubric, value: It is kind., threshold: 0.5, provider: x}
      - {type: contains, value: "file://words.pdf"}
      - {type: contains, value: sorted, rare: 1}
      - {type: assert-set, assert: [{type: similar, value: x}]}
  - vars: {ticket: one}
    assert: [{type: is-json}]
"""

NAMES = {
    *("similar", "moderation", "llm-rubric", "openai", "assert-set", "words.pdf", "contains", "meteor", "echo", "exec"),
    *("prompts", "providers", "tests", "is-json", "promptfooconfig.yaml", "out", "t.js"),
}


def config(folder: Path) -> Path:
    path = folder / "promptfooconfig.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    (folder / "words.pdf").write_bytes(b"%PDF")
    (folder / "t.js").write_text("output", encoding="utf-8")
    return path


def test_every_sentence_is_of_the_catalogue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with reading_in(Marked()):
        assert run_cli(["import", "promptfoo", str(config(tmp_path)), "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    reasons = [line.rpartition(": ⟦")[1:] for line in lines if line.startswith("  ")]
    assert len(reasons) > 10
    left = [unmarked("".join(reason), {*NAMES, str(tmp_path)}) for reason in reasons]
    assert not any(left), left
    rest = [unmarked(line, {*NAMES, str(tmp_path)}) for line in lines if not line.startswith("  ")]
    assert not any(rest), rest


def test_in_vietnamese_and_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = str(config(tmp_path)), str(tmp_path / "out")
    assert run_cli(["import", path, "--out", out, "--report-language", "vi"]) == 0
    printed = capsys.readouterr().out
    assert "bị bỏ:" in printed
    assert "không hỏi dịch vụ nào" in printed
    assert run_cli(["import", path, "--out", out, "--force", "--json", "--report-language", "vi"]) == 0
    notes = json.loads(capsys.readouterr().out)["left_out"]
    assert any("no service is called" in note["why"] for note in notes)
