"""Reports on paper: printers are told to keep the colours that carry a meaning, and what answers clicks stays away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tables.by_hand import colours
from tests.web.browser import DESKTOP, Browser, Page
from tests.web.test_report_page import opened

pytestmark = pytest.mark.browser


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
