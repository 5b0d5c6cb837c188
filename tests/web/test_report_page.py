"""The report in a browser: filters, addresses, keys, outputs side by side; with its script and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.core.records import Run
from promptpex.report import summarise
from promptpex.report.html_page import html
from promptpex.web.interfaces import Ports
from tests.tables.by_hand import colours, output, run, verdict
from tests.web.browser import Browser, Page
from tests.web.hostile import HOSTILE
from tests.web.serving import served
from tests.web.stored_runs import hostile_run, named_run, store

pytestmark = pytest.mark.browser
SHOWN = "[...document.querySelectorAll('.output')].filter((one) => one.checkVisibility()).map((one) => \
[one.closest('.case').id, one.querySelector('bdi').textContent, one.className.split(' ')[2]].join(' '))"


async def opened(browser: Browser, made: Run, folder: Path, fragment: str = "", *, window: bool = False) -> Page:
    """The page of a run, from a file."""
    (folder / "report.html").write_text(html(summarise(made)), encoding="utf-8")
    page = await browser.page(window=window)
    await page.open(f"{(folder / 'report.html').as_uri()}{fragment}")
    return page


async def shown(page: Page) -> list[str]:
    """The outputs that can be seen: case, model, verdict."""
    outputs = await page.evaluate(SHOWN)
    assert isinstance(outputs, list)
    return outputs


async def choose(page: Page, name: str, value: str) -> None:
    """Chooses from one of the filters' lists, as a person does."""
    await page.evaluate(
        f"(() => {{ const one = document.getElementById('filter-{name}'); one.value = {json.dumps(value)};"
        " one.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


async def test_a_cell_of_the_heat_map_leads_to_its_outputs(tmp_path: Path, browser: Browser) -> None:
    page = await opened(browser, colours(), tmp_path)
    await page.click(".heat a[href='#rule=r2&model=b&verdict=fail']")
    await page.until_text("3 of 7 outputs in 3 of 4 cases", "#count")
    assert await shown(page) == [f"case-c{n} b v-fail" for n in (1, 2, 3)]
    assert await page.evaluate("document.querySelector('#filter-rule').value") == "r2"
    assert await page.evaluate("document.querySelector('#outputs').getBoundingClientRect().top") < 900
    await page.evaluate("history.back()")
    await page.until_text("7 outputs in 4 cases", "#count")
    assert (page.failures, page.console) == ([], [])


async def test_filters_are_in_the_address_and_come_back_from_it(tmp_path: Path, browser: Browser) -> None:
    page = await opened(browser, colours(), tmp_path)
    await page.click("#v-fail")
    await choose(page, "model", "a")
    await page.until("location.hash === '#model=a&verdict=fail'")
    assert await shown(page) == ["case-c1 a v-fail"]
    await choose(page, "rule", "r2")
    assert await shown(page) == []
    assert "No output matches" in await page.text("main")
    address = await page.evaluate("new Promise((done) => setTimeout(() => done(location.href), 300))")
    other = await page.beside()
    await other.open(address.replace("rule=r2", "rule=r1"))
    assert await shown(other) == ["case-c1 a v-fail"]
    await other.click("#filter-clear")
    await other.until("location.hash === ''")
    assert len(await shown(other)) == 7
    await other.open(f"{address.partition('#')[0]}#rule=nosuch&model=b&verdict=%zz&text=%zz&toString=1&side")
    assert await other.evaluate("document.querySelector('#filter-model').value") == "b"
    assert (other.failures, other.console) == ([], [])


async def test_text_is_searched_in_outputs_reasons_and_inputs(tmp_path: Path, browser: Browser) -> None:
    made = run(
        [output("c1", text="Ein ROTES Haus"), output("c2", text="blue"), output("c3", text="C\u0327a va")],
        [verdict("fail", case="c2", reason="two words")],
    )
    page = await opened(browser, made, tmp_path)
    for text, cases in (
        ("rotes", "1"),
        ("haus  EIN", "1"),
        ("two words", "2"),
        ("t3 here", "3"),
        ("\u00e7A", "3"),
        ("x y z", ""),
    ):
        await page.click("#filter-text")
        await page.evaluate("document.querySelector('#filter-text').select()")
        await page.type(text)
        assert [one.split()[0] for one in await shown(page)] == [f"case-c{n}" for n in cases], text
    assert await page.evaluate("document.querySelector('#filter-clear').hidden") is False


async def test_a_link_to_a_case_opens_it_whatever_is_filtered(tmp_path: Path, browser: Browser) -> None:
    page = await opened(browser, colours(), tmp_path, "#verdict=unscored")
    assert await shown(page) == ["case-c4 b v-unscored"]
    await page.evaluate("document.querySelectorAll('.case').forEach((one) => { one.open = false; })")
    await page.evaluate("location.hash = '#case-c2'")
    await page.until("document.querySelector('#case-c2').open")
    assert [one for one in await shown(page) if "c2" in one] == ["case-c2 a v-pass", "case-c2 b v-fail"]
    assert await page.evaluate("document.activeElement.closest('.case').id") == "case-c2"
    await page.open(f"{(tmp_path / 'report.html').as_uri()}#verdict=fail&case=c3")
    assert await page.evaluate("document.activeElement.closest('.case').id") == "case-c3"


async def test_keys_lead_through_the_cases(tmp_path: Path, browser: Browser) -> None:
    page = await opened(browser, colours(), tmp_path)
    focused = "document.activeElement.closest('.case')?.id"
    for key, case in (("j", "c1"), ("j", "c2"), ("k", "c1"), ("k", "c1")):
        await page.press(key)
        assert await page.evaluate(focused) == f"case-{case}"
    await page.until("location.hash === '#case=c1'")
    await page.press("Enter")
    assert await page.evaluate("document.querySelector('#case-c1').open") is False
    await page.press("f")
    assert {one.split()[2] for one in await shown(page)} == {"v-fail"}
    await page.press("/")
    await page.type("words")
    await page.press("j")
    assert await page.evaluate("document.querySelector('#filter-text').value") == "wordsj"
    await page.press("Escape")
    await page.press("0")
    assert len(await shown(page)) == 7
    await page.press("s")
    assert await page.evaluate("document.querySelector('#side').checked") is True
    await page.press("?")
    assert "next case" in await page.text(".keys")
    assert page.failures == []


async def test_outputs_stand_side_by_side_with_their_differences_marked(tmp_path: Path, browser: Browser) -> None:
    texts = {"a": "The box is red.", "b": "The big box is blue.", "c": "The box is red.", "d": "x " * 15_000 + "end"}
    made = run([output("c1", model, text) for model, text in texts.items()], models=tuple(texts))
    page = await opened(browser, made, tmp_path, "#side=1", window=True)
    tops = "[...document.querySelectorAll('.output')].map((one) => Math.round(one.getBoundingClientRect().top))"
    await page.until("document.querySelectorAll('mark.differs').length > 2")
    assert len(set(await page.evaluate(tops))) == 1
    marks = "[...one.querySelectorAll('mark.differs')].map((mark) => mark.textContent)"
    marked = f"[...document.querySelectorAll('.output')].map((one) => {marks})"
    assert (await page.evaluate(marked))[:3] == [[], ["big", "blue"], []]
    await page.click("#side")
    assert len(set(await page.evaluate(tops))) == 4
    assert await page.evaluate("document.querySelectorAll('mark.differs').length") == 0
    assert (await page.texts(".output .text"))[:3] == list(texts.values())[:3]
    assert await page.evaluate("document.querySelectorAll('.output .text')[3].textContent.length") == 20_000


async def test_without_a_script_all_is_there_and_links_lead_on(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "report.html").write_text(html(summarise(colours())), encoding="utf-8")
    page = await browser.page()
    await page.call("Emulation.setScriptExecutionDisabled", value=True)
    await page.call("Page.navigate", url=(tmp_path / "report.html").as_uri())
    await page.until("document.readyState === 'complete' && location.href !== 'about:blank'")
    assert await page.evaluate("document.querySelector('#filter-model').checkVisibility()") is False
    assert len(await shown(page)) == 7
    await page.evaluate("document.querySelectorAll('.case').forEach((one) => { one.open = false; })")
    await page.click(".heat a[href='#rule=r2&model=b&verdict=fail']")
    await page.until("document.querySelector('#case-c1').open")
    await page.click("#v-fail")
    await page.click("#m1")
    assert await shown(page) == ["case-c1 b v-fail"]
    await page.click("#side")
    assert await page.evaluate("getComputedStyle(document.querySelector('.answers-of-case')).display") == "grid"


async def test_the_local_page_serves_it_with_its_script(tmp_path: Path, browser: Browser) -> None:
    store(named_run("first", "2026-01-02T03:04:05Z"), tmp_path)
    with served(Ports(tmp_path)) as server:
        page = await browser.page()
        await page.open(server.link)
        await page.open(f"{server.address}/runs/colours/first#model=b&verdict=fail")
        assert await shown(page) == [f"case-c{n} b v-fail" for n in (1, 2, 3)]
        await page.evaluate("document.body.append(Object.assign(document.createElement('img'), {src: '/favicon.ico'}))")
        await page.until("true")
        assert any("Content Security Policy" in line for line in page.console)
        assert page.failures == []


async def test_a_hostile_corpus_can_be_filtered_searched_and_compared(tmp_path: Path, browser: Browser) -> None:
    made = hostile_run(HOSTILE, "first", broken=True)
    twice = made.replace(
        manifest=made.manifest.replace(models=("m", HOSTILE[0])),
        outputs=(*made.outputs, *(one.replace(model=HOSTILE[0], text=f"{one.text} <b>") for one in made.outputs)),
    )
    page = await opened(browser, twice, tmp_path, "#side=1", window=True)
    for bypassed in (True, False):
        await page.call("Page.setBypassCSP", enabled=bypassed)
        await page.open(f"{(tmp_path / 'report.html').as_uri()}#side=1")
        await choose(page, "model", HOSTILE[0])
        await choose(page, "model", "")
        await choose(page, "text", "<script>alert(1)")
        assert len(await shown(page)) >= 8
        await choose(page, "text", "")
        for _ in range(3):
            await page.press("j")
        await page.until(
            "(() => { const every = document.querySelectorAll('.case');"
            " every[globalThis.next = ((globalThis.next ?? -1) + 1) % every.length].scrollIntoView();"
            " return document.querySelectorAll('mark.differs').length > 5; })()"
        )
        assert await page.evaluate("document.querySelectorAll('img, iframe, object, embed, base, link, b').length") == 0
        assert (page.dialogs, page.failures, page.console) == ([], [], [])


@pytest.mark.long
async def test_ten_thousand_outputs_can_be_filtered(tmp_path: Path, browser: Browser) -> None:
    models, cases = ("a", "b", "c", "d", "e"), [f"c{n}" for n in range(2_000)]
    made = run(
        [output(case, model, f"{case} of number-{model}") for model in models for case in cases],
        [
            verdict("fail" if int(case[1:]) % 500 == 7 else "pass", "r1", case, model)
            for model in models
            for case in cases
        ],
        models=models,
        cases=(),
    )
    page = await opened(browser, made, tmp_path)
    assert await page.text("#count") == "10000 outputs in 2000 cases"
    await page.click("#v-fail")
    assert await page.text("#count") == "20 of 10000 outputs in 4 of 2000 cases"
    assert len(await shown(page)) == 20
    await page.click("#v-all")
    await choose(page, "text", "c1234 number-c")
    assert await shown(page) == ["case-c1234 c v-pass"]
    assert page.failures == []
