"""``--judge-all``: what code decides is judged as well, and the report says how far the two agree."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from promptpex.config import load
from promptpex.core.records import Request
from promptpex.llm.fake import FakeClient
from promptpex.report import runs, summarise
from promptpex.report.files import write
from promptpex.workflow.pipeline import run
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from tests.samples import asked
from tests.workflow.test_early_stopping import prepared

SPEC = """prompt: prompt.md
rules:
  - {id: r1, rule: One word., checks: [{kind: word-count, value: 1}]}
  - {id: r2, rule: A colour.}
"""


def reply(request: Request) -> str:
    if request.stage != "judge":
        return "light red" if "thing 3 " in asked(request) else "RED"
    blind = {"reason": "fine", "verdict": "pass"}
    strict = {"reason": "no", "verdict": "fail" if request.model == "fake/strict" else "pass"}
    return json.dumps({"r1": blind, "r2": strict})


async def executed(folder: Path, **more: Any) -> Path:
    prompt = prepared(folder, cases=8)
    (folder / "prompt.spec.yaml").write_text(SPEC, encoding="utf-8")
    given = {
        "models": ["fake/m"],
        "store": str(folder / "store.db"),
        "results": str(folder / "results"),
        "judge_all": True,
        **more,
    }
    async with open_session(load(given, start=folder, env={}), provider=FakeClient(reply)) as session:
        _, where = await run(session, files_of(prompt))
        assert where is not None
    write(summarise(runs.read(where), folder=where), where)
    return where


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


async def test_code_is_held_against_the_judge_on_the_rules_that_both_decide(tmp_path: Path) -> None:
    folder = await executed(tmp_path, judge=["fake/judge"])
    overall, of_rule = rows(folder / "agreement.csv")
    assert (overall["rule"], of_rule["rule"]) == ("", "r1")
    assert [overall[name] for name in ("n", "both_pass", "first_fails", "both_fail")] == ["8", "7", "1", "0"]
    (odd,) = rows(folder / "disagreements.csv")
    assert (odd["case"], odd["rule"], odd["code"], odd["judge"]) == ("c3", "r1", "fail", "pass")
    assert (odd["output"], odd["judge_reason"]) == ("light red", "fine")


async def test_judges_are_held_against_each_other_and_themselves(tmp_path: Path) -> None:
    folder = await executed(tmp_path, judge=["fake/judge", "fake/strict"], judge_repeat=2)
    agreement = {(row["kind"], row["first"], row["second"], row["rule"]): row for row in rows(folder / "agreement.csv")}
    pair = agreement["judges", "judge:fake/judge", "judge:fake/strict", "r2"]
    assert (pair["n"], pair["both_pass"], pair["second_fails"]) == ("8", "0", "8")
    assert (pair["fail_rate_first"], pair["fail_rate_second"]) == ("0.0", "1.0")
    again = agreement["again", "judge:fake/strict", "judge:fake/strict", ""]
    assert (again["n"], again["both_pass"], again["both_fail"]) == ("16", "8", "8")


async def test_without_it_there_is_nothing_to_compare(tmp_path: Path) -> None:
    folder = await executed(tmp_path, judge=["fake/judge"], judge_all=False)
    assert not (folder / "agreement.csv").exists()
