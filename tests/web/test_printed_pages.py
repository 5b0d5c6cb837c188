"""Reports on paper: printers are told to keep the colours that carry a meaning, and what answers clicks stays away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tables.by_hand import colours, output, run, verdict
from tests.web.browser import DESKTOP, Browser, Page
from tests.web.test_report_page import opened

pytestmark = pytest.mark.browser
LONG = "Sure, here it is. " * 40


def style(selector: str, name: str) -> str:
    return f"getComputedStyle(document.querySelector({selector!r})).{name}"


async def on_paper(page: Page) -> None:
    """Has the page drawn as for a printer, on a system that likes it dark."""
    await page.look(DESKTOP, dark=True)
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    await page.call("Emulation.setEmulatedMedia", media="print", features=[scheme])


async def test_the_colours_of_the_heat_map_are_printed_and_no_dark_page_is(tmp_path: Path, browser: Browser) -> None:
    page = await opened(browser, colours(), tmp_path)
    await on_paper(page)
    for selector in (".heat td[class^=h]", ".key.h5"):
        assert await page.evaluate(style(selector, "printColorAdjust")) == "exact", selector
    assert await page.evaluate(style(".key.h0", "backgroundColor")) == "rgb(227, 243, 234)"
    assert await page.evaluate(style("body", "backgroundColor")) == "rgb(255, 255, 255)"


async def test_a_printed_report_has_no_filters_and_the_whole_of_a_failing_text(
    tmp_path: Path, browser: Browser
) -> None:
    made = run([output("c1", text=LONG), output("c2", text=LONG)], [verdict("fail", "r1", "c1"), verdict(case="c2")])
    page = await opened(browser, made, tmp_path)
    visible = "[...document.querySelectorAll('%s .text')].map((one) => one.checkVisibility())"
    folded = {kind: visible % f".output.v-{kind}" for kind in ("fail", "pass")}
    assert await page.evaluate("document.querySelector('[role=search]').checkVisibility()")
    assert await page.evaluate(folded["fail"]) == [False]
    await on_paper(page)
    assert not await page.evaluate("document.querySelector('[role=search]').checkVisibility()")
    assert await page.evaluate(folded["fail"]) == [True]
    assert await page.evaluate(folded["pass"]) == [False]
