"""Hostile text stays text on every page that shows what models and people wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptpex.core.records import BatchManifest, BatchPart, ReportCard
from promptpex.core.records.criteria_board import CriteriaBoard
from promptpex.report.runs.batch_folder import write_batch
from promptpex.web.interfaces import Ports
from tests.tables.by_hand import output, run, verdict
from tests.web.browser import Browser
from tests.web.hostile import HOSTILE, assert_nothing_runs
from tests.web.hostile_records import filled
from tests.web.serving import served
from tests.web.stored_runs import hostile_run, named_run, store, with_comparisons

JOINED = " ".join(text for text in HOSTILE if len(text) < 500)
"""The corpus as one text, but for what is only long."""


@pytest.mark.browser
async def test_no_page_of_runs_executes_what_it_shows(tmp_path: Path, browser: Browser) -> None:
    store(hostile_run(HOSTILE, "first", broken=False), tmp_path, folder="evil/first")
    store(hostile_run(HOSTILE, "second", broken=True), tmp_path, folder="evil/second")
    for name in ("<img src=x onerror=alert(1)>", "'\" onclick=alert(1) {{7*7}} %2e%2e"):
        store(named_run(HOSTILE[0], HOSTILE[1]), tmp_path, folder=f"{name}/{name}"[:120], report=False)
    damaged = tmp_path / "evil" / "<script>alert(1)<script>"
    damaged.mkdir()
    (damaged / "manifest.json").write_text('{"run": "<script>alert(1)</script>"}')
    with served(with_comparisons(tmp_path)) as page_server:
        page = await browser.page()
        await page.open(page_server.link)
        for path, expected in (
            ("/", "damaged"),
            ("/runs/evil/first", "how well do the models follow it?"),
            ("/runs/evil/second", "how well do the models follow it?"),
            ("/compare?before=evil%2Ffirst&after=evil%2Fsecond", "what changed?"),
        ):
            await assert_nothing_runs(page, f"{page_server.address}{path}", expected)


@pytest.mark.browser
async def test_no_page_of_a_batch_executes_what_it_shows(tmp_path: Path, browser: Browser) -> None:
    parts = [BatchPart(file=f"{at}{text}", prompt=text, problem=text) for at, text in enumerate(HOSTILE)]
    for at, text in enumerate(text for text in HOSTILE if "script" in text):
        made = run([output(model=text)], [verdict("fail", model=text, reason=text)], models=(text,), name=text)
        store(named_run(f"r{at}", text, made), tmp_path, folder=f"evil/r{at}", report=False)
        parts.append(BatchPart(file=f"file {at}", prompt=text, run=f"evil/r{at}"))
    write_batch(tmp_path, BatchManifest(batch="0123456789", name=JOINED, created=JOINED, parts=tuple(parts)))
    with served(Ports(tmp_path)) as page_server:
        page = await browser.page()
        await page.open(page_server.link)
        for path, expected in (("/", f"{len(parts)} prompts"), ("/batches/0123456789", "over all prompts")):
            await assert_nothing_runs(page, f"{page_server.address}{path}", expected)
            assert "<script>alert(1)</script>" in await page.text("main")


class Stub:
    """A port that gives one record, whatever it is asked."""

    def __init__(self, record: Any) -> None:
        self._record = record

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self._record


@pytest.mark.browser
async def test_the_page_of_criteria_executes_nothing(tmp_path: Path, browser: Browser) -> None:
    board = filled(CriteriaBoard, JOINED).replace(is_working=False)
    await _shown(Ports(tmp_path, criteria=Stub(board)), browser, "/criteria", "Criteria")


@pytest.mark.browser
async def test_the_report_card_executes_nothing(tmp_path: Path, browser: Browser) -> None:
    fixed = {"edges": (0.0, 1.0, 2.0), "cells": "pf"}
    card = filled(ReportCard, JOINED, fixed)
    await _shown(Ports(tmp_path, card=Stub(card)), browser, "/card", "How far do they agree with people?")


async def _shown(ports: Ports, browser: Browser, path: str, expected: str) -> None:
    with served(ports) as page_server:
        page = await browser.page()
        await page.open(page_server.link)
        await assert_nothing_runs(page, f"{page_server.address}{path}", expected)
        assert "<script>alert(1)</script>" in await page.text("main")
