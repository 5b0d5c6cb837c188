"""The grading page in a browser: keys, buttons, reasons, undo, two people, hostile outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.documents.human_grades import current, read_grades
from promptpex.grading.book import WHOLE, Subject
from promptpex.grading.desk import GradingDesk
from promptpex.grading.next_item import Opinion
from tests.web.browser import PHONE, Browser, Page
from tests.web.grading_pool import desk_of, hostile_items, ports_of, press, ready, texts
from tests.web.hostile import HOSTILE, RUNS_SOMETHING
from tests.web.serving import Served, served

pytestmark = pytest.mark.browser


async def opened(browser: Browser, server: Served, size: tuple[int, int] = (1280, 900)) -> Page:
    """The grading page, as a browser shows it that has come by a link."""
    page = await browser.page(size)
    await page.open(server.link)
    await ready(page)
    return page


def standing(path: Path) -> dict[tuple[str, str], list[str]]:
    """By grader and subject, the values of the grades that hold, in their order."""
    result: dict[tuple[str, str], list[str]] = {}
    for one in sorted(current(read_grades(path)), key=lambda grade: grade.time):
        result.setdefault((one.grader, one.subject), []).append(one.value)
    return result


async def test_reasons_notes_rules_undo_and_the_way_back(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "pos.grades.jsonl"
    with served(ports_of(desk_of(path, texts(6)))) as server:
        page = await opened(browser, server)
        first = await page.text("#output")
        await press(page, "g")
        assert await page.text("#output") != first

        await press(page, "b")
        assert await page.text("#note-label") == "Why is the output as a whole bad?"
        assert await page.text("#saved") == "✓ saved"
        await page.type("wrong tag")
        await press(page, "Enter")
        assert await page.text("#place") == "A new output"

        await press(page, "2", "b", "Escape", "a")
        assert await page.text("#hint") == "2 rules graded good. Enter goes on."
        assert standing(path)["ada", "r2"] == ["bad"]
        assert (standing(path)["ada", "r1"], standing(path)["ada", "r3"]) == (["good"], ["good"])
        await press(page, "Enter", "u", "ArrowLeft", "ArrowLeft", "ArrowLeft")
        assert await page.text("#place") == "Output 2 of the 4 you graded"
        assert await page.evaluate("document.querySelector('#note').value") == "wrong tag"
        await press(page, "z")
        assert await page.text("#hint") == "Taken back: the output is unsure."
        assert standing(path)["ada", "output"] == ["good", "bad"]

        await press(page, "z")
        assert await page.text("#hint") == "Taken back: r3 is good."
        assert ("ada", "r3") not in standing(path)
        assert page.failures == []


async def test_mouse_alone_is_enough_and_every_control_has_a_name(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "pos.grades.jsonl"
    with served(ports_of(desk_of(path, texts(5)), grader="")) as server:
        page = await browser.page(PHONE)
        await page.open(server.link)
        await page.until("document.querySelector('#grader-dialog').open")
        await page.click("#grader-form button")
        assert "give a name" in await page.text("#grader-problem")
        await page.click("#grader-name")
        await page.type("Zoë \u202e")
        await page.click("#grader-form button")
        await ready(page)
        nameless = await page.evaluate(
            "[...document.querySelectorAll('button, select, textarea, input, progress, dialog, section')]"
            ".filter(one => !(one.getAttribute('aria-label') || one.getAttribute('aria-labelledby')"
            " || one.labels?.length || one.textContent.trim())).map(one => one.outerHTML)"
        )
        assert nameless == []
        for place in (
            "#give-good",
            "[data-subject=r1] .give.bad",
            "#note-save",
            "#others-good",
            "#forward",
            "#give-unsure",
        ):
            await page.click(place)
            await ready(page)
        await page.click("#back")
        await ready(page)
        await page.click("#undo")
        await ready(page)
        await page.click("#to-finish")
        assert await page.text("#finish-count") == "You have graded 2 outputs of 5."
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert standing(path) == {
        ("Zoë", "output"): ["good"],
        ("Zoë", "r1"): ["bad"],
        ("Zoë", "r2"): ["good"],
        ("Zoë", "r3"): ["good"],
    }


async def test_two_people_at_once_lose_nothing_and_see_each_other(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "pos.grades.jsonl"
    with served(ports_of(desk_of(path, texts(12)), grader="")) as server:
        pages = {}
        for name in ("ada", "bob"):
            pages[name] = page = await browser.page()
            await page.open(server.link)
            await page.until("document.querySelector('#grader-dialog').open")
            await page.type(name)
            await press(page, "Enter")
        for _ in range(5):
            assert await pages["ada"].text("#output") != await pages["bob"].text("#output")
            for page in pages.values():
                await page.press("g")
            for page in pages.values():
                await ready(page)
        await pages["ada"].open(f"{server.address}/grade")
        await ready(pages["ada"])
        assert await pages["ada"].text("#graded-count") == "5 of 12 outputs graded by you"
        await pages["ada"].click("#progress summary")
        assert "By person: ada 5, bob 5." in await pages["ada"].texts("#progress-lines li")
    assert standing(path) == {("ada", "output"): ["good"] * 5, ("bob", "output"): ["good"] * 5}
    assert len({grade.key for grade in read_grades(path)}) == 10


async def test_five_outputs_first(tmp_path: Path, browser: Browser) -> None:
    with served(ports_of(desk_of(tmp_path / "pos.grades.jsonl", texts(9), (WHOLE,)), first=5)) as server:
        page = await opened(browser, server)
        assert "5 more outputs to grade" in await page.text("#countdown-left")
        await press(page, "g", "b", "Enter", "g", "g")
        assert "1 more output to grade" in await page.text("#countdown-left")
        assert await page.evaluate("document.querySelector('#countdown-bar').value") == 4
        await press(page, "u")
        assert "enough to begin with" in await page.text("#countdown-left")


async def test_a_grade_that_the_disk_does_not_take_is_not_shown_as_given(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "pos.grades.jsonl"
    with served(ports_of(desk_of(path, texts(3)))) as server:
        page = await opened(browser, server)
        path.mkdir()
        await page.press("u")
        await page.until_text("pos.grades.jsonl", "#trouble")
        assert await page.text("#saved") == "✗ 1 grade not saved"
        assert await page.texts("[aria-pressed='true']") == []
        path.rmdir()
        await press(page, "u", "g")
        assert await page.evaluate("document.querySelector('#trouble').hidden")
        assert await page.text("#graded-count") == "2 of 3 outputs graded by you"
    assert standing(path) == {("ada", "output"): ["unsure", "good"]}


async def test_hostile_texts_stay_texts(tmp_path: Path, browser: Browser) -> None:
    """Outputs, variables, prompts, rules, notes, names and reasons: escaping alone holds, without the page's policy."""
    path = tmp_path / "pos.grades.jsonl"
    items = hostile_items(HOSTILE)
    subjects = (WHOLE, *(Subject(f"r{number}", text) for number, text in enumerate(HOSTILE[:9])))
    reasons = tuple(Opinion(text[:50], "output", "check", "", "fail", text) for text in HOSTILE)
    desk = GradingDesk(items, subjects, path, opinions={item.id: reasons for item in items}, second_share=0)
    desk.give("<img src=x onerror=alert(1)>", items[0].id, "output", "bad", HOSTILE[1])
    with served(ports_of(desk)) as server:
        page = await browser.page()
        await page.call("Page.setBypassCSP", enabled=True)
        await page.open(server.link)
        await ready(page)
        for messages in (page.console, page.requests):
            messages.clear()
        for _ in items[1:]:
            await press(page, "1", "u", "0", "o")
            assert await page.evaluate(RUNS_SOMETHING) == []
            await press(page, "u")
        await press(page, "ArrowLeft", "n")
        await page.type(HOSTILE[2])
        await press(page, "Enter")
        assert await page.evaluate(RUNS_SOMETHING) == []
        assert (page.dialogs, page.failures, page.console) == ([], [], [])
        assert all(address.startswith(f"{server.address}/grade/") for address in page.requests)
    assert standing(path)["ada", "output"] == ["unsure"] * (len(items) - 1)
