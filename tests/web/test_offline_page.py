"""The grading page as a file: its grades are those that this program would write, and nothing foreign runs in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.errors import GradeError
from promptpex.core.ids import digest
from promptpex.core.records import Grade
from promptpex.documents.human_grades import append_grades, examine, read_grades
from promptpex.grading.desk import GradingDesk
from promptpex.grading.next_item import random_draws
from promptpex.grading.random_sample import in_order
from promptpex.grading.subjects import WHOLE, Subject
from promptpex.web.grading.offline_page import write_offline_page
from promptpex.web.interfaces import GradingPort
from tests.web.browser import Browser
from tests.web.grading_pool import SECRET, desk_of, downloaded, hostile_items, offline_page, press, ready, texts
from tests.web.hostile import HOSTILE

ENDLESS = 1_000


@pytest.mark.browser
async def test_grades_given_without_a_server_are_as_if_given_with_one(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "pos.grades.jsonl"
    outputs = [*texts(3), *texts(3), "\u2028 \x7f \ud800 \u202e"]
    desk = desk_of(path, outputs)
    write_offline_page(GradingPort(desk, "pos"), tmp_path / "page.html")
    page = await offline_page(browser, tmp_path / "page.html")
    assert "chosen by" not in await page.text("#origin")
    await press(page, "g", "b")
    assert "chosen by random" in await page.text("#origin")
    await page.type('It "explains"\\ \u2028 \x07 \x7f \u202e 🙂')
    await press(page, "Enter", "2", "b", "Escape", "a", "z", "0", "u")
    await page.open((tmp_path / "page.html").as_uri())
    await ready(page)
    assert await page.text("#graded-count") == "3 of 7 outputs graded by you"
    await press(page, "ArrowLeft", "g", "ArrowRight", "g", "g", "g", "g")
    assert await page.text("#finish-title") == "Every output is graded"
    file = await downloaded(page, tmp_path)
    assert (page.failures, page.console) == ([], [])
    assert file.name == path.name

    grades, problems = examine(file)
    assert (problems, len(grades)) == ([], 11)
    for one in grades:
        content = one.model_dump(mode="json", exclude={"id"}, exclude_defaults=True)
        assert one.id == digest({"replaces": None, **content}, 32)
    append_grades(path, grades)
    book = desk.refresh()
    assert [book.joint(item).label for item in desk.pool].count("good") == 6
    assert {vote.grader for item in desk.pool for vote in book.joint(item).votes} == {"Zoë 🙂"}
    assert book.random_sample("output", desk.pool) == tuple(
        item for key in in_order(item.id for item in desk.pool) for item in desk.pool if item.id == key
    )
    assert 'It "explains"\\ \u2028 \x07 \x7f \u202e 🙂' in {one.note for one in grades}


@pytest.mark.browser
async def test_hostile_texts_stay_texts_in_the_file(tmp_path: Path, browser: Browser) -> None:
    items = hostile_items(HOSTILE)
    subjects = (WHOLE, *(Subject(f"r{number}", text) for number, text in enumerate(HOSTILE[:9])))
    desk = GradingDesk(items, subjects, tmp_path / "pos.grades.jsonl")
    write_offline_page(GradingPort(desk, "</title><script>alert(1)</script>"), tmp_path / "page.html")
    for bypassed in (True, False):
        page = await browser.page(window=True)
        await page.call("Page.setBypassCSP", enabled=bypassed)
        await page.open((tmp_path / "page.html").as_uri())
        await page.type("ada")
        await press(page, "Enter", *"u" * len(items))
        assert await page.text("#finish-title") == "Every output is graded"
        assert (page.dialogs, page.failures, page.console) == ([], [], [])
        assert page.requests == [(tmp_path / "page.html").as_uri()]
        assert (
            await page.evaluate("document.querySelectorAll('img, iframe, svg, object, embed, base, link').length") == 0
        )


@pytest.mark.browser
async def test_the_page_loads_and_runs_nothing_else(tmp_path: Path, browser: Browser) -> None:
    desk = desk_of(tmp_path / "pos.grades.jsonl", texts(1))
    write_offline_page(GradingPort(desk, "pos"), tmp_path / "page.html")
    page = await offline_page(browser, tmp_path / "page.html")
    await page.evaluate(
        "(() => { const one = document.createElement('script'); try { one.textContent = 'document.title = `owned`';"
        " document.body.append(one); } catch {} })()"
    )
    assert await page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')") == "refused"
    assert await page.evaluate("document.title") == "Grade pos – promptpex"
    assert any("Content Security Policy" in line for line in page.console)


def test_the_page_holds_what_is_open_and_nothing_that_machines_say(tmp_path: Path) -> None:
    desk = desk_of(tmp_path / "pos.grades.jsonl", texts(4))
    desk.give("ada", desk.pool[1].id, "output", "good")
    made = write_offline_page(GradingPort(desk, "pos"), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert made.sentence(Path("page.html")) == "page.html: 3 outputs to grade"
    assert [output in page for output in texts(4)] == [True, False, True, True]
    assert SECRET not in page
    for item in desk.pool:
        desk.give("ada", item.id, "output", "good")
    with pytest.raises(GradeError, match="every output is graded"):
        write_offline_page(GradingPort(desk, "pos"), tmp_path / "page.html")


def test_the_order_is_what_the_desk_would_choose(tmp_path: Path) -> None:
    """Also where some outputs were graded before by another policy, which used up turns of the random sample."""
    path = tmp_path / "pos.grades.jsonl"
    desk = desk_of(path, texts(9))
    for _ in range(4):
        given = desk.next("ada", "highest")
        assert given is not None
        desk.give("ada", given.item.id, "output", "good", assignment=given)
    graded = {grade.key for grade in read_grades(path)}
    order = in_order(item.id for item in desk.pool)
    reached = {grade.key for grade in read_grades(path) if grade.policy == "random"}
    reached |= {grade.policy.partition(" after ")[2] for grade in read_grades(path)} - {""}
    draws = random_draws(order, graded, reached, ENDLESS)
    for draw in draws:
        given = desk.next("ada", "random")
        assert given is not None
        assert (given.item.id, given.policy, given.probability) == (draw.item, draw.policy, draw.probability)
        desk.give("ada", given.item.id, "output", "good", assignment=given)
    assert desk.next("ada", "random") is None


def test_ids_are_those_of_the_record() -> None:
    """The script leaves out what is at its default, as the record does: a new field has to be thought of there too."""
    assert set(Grade.model_fields) == {
        *("id", "time", "grader", "key", "output_digest", "case", "model", "repeat", "subject", "subject_digest"),
        *("value", "note", "policy", "probability", "replaces", "withdrawn"),
    }
