"""The report card as a page: its figures, its sortable table, what it does with hostile outputs and with bad wishes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.core.records import Criterion, Rule, Spec
from promptpex.web.interfaces import Ports
from promptpex.workflow.report_card import CardOfRuns, CardWishes
from tests.alignment.folders import AlignedFolder
from tests.web.browser import DESKTOP, Browser, Page
from tests.web.serving import Served, page_of, served, words

SPEC = Spec(prompt="trip.md", rules=(Rule(id="r1", rule="The reply stays calm."),))
COLUMNS = {"calm": "p" * 12 + "f" * 8, "loud": "f" * 8 + "p" * 4 + "f" * 8}
HOSTILE = '<script>document.title = "owned"</script><img src=x onerror="document.title = \'owned\'">'


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AlignedFolder:
    """20 outputs, of which people call the last eight bad; one of them is hostile, and one is written right to left."""
    monkeypatch.chdir(tmp_path)
    made = AlignedFolder(tmp_path, "-" * 20, COLUMNS, {"calm": "c1", "loud": "c1"})
    texts = {n: f"text {n} " + "word " * n for n in range(20)} | {
        3: HOSTILE,
        4: "\u202eabc \u0645\u0631\u062d\u0628\u0627",
    }
    made.examples = made.renamed(texts)
    made.write((Criterion(id="c1", text="The reply stays calm.", rule="r1"),), spec=SPEC)
    made.run({("r1", "judge:gpt"): "fp" * 6 + "f" * 8}, SPEC)
    made.grade("g" * 12 + "b" * 8, policy="random")
    made.grade("-" * 12 + "b" * 8, "r1", "The reply stays calm.")
    made.grade("gg-b", grader="<b>bob</b>")
    return made


def ports(source: str | None = None) -> Ports:
    results = Path("results")
    return Ports(results, card=CardOfRuns([Path(source)] if source else [], results, CardWishes()))


async def test_the_page_has_what_the_terminal_has(world: AlignedFolder) -> None:
    with served(ports()) as server:
        text = words(await page_of(server, "/card"))
        assert "How far do they agree with people? trip" in text
        assert (
            "20 of 20 outputs graded, by &lt;b&gt;bob&lt;/b&gt; and ada: 11 good, 8 bad, 0 unsure, 1 disputed." in text
        )
        # The judge fails the eight bad ones and six of the twelve good ones, of which one is disputed on the whole.
        assert "judge:gpt of all bad outputs it catches 8 of 8" in text
        assert "flagged not bad 8 0 good" in text
        assert "loud for c1 , by code: flags" in text
        assert "calm : coverage 100%" in text
        async with server.session() as session, session.get("/card.json") as answer:
            card = json.loads(await answer.text())
    assert [row["kind"] for row in card["rows"]] == ["set", "criterion", "verdicts", "judge"]


async def test_a_new_grade_is_on_the_page_at_once(world: AlignedFolder) -> None:
    with served(ports()) as server:
        for _ in range(2):
            assert "1 disputed" in words(await page_of(server, "/card"))
        world.grade("---g", grader="<b>bob</b>", note="I had misread it")
        assert "0 disputed" in words(await page_of(server, "/card"))


async def test_another_limit_can_be_looked_at_and_a_bad_one_is_a_sentence(world: AlignedFolder) -> None:
    with served(ports()) as server:
        assert "Back" in words(await page_of(server, "/card?limit=90%25"))
        assert "is not a share: write 10% or 0.1" in words(await page_of(server, "/card?limit=lots", 422))


async def test_a_run_whose_prompt_is_gone_is_a_sentence(world: AlignedFolder) -> None:
    world.prompt.unlink()
    with served(ports()) as server:
        assert "is not in this project" in words(await page_of(server, "/card", 422))


async def opened(browser: Browser, server: Served, size: tuple[int, int]) -> Page:
    page = await browser.page(size)
    await page.open(server.link)
    await page.until("location.pathname != '/enter'")
    await page.open(f"{server.address}/card")
    return page


@pytest.mark.browser
async def test_the_table_is_sorted_by_its_headings_and_hostile_outputs_stay_text(
    world: AlignedFolder, browser: Browser
) -> None:
    with served(ports()) as server:
        page = await opened(browser, server, DESKTOP)
        await page.until("document.querySelectorAll('.outputs .sort').length == 9")
        first = ".outputs tbody tr:first-child"
        assert (await page.text(f"{first} th")).strip() == "c0/m/0"
        await page.click(".outputs th:nth-child(5) .sort")
        assert (await page.text(f"{first} td:nth-of-type(4)")).strip() == "2"
        await page.click(".outputs th:nth-child(5) .sort")
        assert (await page.text(f"{first} th")).strip() == "c19/m/0"
        assert await page.evaluate("document.querySelector('.outputs th:nth-child(5)').ariaSort") == "descending"
        await page.click(".outputs th:nth-child(1) .sort")
        assert (await page.text(f"{first} th")).strip() == "c0/m/0"
        assert "owned" not in await page.evaluate("document.title")
        assert HOSTILE[:20] in await page.text(".outputs")
        assert await page.evaluate("document.querySelectorAll('.outputs img, .outputs script').length") == 0
