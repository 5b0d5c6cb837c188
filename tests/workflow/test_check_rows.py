"""``promptpex check`` with a judge: its questions answered, what it is shown, and what is said without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.assertions.rows_to_check import read
from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.core.records import Request
from promptpex.llm.fake import FakeClient
from promptpex.workflow.checks import reports_with_judge
from promptpex.workflow.session import open_session
from tests.samples import asked, prompt

QUESTION = {"kind": "question", "value": "Is {{thing}} named?"}
CODE = {"kind": "python", "value": "def f(example, prompt, response):\n    return ask('Is it red?') or len(prompt) < 3"}
ROWS: list[dict[str, Any]] = [
    {"id": "a", "output": "The lamp.", "vars": {"thing": "the lamp"}, "prompt": "Name it.", "assert": [QUESTION]},
    {"id": "b", "output": {"text": "sofa"}, "vars": {"thing": "the lamp", "place": "here"}, "assert": [QUESTION, CODE]},
    {"id": "c", "output": "x", "prompt": 5, "assert": [CODE, {"kind": "contains", "value": "x"}]},
]


def reply(request: Request) -> str:
    text = asked(request)
    return json.dumps({"reason": "seen", "answer": "yes" if "The lamp." in text and "lamp named" in text else "no"})


def written(folder: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


async def checked(folder: Path, client: FakeClient, **more: Any) -> list[tuple[object, str]]:
    settings = {"judge": ["fake/j", "fake/k"], "store": str(folder / "store.db")} | more
    async with open_session(load(settings, start=folder, env={}), provider=client) as session:
        reports = await reports_with_judge(session, read(written(folder)), None, prompt())
    return [(each.row_id, each.report.status) for each in reports]


async def test_the_questions_of_rows_are_answered(tmp_path: Path) -> None:
    client = FakeClient(reply)
    assert await checked(tmp_path, client) == [("a", "pass"), ("b", "fail"), ("c", "pass")]
    texts = [asked(request) for request in client.requests]
    assert len(texts) == 4
    assert sum("Name it." in text for text in texts) == 1
    assert any('{"text":"sofa"}' in text and "Name the colour of the thing" in text for text in texts)
    assert {request.label for request in client.requests} == {"fake/j"}


def test_without_a_judge_it_is_said_which_rows_need_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["check", str(written(tmp_path)), "--json"]) == 0
    shown = capsys.readouterr()
    assert [json.loads(line)["unscored"] for line in shown.out.splitlines()] == ["needs-judge"] * 3
    assert "0 pass, 0 fail, 3 unscored" in shown.err
    assert "3 rows have questions that a judge has to answer; name one with --judge" in shown.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--max-cost", "1"], "--max-cost is for the judge"),
        (["--rpm", "5"], "--rpm is for the judge"),
        (["--address", "h:1"], "--address: it is where a Ray cluster is, and the engine is local"),
        (["--judge", "fake/j", "--workers", "2"], "goes with one process"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["check", str(written(tmp_path)), *flags]) == 2
    assert message in capsys.readouterr().err


def test_a_judge_that_gives_neither_yes_nor_no_leaves_rows_unscored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store.db")
    assert run_cli(["check", str(written(tmp_path)), "--judge", "fake/j", "--store", store, "--json"]) == 0
    shown = capsys.readouterr()
    assert {json.loads(line)["unscored"] for line in shown.out.splitlines()} == {"judge-malformed"}
    assert "name one with --judge" not in shown.err
