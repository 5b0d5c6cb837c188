"""A browser comes in by a link, and by no other way."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from promptpex.web.interfaces import Ports
from tests.web.browser import Browser
from tests.web.serving import served


@pytest.mark.browser
async def test_a_link_lets_in_one_browser(tmp_path: Path, browser: Browser) -> None:
    with served(Ports(tmp_path)) as server:
        link = server.link
        page = await browser.page()
        await page.open(link)
        assert await page.text("h1") == "Runs"
        assert await page.evaluate("location.href") == f"{server.address}/"
        assert await page.evaluate("document.cookie") == ""
        again = await page.beside()
        await again.open(link)
        assert await again.text("h1") == "Runs"
        other = await browser.page()
        await other.open(link)
        assert "no longer" in await other.text()
        await other.open(server.address)
        assert "Open the link" in await other.text()
        await other.open(server.link)
        assert await other.text("h1") == "Runs"
        assert len(server.lines) == 2


ATTACK = """<!DOCTYPE html><title>attack</title>
<iframe src="{target}/"></iframe><script src="{target}/static/icon.svg"></script><img src="{target}/favicon.ico">
<form method="post" action="{target}/"><button>send</button></form>
<script>
const tried = (options) => fetch('{target}/', {{credentials: 'include', ...options}})
  .then(() => 'answered', () => 'refused');
window.tries = Promise.all([tried({{}}), tried({{mode: 'no-cors'}}), tried({{method: 'POST', body: '{{}}'}}),
  new Promise(done => {{ const one = new Image();
    one.onload = () => done('answered'); one.onerror = () => done('refused');
    one.src = '{target}/favicon.ico?again'; }})]);
</script>"""


@pytest.mark.browser
async def test_another_page_of_this_machine_can_neither_read_nor_frame_nor_send(
    tmp_path: Path, browser: Browser
) -> None:
    """Another port is another origin, yet the same site: the browser sends the cookie along."""

    async def attack(request: web.Request) -> web.Response:
        return web.Response(text=ATTACK.format(target=server.address), content_type="text/html")

    application = web.Application()
    application.router.add_get("/", attack)
    with served(Ports(tmp_path)) as server:
        async with TestServer(application) as attacker:
            page = await browser.page()
            await page.open(server.link)
            await page.open(str(attacker.make_url("/")))
            assert await page.evaluate("window.tries") == ["refused"] * 4
            frames = (await page.call("Page.getFrameTree"))["frameTree"]["childFrames"]
            assert [frame["frame"].get("unreachableUrl") for frame in frames] == [f"{server.address}/"]
            await page.click("button")
            await page.until_text("nothing was changed")
            await page.open(f"{server.address}/")
            assert await page.text("h1") == "Runs"


@pytest.mark.browser
async def test_a_page_of_the_server_may_send_by_script_and_by_form(tmp_path: Path, browser: Browser) -> None:
    with served(Ports(tmp_path)) as server:
        page = await browser.page()
        await page.open(server.link)
        sent = "fetch('/', {method: 'POST', body: '{}'}).then(answer => answer.status)"
        assert await page.evaluate(sent) == 405  # let in, and the page takes none
        await page.evaluate(
            "(() => { const form = document.createElement('form'); form.method = 'post'; form.action = '/'; "
            "document.body.append(form); form.submit(); })()"
        )
        await page.until_text("This page does not take that.")
