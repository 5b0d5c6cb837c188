"""``promptpex judge``: a judge that cannot answer is not a success."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.command import in_process

SPEC = """prompt: p.md
intent: Name a capital.
rules:
  - {id: r1, rule: A capital., inverse: No capital., source: the capital, origin: added}
"""
CASES = "prompt: p.md\ncases:\n  - {id: c1, rule: r1, inputs: {country: France}, origin: added}\n"


def test_a_judge_that_cannot_be_reached_ends_with_its_reason_and_code_3(tmp_path: Path) -> None:
    for name, text in (("p.md", "Name the capital of {{country}}."), ("p.spec.yaml", SPEC), ("p.cases.yaml", CASES)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = in_process("run", "p.md", "--models", "fake/m", "--judge", "none", cwd=tmp_path)
    assert made.code == 0, made.err
    judge = ("judge", "--judge", "openai/j", "--api-base", "http://127.0.0.1:9/v1", "--timeout", "3", "--json")
    done = in_process(*judge, cwd=tmp_path)
    assert done.code == 3
    last = done.err.strip().splitlines()[-1]
    assert last.startswith("promptpex: the judge openai/j failed on its one request (1 judge-unavailable): ")
    assert json.loads(done.out)["models"][0]["outputs"] == 1
    assert in_process("judge", "--judge", "none", cwd=tmp_path).code == 0
