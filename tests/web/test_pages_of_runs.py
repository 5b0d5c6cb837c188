"""The list of runs, their live reports, and comparisons."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from promptpex.report import runs, summarise
from promptpex.report.html_page import html
from promptpex.report.runs.listing import RunList
from promptpex.web.interfaces import Ports
from tests.web.browser import Browser
from tests.web.serving import page_of, served, words
from tests.web.stored_runs import named_run, store, with_comparisons
from tests.workflow.alignment.graded_run import graded, kept, made


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one prompt, one of another without a report, and a damaged one."""
    place = tmp_path_factory.mktemp("stored")
    store(named_run("first", "2026-01-02T03:04:05Z"), place)
    store(named_run("second", "2026-02-02T03:04:05Z"), place)
    other = named_run("other", "2026-01-20T03:04:05Z")
    manifest = other.manifest.replace(prompt="letters", partial="budget")
    store(other.replace(manifest=manifest), place, report=False)
    damaged = place / "colours" / "damaged"
    damaged.mkdir()
    (damaged / "manifest.json").write_text('{"run": 3', encoding="utf-8")
    for at, folder in enumerate((damaged, place / "colours" / "first", place / "letters" / "other"), 1):
        os.utime(folder / "manifest.json", ns=(at, at))
    return place


@pytest.fixture
def results(stored: Path, tmp_path: Path) -> Path:
    """The same runs in a folder of one's own."""
    return Path(shutil.copytree(stored, tmp_path / "results"))


async def test_the_list_says_what_came_of_each_run(results: Path) -> None:
    with served(Ports(results)) as server:
        text = words(await page_of(server, "/"))
    assert "colours second (latest) 2026-02-02 03:04 4 cases 7 outputs a 33% (0.8–91%)" in text
    assert "letters other not complete ( budget ) 2026-01-20 03:04 – a, b (no report written yet; open it" in text
    assert "damaged/manifest.json: is damaged" in text
    assert text.index("second") < text.index("other") < text.index("first") < text.index("is damaged")


async def test_runs_have_their_names_and_are_found_by_references(results: Path) -> None:
    manifest = results / "colours" / "first" / "manifest.json"
    data = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**data, "name": "before-edit"}), encoding="utf-8")
    os.utime(manifest, ns=(2, 2))
    with served(with_comparisons(results)) as server:
        text = words(await page_of(server, "/"))
        reports = {key: words(await page_of(server, f"/runs/{key}")) for key in ("latest", "latest~1", "before-edit")}
        compared = words(await page_of(server, "/compare?before=before-edit&after=latest"))
        for wrong in ("latest~9", "nosuch", "~1", "%00"):
            await page_of(server, f"/runs/{wrong}", 404)
    assert "colours second (latest)" in text
    assert "colours before-edit first" in text
    assert text.count("(latest)") == 1
    assert "Run second" in reports["latest"]
    assert "Run first" in reports["latest~1"]
    assert reports["before-edit"] == reports["latest~1"]
    assert "a shows no clear change" in compared


async def test_a_report_is_that_of_the_file_with_the_way_back(results: Path) -> None:
    with served(Ports(results)) as server:
        page = await page_of(server, "/runs/colours/first")
        folder = results / "colours" / "first"
        file = html(summarise(runs.read_for_report(folder), folder=folder))
        start = page.index('<nav class="tabs"')
        end = page.index("</nav>") + len("</nav>")
        body = file.index("<body>")
        assert page[:start].split("<body>")[0].startswith(file[:200])
        assert page[end:].strip() == file[body + len("<body>") :].strip()
        assert 'aria-current="page">Runs' in page[start:end]


async def test_a_report_follows_its_files(results: Path) -> None:
    folder = results / "colours" / "first"
    with served(Ports(results)) as server:
        before = words(await page_of(server, "/runs/colours/first"))
        store(named_run("first", "2026-03-03T03:03:03Z"), results)
        assert "2026-03-03" in words(await page_of(server, "/runs/colours/first"))
        assert "2026-01-02" in before
        (folder / "verdicts.jsonl").write_text("{\n", encoding="utf-8")
        damaged = words(await page_of(server, "/runs/colours/first", 422))
    assert "This cannot be shown" in damaged
    assert "verdicts.jsonl" in damaged


async def test_two_runs_are_compared(results: Path) -> None:
    with served(with_comparisons(results)) as server:
        text = words(await page_of(server, "/compare?before=colours/first&after=colours/second"))
        for wrong in ("", "?before=colours/first", "?before=colours/first&after=colours/first", "?before=../x&after=y"):
            refused = words(await page_of(server, f"/compare{wrong}", 422))
            assert "Choose two different runs" in refused
        damaged = words(await page_of(server, "/compare?before=colours/first&after=colours/damaged", 422))
    assert "a shows no clear change: 33% before, 33% after" in text
    assert "33% 1 of 3 33% 1 of 3" in text
    assert "The same prompt, spec, cases, models and settings." in text
    assert "The other way round" in text
    assert "damaged/manifest.json" in damaged


@pytest.mark.parametrize("table", ["", "model\na,b", "model,outputs,cases\na,1,x", "\xff", "a\nb", "x" * 2_000_000])
async def test_a_damaged_table_is_named_in_its_line(results: Path, table: str) -> None:
    (results / "colours" / "first" / "report.csv").write_bytes(table.encode("latin-1"))
    with served(Ports(results)) as server:
        text = words(await page_of(server, "/"))
    assert "first/report.csv" in text
    assert "colours second" in text


@pytest.mark.browser
async def test_runs_are_chosen_and_compared_by_keyboard(results: Path, browser: Browser) -> None:
    with served(with_comparisons(results)) as server:
        page = await browser.page()
        await page.open(server.link)
        assert await page.evaluate("document.querySelector('input[name=after]:checked').value") == "colours/second"
        await page.press("Tab")
        assert await page.evaluate("document.activeElement.innerText") == "To the content"
        await page.evaluate("document.querySelector('button').focus()")
        await page.press("Enter")
        await page.until_text("what changed?", "h1")
        await page.loaded()
        await page.click("header a[href='/runs/colours/first']")
        await page.until_text("how well do the models follow it?")
        await page.click("nav.tabs a")
        await page.until_text("Compare the two that are marked")
        assert (page.failures, page.console) == ([], [])


async def test_reports_and_comparisons_are_corrected_by_grades_as_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = made(tmp_path, cases=60, models=("a",))
    after = made(tmp_path, cases=60, models=("a",), seen=1.0)
    folders = [
        kept(run.replace(manifest=run.manifest.replace(run=name)), tmp_path)
        for run, name in ((before, "1111111111"), (after, "2222222222"))
    ]
    keys = [RunList(tmp_path / "results").key(folder) for folder in folders]
    with served(with_comparisons(tmp_path / "results")) as server:
        assert "Corrected by people" not in words(await page_of(server, f"/runs/{keys[0]}"))
        graded(before, tmp_path, 1.0)
        assert "Corrected by people" in words(await page_of(server, f"/runs/{keys[0]}"))
        text = words(await page_of(server, f"/compare?before={keys[0]}&after={keys[1]}"))
    assert "Outputs that break a rule, corrected by people" in text
    assert "60, 60" in text
