"""Who is let in, and who is not."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from promptpex.web.ports import Ports
from tests.web.browser import Browser
from tests.web.serving import served


@pytest.mark.browser
async def test_a_link_lets_in_one_browser(tmp_path: Path, browser: Browser) -> None:
    with served(Ports(tmp_path)) as page_server:
        link = page_server.link
        page = await browser.page()
        await page.open(link)
        assert await page.text("h1") == "Runs"
        assert await page.evaluate("location.href") == f"{page_server.address}/"
        assert await page.evaluate("document.cookie") == ""
        assert page_server.lines == [f"For another browser or person: {page_server.link}"]
        again = await page.beside()
        await again.open(link)
        assert await again.text("h1") == "Runs"
        other = await browser.page()
        await other.open(link)
        assert "used before" in await other.text()
        await other.open(page_server.address)
        assert "Open the link" in await other.text()
        await other.open(page_server.link)
        assert await other.text("h1") == "Runs"


async def test_without_a_session_nothing_is_answered(tmp_path: Path) -> None:
    with served(Ports(tmp_path)) as page_server:
        async with aiohttp.ClientSession(page_server.address) as session:
            for path in ("/", "/static/page.css", "/nothing"):
                async with session.get(path) as response:
                    assert response.status == 403
