"""``promptpex grade`` with a browser: a sitting in which the server is killed, and the page as a file."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from promptpex.core.records import Grade
from promptpex.documents.human_grades import current, examine
from tests.e2e.command import in_process
from tests.grading.graded_project import project
from tests.web.browser import Browser
from tests.web.command import serving
from tests.web.grading_pool import downloaded, offline_page, press, ready

GRADES = "colours.grades.jsonl"
THINGS = {f"thing-{number}": f"colour {number}" for number in range(24)}


def graded(folder: Path) -> list[Grade]:
    """The grades that hold; the file has no mistake."""
    grades, problems = examine(folder / GRADES)
    assert problems == []
    return list(current(grades))


@pytest.mark.browser
async def test_twenty_outputs_by_keyboard_with_a_server_that_is_killed(tmp_path: Path, browser: Browser) -> None:
    project(tmp_path, THINGS)
    page = await browser.page()
    async with serving("grade", "--as", "ada", "--no-open", "--port", "0", cwd=tmp_path) as command:
        link = await command.link()
        await page.open(link)
        await ready(page)
        await press(page, *"gggggggg")
        command.process.kill()
        await command.process.wait()

        await page.press("b")
        await page.until_text("1 grade not saved", "#trouble")
        await page.type("grey, not blue")
        await page.press("Enter")
        await page.until_text("2 grades not saved", "#trouble")
        assert "open the link that it prints" in await page.text("#trouble")
        assert await page.text("#saved") == "✗ 2 grades not saved"
        await page.press("g")
        await page.until_text("3 grades not saved", "#trouble")
    assert len(graded(tmp_path)) == 8

    port = link.split(":")[2].split("/")[0]
    async with serving("grade", "--as", "ada", "--no-open", "--port", port, cwd=tmp_path) as command:
        other = await page.beside()
        await other.open(await command.link())
        await ready(other)  # which of the two pages sends what waits is a race
        await page.until_text("everything is saved", "#hint")
        assert await page.text("#saved") == "✓ saved"
        assert await page.evaluate("document.querySelector('#trouble').hidden")
        await page.open(link.split("/enter")[0] + "/grade")
        await ready(page)
        assert await page.text("#graded-count") == "9 of 24 outputs graded by you"
        await press(page, *"ugugugugugu")
        assert await page.text("#graded-count") == "20 of 24 outputs graded by you"
        await press(page, "ArrowLeft", "ArrowLeft", "b")
        await page.type("after all")
        await press(page, "Enter", "f")
        assert await page.text("#finish-count") == "You have graded 20 outputs of 24."
        await page.click("#finish a[href='/card']")
        await page.until_text("How far do they agree with people?")
        tables = [" ".join(one.split()) for one in await page.texts(".confusion")]
        assert tables[0] == "flagged not bad 1 0 good 13 0"  # the check counts words: each output has two
        assert "flagged not bad 0 1 good 0 13" in tables  # the judge passes them all
        await page.click("nav a[href='/criteria']")
        await page.until_text("The output is one word.")
        done = await command.ended(signal.SIGINT)
    assert (done.code, "20 of 24 outputs graded; the grades are in" in done.out) == (0, True)

    values = [grade.value for grade in graded(tmp_path)]
    assert (len(values), len({grade.key for grade in graded(tmp_path)})) == (20, 20)
    assert (values.count("good"), values.count("bad"), values.count("unsure")) == (13, 1, 6)
    every, _ = examine(tmp_path / GRADES)
    sent = [(grade.value, grade.note) for grade in every[8:11]]
    assert sent == [("bad", ""), ("bad", "grey, not blue"), ("good", "")]
    assert len(every) == 8 + 3 + 11 + 2
    assert {grade.grader for grade in every} == {"ada"}
    assert all(grade.policy and grade.probability for grade in every)


@pytest.mark.browser
async def test_grades_of_a_page_that_was_sent_elsewhere_come_back(tmp_path: Path, browser: Browser) -> None:
    project(tmp_path)
    assert in_process("grade", "--page", "page.html", cwd=tmp_path).code == 0
    page = await offline_page(browser, tmp_path / "page.html")
    await press(page, "g", "b")
    await page.type("grey")
    await press(page, "Enter", "1", "u", "f")
    file = await downloaded(page, tmp_path)
    done = in_process("grade", "--import", str(file.relative_to(tmp_path)), cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "colours.grades.jsonl: 4 new grades, 0 known, 0 refused\n", "")
    done = in_process("grade", "--import", str(file.relative_to(tmp_path)), cwd=tmp_path)
    assert (done.code, done.out) == (0, "colours.grades.jsonl: 0 new grades, 4 known, 0 refused\n")
    assert {(one.subject, one.value, one.note) for one in graded(tmp_path)} == {
        ("output", "good", ""),
        ("output", "bad", "grey"),
        ("r1", "unsure", ""),
    }


async def test_the_page_as_a_file_and_what_it_refuses(tmp_path: Path) -> None:
    project(tmp_path)
    done = in_process("grade", "--page", "page.html", cwd=tmp_path)
    assert (done.code, done.out) == (0, "page.html: 4 outputs to grade\n")
    assert "It is black." in (tmp_path / "page.html").read_text(encoding="utf-8")
    (tmp_path / "folder").mkdir()
    done = in_process("grade", "--page", "folder", cwd=tmp_path)
    assert (done.code, "folder: the page cannot be written" in done.err) == (2, True)
    done = in_process("grade", "--page", "nowhere/page.html", cwd=tmp_path)
    assert (done.code, (tmp_path / "nowhere" / "page.html").is_file()) == (0, True)
    done = in_process("grade", "--policy", "best", "--no-open", cwd=tmp_path)
    assert (done.code, "no policy is called 'best'" in done.err) == (2, True)
