"""The page of criteria in a browser: ways in, candidates as they are made and run, edits, hostile texts."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from promptpex.core.records import Check, Request, Synthesis
from promptpex.core.surrogates import replace_surrogates
from promptpex.synthesis import edit_criteria
from promptpex.synthesis.folder import write_candidates
from promptpex.web.interfaces import Ports
from tests.samples import asked
from tests.web.browser import PHONE, Browser, Page
from tests.web.hostile import HOSTILE, RUNS_SOMETHING, assert_nothing_runs
from tests.web.serving import Served, served
from tests.workflow.criteria.criteria_bench import CAPITALS, Bench, proposed

TEXT = "The colour is written in capitals."
SHOWN = "document.querySelectorAll('#list > article').length"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.project.close()


@contextlib.asynccontextmanager
async def opened(bench: Bench, browser: Browser) -> AsyncIterator[Page]:
    """The page of criteria of this bench."""
    with served(Ports(bench.path, criteria=bench.project, start="/criteria")) as page_server:
        page = await browser.page()
        await page.open(page_server.link)
        yield page
        assert page.failures == []
        assert page.dialogs == []


async def write(page: Page, selector: str, text: str) -> None:
    """Puts a text into a field in place of what stands there."""
    await page.evaluate(f"document.querySelector({json.dumps(selector)}).select()")
    await page.type(text)


@pytest.mark.browser
async def test_from_a_criterion_to_candidates_that_are_run_and_chosen(bench: Bench, browser: Browser) -> None:
    bench.replies["candidates"] = CAPITALS
    bench.grade_capitals(24, text=TEXT)
    async with opened(bench, browser) as page:
        assert "There is no criterion yet" in await page.text("main")
        await page.click("#new-text")
        await page.type(TEXT)
        await page.click("#new [name=title]")
        await page.type("Capitals")
        await page.click("#new button")
        await page.until(f"{SHOWN} === 1")
        (made,) = bench.on_file().criteria
        assert (made.text, made.origin, await page.evaluate("document.querySelector('#new-text').value")) == (
            TEXT, "added", "",
        )  # fmt: skip
        await page.click("#whole button.main")
        await page.until_text("passes and fails the same examples as all_capitals", "article")
        await page.until_text("3 made", "#whole")
        await page.until_text("2 culled", "#whole")
        await page.until_text("unusable proposal", "article")
        for name in ("all_capitals", "shouts", "breaks"):
            assert name in await page.text("article .candidates")
        await page.click("article .candidate summary")
        await page.click("article .candidate button[data-choice=must]")
        await page.until_text("is always chosen", "#said")
        assert bench.on_file().candidates[0].choice == "must"
        assert await page.evaluate("document.querySelector('article .candidate details').open"), "it stays open"


@pytest.mark.browser
async def test_what_one_writes_survives_what_others_do_and_a_refusal(bench: Bench, browser: Browser) -> None:
    bench.project.add(TEXT, "Capitals")
    async with opened(bench, browser) as page:
        await page.evaluate("document.querySelector('[data-name=own]').open = true")
        await page.evaluate("document.querySelector('[data-name=own] select').value = 'yaml'")
        await write(page, "[data-name=own] textarea", "kind: quiz")
        bench.project.add("It is kind.", "Kind")
        await page.until(f"{SHOWN} === 2")
        bench.project.settle("capitals", "code", True, None, True)
        await page.until("document.querySelector('#criterion-capitals').classList.contains('older')")
        assert await page.evaluate("document.querySelector('[data-name=own] textarea').value") == "kind: quiz"
        await page.click("[data-name=own] button")
        await page.until_text("there is no kind 'quiz'", "#said")
        await write(page, "[data-name=own] textarea", "kind: regex\nvalue: ^[A-Z]+$")
        await page.click("[data-name=own] button")
        await page.until_text("checks_capitals", "article .candidates")
        await page.until("!document.querySelector('#criterion-capitals').classList.contains('older')")
        assert "must" in await page.text("#criterion-capitals header")


@pytest.mark.browser
async def test_an_author_at_work_is_seen_and_stopped(bench: Bench, browser: Browser) -> None:
    go_on = asyncio.Event()

    async def slowly(request: Request) -> str:
        await go_on.wait()
        name = next(name for name in (f"c_{number}" for number in range(5)) if f"<{name}-" in asked(request))
        return json.dumps({"items": [proposed(f"has_{name}", "contains", name, name)]})

    bench.client._reply = slowly
    for number in range(5):
        bench.project.add(f"It is {number}.", f"c {number}")
    async with opened(bench, browser) as page:
        await page.click("#whole button.main")
        await page.until_text("running", "#whole .work")
        await page.click("#whole [data-do=stop]")
        await page.until_text("2 requests not sent", "#said")
        bench.project._background._loop.call_soon_threadsafe(go_on.set)
        await page.until_text("3 made", "#whole")
        await page.until("document.getElementById('whole').dataset.working === 'no'")


@pytest.mark.browser
async def test_hostile_texts_execute_nothing_and_fit_a_phone(bench: Bench, browser: Browser) -> None:
    texts = [replace_surrogates(text) for text in HOSTILE if text.strip() and len(text) < 1_000]
    synthesis = Synthesis(prompt="colours.md")
    for text in texts:
        synthesis, name = edit_criteria.add(synthesis, text)
        check = Check(kind="contains", value=text)
        synthesis, _ = edit_criteria.add_candidate(synthesis, name, "", check)
    bench.file.parent.mkdir()
    names = [one.id for one in write_candidates(bench.file, synthesis, by_hand=True).criteria]
    for number, text in enumerate(texts[:3]):
        bench.note(bench.grade(bench.pool[number], "bad", text))
    bench.replies["candidates"] = [
        proposed(f"<b>{text}</b>"[:50], "regex", f"([{text}", names[0]) for text in texts[:12]
    ]
    bench.project.make(names[0])
    bench.settled()
    with served(Ports(bench.path, criteria=bench.project)) as page_server:
        page = await browser.page()
        await page.open(page_server.link)
        await assert_nothing_runs(page, f"{page_server.address}/criteria", "Criteria of colours.md")
        await page.look(PHONE)
        bench.project.add("One more </script>.")
        await page.until(f"{SHOWN} === {len(texts) + 4}")
        await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert await page.evaluate(RUNS_SOMETHING) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        assert page.dialogs == []


async def posted(page_server: Served, path: str, sent: Any) -> tuple[int, dict[str, Any]]:
    async with page_server.session() as session, session.post(path, json=sent) as response:
        return response.status, await response.json()


@pytest.mark.parametrize(
    ("action", "sent", "why"),
    [
        ("add", {"text": ""}, "write the criterion"),
        ("add", {"text": 7}, "a text of at most 50,000 characters"),
        ("add", {"text": "x" * 2_000}, "at most 1,000 characters"),
        ("reword", {"id": "gone", "text": "x"}, "no criterion 'gone'"),
        ("settle", {"id": "capitals", "by": "magic", "selected": True, "must": False}, "one of code, judge, both"),
        ("settle", {"id": "capitals", "by": "code", "selected": 1, "must": False}, "true or false"),
        ("settle", {"id": "capitals", "by": "code", "selected": True, "must": False, "max_ffr": "2"}, "from 0 to 1"),
        ("settle", {"id": "capitals", "by": "code", "selected": True, "must": False, "max_ffr": "a"}, "from 0 to 1"),
        ("settle", {"id": "capitals", "by": "code", "selected": True, "must": False, "max_ffr": "nan"}, "from 0 to 1"),
        ("add-candidate", {"id": "capitals", "form": "python", "text": "def f(:"}, "the function f has 0 parameters"),
        ("add-candidate", {"id": "capitals", "form": "shell", "text": "rm"}, "one of python, question, yaml"),
        ("choose", {"candidate": "gone", "choice": "must"}, "no candidate 'gone'"),
        ("from-note", {"grader": "ada", "item": "0" * 32, "subject": "output"}, "not in the file of grades"),
        ("make", {"id": "gone"}, "no criterion 'gone'"),
    ],
)
async def test_what_cannot_be_done_is_a_sentence(bench: Bench, action: str, sent: dict[str, Any], why: str) -> None:
    bench.project.add(TEXT, "Capitals")
    before = bench.file.read_bytes()
    with served(Ports(bench.path, criteria=bench.project)) as page_server:
        status, reply = await posted(page_server, f"/criteria/{action}", sent)
    assert status == 422
    assert why in reply["error"]
    assert bench.file.read_bytes() == before
