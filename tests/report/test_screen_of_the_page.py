"""The screen of docs/report.md is what a run prints: a benchmark, and stand-ins with scripted answers."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from promptpex.cli.run_ending import show_run
from promptpex.config import load
from promptpex.core.records import Completion, Request, Run
from promptpex.llm.fake import FakeClient
from promptpex.report import runs
from promptpex.workflow.pipeline import run
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from tests.samples import asked

ROOT = Path(__file__).parents[2]
SCREEN = re.compile(r"^```text\n(sentence: .*?)^```$", re.MULTILINE | re.DOTALL)
RUN_ID = re.compile(r"\b[0-9a-f]{10}\b")

GOOD = "The town mended the bridge last spring."
BAD = (
    "Rewritten sentence: The town mended the bridge last spring.",
    "The town mended the bridge last spring; it had to.",
    "The town mended the bridge last spring in order to open the road.",
    "Last spring the town, which had waited for years for the money that the county had promised it again and again, "
    "at last mended the old bridge.",
)
FAULTS = {"fake/large": 0.01, "fake/medium": 0.4, "fake/small": 0.7}
LATENCY_MS = {"fake/large": 1310.0, "fake/medium": 640.0, "fake/small": 180.0}
COST = {"fake/large": 0.00041, "fake/medium": 0.00006, "fake/small": 0.0}


def reply(request: Request) -> Completion:
    """A judge who sees what the checks see; models with so many faults, always at the same cases."""
    if request.model == "fake/judge":
        passed = {"reason": "", "verdict": "pass"}
        verdicts = dict.fromkeys((request.reply_schema or {})["properties"], passed)
        if f"\n{BAD[0]}\n" in asked(request):
            verdicts["r7"] = {"reason": "It begins with a label.", "verdict": "fail"}
        return Completion(text=json.dumps(verdicts), cost_usd=0.0)
    chance = int(hashlib.sha256(f"{request.model} {asked(request)}".encode()).hexdigest()[:8], 16) / 0xFFFFFFFF
    share = FAULTS[request.model]
    text = BAD[int(chance / share * len(BAD))] if chance < share else GOOD
    return Completion(text=text, latency_ms=LATENCY_MS[request.model], cost_usd=COST[request.model])


async def executed(folder: Path) -> tuple[Run, Path, dict[str, int]]:
    given = {"models": list(FAULTS), "judge": ["fake/judge"]}
    files = files_of(Path("sentence/prompt.md"))
    async with open_session(load(given, start=folder, env={}), provider=FakeClient(reply)) as session:
        _, where = await run(session, files)
        assert where is not None
        return runs.read(where), where, asdict(session.meter.total)


async def test_the_screen_of_the_page_is_what_a_run_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "benchmarks" / "sentence", tmp_path / "sentence")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    finished, folder, totals = await executed(tmp_path)
    capsys.readouterr()
    show_run(finished, folder, as_json=False, totals=totals, prompt=Path("sentence/prompt.md"))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    printed = RUN_ID.sub("0123456789", "\n".join(lines) + "\n")
    (screen,) = SCREEN.findall((ROOT / "docs" / "report.md").read_text(encoding="utf-8"))
    assert printed == screen, printed
    assert len(lines) <= 23
