"""Grading and criteria side by side in a browser: a note becomes a criterion, and outputs are graded by it at once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.records import Request
from promptpex.documents.human_grades import current, read_grades
from promptpex.grading.labels import LabelRules
from promptpex.llm.fake import FakeClient
from promptpex.synthesis.folder import read_candidates
from promptpex.web.interfaces import GradingPort, Ports
from promptpex.workflow.criteria.page import criteria_beside
from promptpex.workflow.grading_desk import GradingWishes, open_desk
from tests.grading.graded_project import project
from tests.servers import ScriptedServer, Seen, Step, completion_body
from tests.web.browser import Browser
from tests.web.command import serving
from tests.web.grading_pool import press, ready
from tests.web.serving import served
from tests.workflow.criteria.criteria_bench import proposed

pytestmark = pytest.mark.browser

THINGS = {f"thing-{number}": f"It is colour {number}." for number in range(6)}


def author(request: Request) -> str:
    short = proposed("one_word", "word-count", "exactly 1 words", "one_word_please")
    return json.dumps({"items": [short] if request.stage == "candidates" else []})


async def test_a_note_becomes_a_criterion_with_one_click(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = project(tmp_path, THINGS)
    opened = open_desk([run], tmp_path / "results", GradingWishes(Path("colours.md")), lambda event: None)
    resolved = load({"author": "openai/author", "store": str(tmp_path / "store.db")}, start=tmp_path, env={})
    criteria = criteria_beside(opened, resolved, LabelRules(), provider=FakeClient(author))
    grading = GradingPort(opened.desk, "colours", "ada")
    try:
        with served(Ports(tmp_path, start="/grade", grading=grading, criteria=criteria)) as page_server:
            page = await browser.page()
            await page.open(page_server.link)
            await ready(page)
            await press(page, "b")
            await page.type("one word, please")
            await page.click("#note-criterion")
            await page.until_text("one_word_please is a criterion now", "#hint")
            assert "one word, please" in await page.text("#subjects")
            (made,) = [
                one for one in read_candidates(tmp_path / "colours.synthesis" / "candidates.yaml").criteria if one.notes
            ]
            (grade,) = current(read_grades(tmp_path / "colours.grades.jsonl"))
            assert (made.id, made.notes, grade.note) == ("one_word_please", (grade.id,), "one word, please")
            await press(page, "3", "b", "Escape", "Enter", "g")
            await page.until("document.querySelector('#graded-count').textContent.startsWith('2 of 6')")
            criteria.make(made.id)
            other = await page.beside()
            await other.open(f"{page_server.address}/criteria")
            await other.until_text("1 made", "#whole")
            assert await other.text("nav [aria-current]") == "Criteria"
            await press(page, "g")
            await page.until("document.querySelector('#candidates').textContent.includes('1 candidate made')")
            assert page.failures == other.failures == []
    finally:
        criteria.close()
    subjects = {grade.subject for grade in current(read_grades(tmp_path / "colours.grades.jsonl"))}
    assert subjects == {"output", "one_word_please"}


async def test_a_server_that_is_killed_loses_no_criterion_and_asks_for_nothing_twice(
    tmp_path: Path, browser: Browser, scripted: ScriptedServer
) -> None:
    project(tmp_path, THINGS)
    suggestion = {"title": "one word", "criterion": "It is one word.", "type": "code", "told_from": "output"}
    candidates = [proposed("one_word", "word-count", "exactly 1 words", "one_word")]
    arrived = asyncio.Event()

    def answered(items: list[dict[str, Any]], delay_s: float = 0.0) -> Step:
        return Step(body=completion_body(json.dumps({"items": items})), delay_s=delay_s)

    def kept_waiting(seen: Seen) -> Step:
        arrived.set()
        return answered(candidates, 3600)

    scripted.steps, scripted.otherwise = [answered([{**suggestion, "source": ""}])], kept_waiting
    server = ("--api-base", f"{scripted.url}/v1", "--judge", "none", "--no-config", "--author", "openai/author")
    arguments = ("grade", "-q", "--as", "ada", "--no-open", "--port", "0", *server)
    async with serving(*arguments, cwd=tmp_path) as command:
        page = await browser.page()
        await page.open(await command.link())
        await page.open(f"{await page.evaluate('location.origin')}/criteria")
        await page.click("[data-do=infer]")
        await page.until_text("inferred from the prompt", "#list")
        await page.click("#whole button.main")
        await page.until_text("running", "#whole .work")
        await arrived.wait()
        command.process.kill()
        await command.process.wait()
        await page.click("#new-text")
        await page.type("It is kind.")
        await page.click("#new button")
        await page.until_text("The server does not answer; what you wrote is still here.", "#said")
    scripted.otherwise = answered(candidates)
    async with serving(*arguments, cwd=tmp_path) as command:
        await page.open(await command.link())
        await page.open(f"{await page.evaluate('location.origin')}/criteria")
        await page.until_text("inferred from the prompt", "#list")
        await page.click("#whole button.main")
        await page.until_text("1 made", "#whole")
        await page.until_text("passes 0, fails 6", "#criterion-one_word .candidates")
        done = await command.ended()
    assert (done.code, done.err) == (0, "")
    assert page.failures == []
