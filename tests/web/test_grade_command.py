"""``promptpex grade`` with a browser: a sitting in which the server is killed."""

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
from tests.web.grading_pool import press, ready

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
        await page.open(await command.link())
        await ready(page)
        await press(page, *"gggggggg")
        command.process.kill()
        await command.process.wait()

        await page.press("b")
        await page.until_text("The server does not answer", "#trouble")
        assert "open the link that it prints" in await page.text("#trouble")
        assert await page.text("#saved") == "✗ 1 grade not saved"
    assert len(graded(tmp_path)) == 8

    async with serving("grade", "--as", "ada", "--no-open", "--port", "0", cwd=tmp_path) as command:
        await page.open(await command.link())
        await ready(page)
        assert await page.text("#graded-count") == "8 of 24 outputs graded by you"
        await press(page, "b")
        await page.type("grey, not blue")
        await press(page, "Enter")
        await press(page, *"ugugugugugu")
        assert await page.text("#graded-count") == "20 of 24 outputs graded by you"
        await press(page, "ArrowLeft", "ArrowLeft", "b")
        await page.type("after all")
        await press(page, "Enter", "f")
        assert await page.text("#finish-count") == "You have graded 20 outputs of 24."
        await page.click("#finish a[href='/card']")
        await page.until_text("How far do they agree with people?")
        tables = [" ".join(one.split()) for one in await page.texts(".confusion")]
        assert tables[0] == "flagged not bad 2 0 good 12 0"  # the check counts words: each output has two
        assert "flagged not bad 0 2 good 0 12" in tables  # the judge passes them all
        await page.click("nav a[href='/criteria']")
        await page.until_text("The output is one word.")
        done = await command.ended(signal.SIGINT)
    assert (done.code, "20 of 24 outputs graded; the grades are in" in done.out) == (0, True)

    values = [grade.value for grade in graded(tmp_path)]
    assert (len(values), len({grade.key for grade in graded(tmp_path)})) == (20, 20)
    assert (values.count("good"), values.count("bad"), values.count("unsure")) == (12, 2, 6)
    every, _ = examine(tmp_path / GRADES)
    sent = [(grade.value, grade.note) for grade in every[8:10]]
    assert sent == [("bad", ""), ("bad", "grey, not blue")]
    assert len(every) == 8 + 2 + 11 + 2
    assert {grade.grader for grade in every} == {"ada"}
    assert all(grade.policy and grade.probability for grade in every)


def test_a_policy_that_there_is_not_is_refused(tmp_path: Path) -> None:
    project(tmp_path)
    done = in_process("grade", "--policy", "best", "--no-open", cwd=tmp_path)
    assert (done.code, "no policy is called 'best'" in done.err) == (2, True)
