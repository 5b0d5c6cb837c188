"""The page of two runs in a browser: from a number to its outputs, filters, keys, and the words that differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.records import Run
from promptpex.report.comparison.page import RunLink, comparison_html
from promptpex.report.run_comparison import compare_runs
from tests.tables.many import many
from tests.web.browser import PHONE, Browser, Page
from tests.web.hostile import HOSTILE, assert_nothing_runs
from tests.web.serving import served
from tests.web.stored_runs import hostile_run, store, with_comparisons
from tests.web.test_report_page import choose, shown

pytestmark = pytest.mark.browser


def reworded(made: Run) -> Run:
    """The same outputs in other words."""
    texts = (" ".join([*(one.text or "").split()[:2], "of another kind"]) for one in made.outputs)
    return made.replace(outputs=tuple(one.replace(text=text) for one, text in zip(made.outputs, texts, strict=True)))


async def opened(browser: Browser, folder: Path, fragment: str = "") -> Page:
    """The page of two runs: ``a`` fails newly on the first 20 of 60 cases, ``b`` no more on 10 of 30."""
    before = many(60, {"a": lambda n: True, "b": lambda n: n >= 30})
    after = reworded(many(60, {"a": lambda n: n >= 20, "b": lambda n: n >= 20}))
    made = comparison_html(compare_runs(before, after), (RunLink("old"), RunLink("new")))
    (folder / "compared.html").write_text(made, encoding="utf-8")
    page = await browser.page(window=True)  # words that differ are marked once a frame is drawn
    await page.open(f"{(folder / 'compared.html').as_uri()}{fragment}")
    return page


async def test_a_number_leads_to_its_pairs_with_what_differs_marked(tmp_path: Path, browser: Browser) -> None:
    page = await opened(browser, tmp_path)
    await page.click("#rules ~ .scroll a[href='#rule=r1&model=a&change=new']")
    await page.until_text("20 of 50", "#count")
    assert await shown(page) == [f"case-c{n} a v-new" for n in range(20)]
    await page.until("document.querySelectorAll('mark.differs').length > 3")
    marked = await page.evaluate("[...document.querySelectorAll('mark.differs')].map((one) => one.textContent)")
    assert set(marked) == {"of another kind", "fail"}
    await choose(page, "model", "b")
    assert await shown(page) == []
    await page.click("#v-fixed")
    assert await shown(page) == [f"case-c{n} b v-fixed" for n in range(20, 30)]
    await page.until("location.hash === '#rule=r1&model=b&change=fixed'")
    await page.press("0")
    await page.press("f")
    assert len(await shown(page)) == 20
    await page.press("j")
    await page.until("location.hash === '#change=new&case=c0'")
    other = await page.beside(PHONE)
    await other.open(await page.evaluate("location.href"))
    assert await other.evaluate("document.querySelector('.case.current').id") == "case-c0"
    assert await other.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    for one in (page, other):
        assert (one.failures, one.console, one.dialogs) == ([], [], [])


async def test_nothing_of_two_hostile_runs_is_executed(tmp_path: Path, browser: Browser) -> None:
    store(hostile_run(HOSTILE, "first", broken=False), tmp_path, folder="evil/first")
    store(hostile_run(HOSTILE[::-1], "second", broken=True), tmp_path, folder="evil/second")
    with served(with_comparisons(tmp_path)) as server:
        page = await browser.page()
        await page.open(server.link)
        address = f"{server.address}/compare?before=evil%2Ffirst&after=evil%2Fsecond"
        await assert_nothing_runs(page, address, "what changed?")
        await choose(page, "text", "alert(1)")
        await page.press("j")
        assert await page.evaluate("document.querySelectorAll('img, iframe, object, embed, base').length") == 0
        assert (page.dialogs, page.failures) == ([], [])
