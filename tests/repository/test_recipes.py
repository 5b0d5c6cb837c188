"""The recipes, followed as a reader would: their files are read, their commands run, their outputs come out."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from tests.e2e.command import benchmark, in_process
from tests.servers import ScriptedServer, Step, completion_body

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "docs" / "recipes"
sys.path.insert(0, str(ROOT / "scripts"))

from follow_page import follow  # noqa: E402

FAILING = {"check", "gate"}
"""Commands that say with code 1 that something fails."""


def promptpex(arguments: list[str], folder: Path) -> str:
    """What the command prints, on a terminal of 100 columns; what a run says on its way is left out."""
    done = in_process(*arguments, cwd=folder)
    assert done.code == 0 or (done.code == 1 and arguments[0] in FAILING), done.err
    return done.out + (done.err if arguments[0] in ("check", "import", "validate") else "")


def page(name: str, model: str = "") -> str:
    """A recipe; with ``model``, that one in the place of the hosted models."""
    text = (RECIPES / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"gpt-4o-mini|gpt-4\.1", model, text) if model else text


def test_logs_of_production_are_checked_and_become_cases(tmp_path: Path) -> None:
    assert follow(page("production-logs", "fake/billing"), tmp_path, promptpex) == 3
    assert len((tmp_path / "prompt.synthesis" / "examples.jsonl").read_text().splitlines()) == 4
    assert "id: a4" in (tmp_path / "prompt.cases.yaml").read_text()


def test_checks_of_the_page_on_languages_say_what_it_shows(tmp_path: Path) -> None:
    assert follow(page("other-languages"), tmp_path, promptpex) == 3


async def test_grounding_is_judged_with_the_inputs_and_conditions_by_code(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    verdicts = '{"grounded": {"reason": "", "verdict": "pass"}, "complete": {"reason": "", "verdict": "pass"}}'

    def reply(seen: object) -> Step:
        judged = "Its output will be checked" in str(getattr(seen, "body", ""))
        return Step(completion_body(verdicts if judged else "NOT IN THE HANDBOOK"))

    scripted.otherwise = reply
    text = page("rag", f"openai/x?api_base={scripted.url}/v1").replace("--models openai", "--models o=openai")
    assert await asyncio.to_thread(follow, text, tmp_path, promptpex) == 1
    assert [seen for seen in scripted.requests if "input was:" in str(seen.body)]
    (report,) = (tmp_path / "results" / "handbook").glob("*/results.csv")
    assert report.read_text(encoding="utf-8").count(",pass,") == 4


async def test_a_file_names_servers_that_are_asked_without_a_key(
    tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PROMPTPEX_API_KEY", "canary-of-the-recipe-41")
    scripted.otherwise = Step(completion_body("delivery"))
    text = page("self-hosted")
    (settings,) = re.findall(r"^`promptpex\.toml`.*?^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    prompt = benchmark("speech-tag", tmp_path, cases=2)
    settings = re.sub(r"http://127\.0\.0\.1:\d+", scripted.url, settings)
    (prompt.parent / "promptpex.toml").write_text(settings, encoding="utf-8")
    for line in re.findall(r"^promptpex (run prompt\.md(?: --models (?!openai|'qwen=).*)?)$", text, re.MULTILINE):
        arguments = line.replace("'", "").split()
        await asyncio.to_thread(promptpex, [*arguments, "--name", f"n{scripted.count}"], prompt.parent)
    asked = {(seen.body["model"], seen.body.get("temperature")) for seen in scripted.requests}
    assert asked == {("Qwen/Qwen3-4B", 0), ("Qwen/Qwen3-4B", 1), ("gemma", None)}
    assert {seen.headers.get("Authorization") for seen in scripted.requests} == {None}
