"""Cases that turn out not to meet the condition of the rule that they are for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.cases.rate import keep_most_valuable
from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.core.records import Request
from promptpex.llm.fake import FakeClient
from promptpex.report import runs
from promptpex.report.summary import summarise, to_dict
from promptpex.workflow.authoring import generate
from promptpex.workflow.generating import Generated, Wishes
from promptpex.workflow.pipeline import run
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from tests.cases.test_rate import FULL, SPEC
from tests.report.printed import printed

RULE = "If the order is late, the answer says sorry."
SPEC_FILE = f"""prompt: prompt.md
inputs: {{order: Anything.}}
rules:
  - {{id: r1, rule: "{RULE}", needs: input}}
  - {{id: r2, rule: One sentence.}}
"""
CASES = """prompt: prompt.md
cases:
  - {id: c1, rule: r1, inputs: {order: late}, origin: added}
  - {id: c2, rule: r1, inputs: {order: paid}, origin: added}
  - {id: c3, rule: r2, inputs: {order: paid twice}, origin: added}
"""


def reply(request: Request) -> str:
    if request.stage != "judge":
        return "Sorry."
    text = "\n".join(message.content for message in request.messages)
    rules = (request.reply_schema or {})["properties"]
    status = {"r1": "not concerned" if "paid" in text else "pass", "r2": "pass"}
    return json.dumps({rule: {"reason": "so", "verdict": status[rule]} for rule in rules})


def settings(folder: Path) -> Any:
    given: dict[str, Any] = {
        "models": ["fake/a", "fake/b"],
        "judge": ["fake/j"],
        "author": "fake/w",
        "store": str(folder / "s.db"),
    }
    given |= {"results": str(folder / "results"), "cases_per_rule": 0, "inverse_cases": 0, "validity": False}
    return load(given, start=folder, env={})


def project(folder: Path, cases_text: str = CASES, spec: str = SPEC_FILE) -> Path:
    for name, text in (("prompt.md", "Answer about {{order}}."), ("prompt.spec.yaml", spec)):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "prompt.cases.yaml").write_text(cases_text, encoding="utf-8")
    return folder / "prompt.md"


async def generated(folder: Path, **wishes: Any) -> tuple[Generated, FakeClient]:
    client = FakeClient(reply)
    async with open_session(settings(folder), provider=client) as session:
        return await generate(session, files_of(folder / "prompt.md"), Wishes(**wishes)), client


async def test_a_run_tells_which_cases_do_not_trigger_their_rule_and_coverage_leaves_them_out(tmp_path: Path) -> None:
    project(tmp_path, CASES.replace("  - {id: c1, rule: r1, inputs: {order: late}, origin: added}\n", ""))
    assert (await generated(tmp_path))[0].quality.bare == ()
    async with open_session(settings(tmp_path), provider=FakeClient(reply)) as session:
        _, where = await run(session, files_of(tmp_path / "prompt.md"))
        assert where is not None
    summary = summarise(runs.read_for_report(where))
    assert to_dict(summary)["discrimination"]["untriggered"] == ("c2",)
    shown = " ".join(printed(summary, width=200).split())
    assert "cases that do not meet their rule's condition 1 of 2 c2" in shown
    (after, client) = await generated(tmp_path)
    assert (after.quality.untriggered, after.quality.bare, client.requests) == (("c2",), ("r1",), [])


@pytest.mark.parametrize(
    ("old", "new"),
    [("order: paid}", "order: paid late}"), (RULE, "If it is paid, the answer says sorry."), ("needs: input", "")],
)
async def test_what_has_changed_since_the_run_is_not_held_against_a_case(tmp_path: Path, old: str, new: str) -> None:
    project(tmp_path)
    async with open_session(settings(tmp_path), provider=FakeClient(reply)) as session:
        await run(session, files_of(tmp_path / "prompt.md"))
    assert (await generated(tmp_path))[0].quality.untriggered == ("c2",)
    project(tmp_path, CASES.replace(old, new), SPEC_FILE.replace(old, new))
    same = new == ""
    assert (await generated(tmp_path))[0].quality.untriggered == (("c2",) if same else ())


def test_generate_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import asyncio

    project(tmp_path)

    async def job() -> None:
        async with open_session(settings(tmp_path), provider=FakeClient(reply)) as session:
            await run(session, files_of(tmp_path / "prompt.md"))

    asyncio.run(job())
    monkeypatch.chdir(tmp_path)
    command = ["generate", "prompt.md", "--author", "fake/w", "--keep-best", "3"]
    assert run_cli(command) == 0
    text = " ".join("".join(capsys.readouterr()).split())
    assert "In the latest run 1 case did not meet the condition of the rule that it is for: c2." in text


def test_keeping_the_most_valuable_does_not_take_such_a_case_for_its_rule() -> None:
    assert [one.id for one in keep_most_valuable(FULL, SPEC, 3).suite.usable()] == ["r1-1", "r2-1", "r2-i1"]
    choice = keep_most_valuable(FULL, SPEC, 3, ["r1-1"])
    assert [one.id for one in choice.suite.usable()] == ["r1-1", "r1-2", "r2-i1"]
    assert [one.rule for one in choice.suite.cases] == [one.rule for one in FULL.cases]
    everything = keep_most_valuable(FULL, SPEC, 6, [one.id for one in FULL.cases])
    assert everything.lost == ()
