"""Batches on the local page: listed, their index live, and what ``latest`` leads to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from promptpex.core.records import BatchManifest, BatchPart
from promptpex.report.page.script import SORTING, script_policy
from promptpex.report.runs.batch_folder import write_batch
from promptpex.web.interfaces import Ports
from tests.web.serving import page_of, served, words
from tests.web.stored_runs import named_run, store

PROBLEM = "the author does not answer <b>"
DATA = {"promptpex", "colours", "letters", "numbers", "first", "other", "earlier", "tuesday", PROBLEM}
DATA |= {f"{name}.md" for name in ("colours", "letters", "numbers")}
"""Names, and a sentence that is kept in the batch."""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A batch of two prompts with runs and one without, and an earlier run of one of them."""
    place = tmp_path / "results"
    store(named_run("earlier", "2026-01-02T03:04:05Z"), place)
    store(named_run("first", "2026-02-02T03:04:05Z"), place)
    other = named_run("other", "2026-02-02T03:04:05Z")
    store(other.replace(manifest=other.manifest.replace(prompt="letters")), place)
    for at, manifest in enumerate(sorted(place.glob("*/*/manifest.json")), 1):
        os.utime(manifest, ns=(at, at))
    parts = (
        BatchPart(file="colours.md", prompt="colours", run="colours/first"),
        BatchPart(file="letters.md", prompt="letters", run="letters/other"),
        BatchPart(file="numbers.md", prompt="numbers", problem=PROBLEM),
    )
    write_batch(place, BatchManifest(batch="0123456789", name="tuesday", created="2026-02-02T03:05:00Z", parts=parts))
    return place


async def test_batches_are_listed_and_their_index_leads_to_the_live_reports(results: Path) -> None:
    with served(Ports(results)) as server:
        runs, of_letters = await page_of(server, "/"), await page_of(server, "/?prompt=letters")
        index = await page_of(server, "/batches/0123456789")
        await page_of(server, "/runs/colours/first")
        async with server.session() as session, session.get("/batches/0123456789") as answer:
            policy = answer.headers["content-security-policy"]
        for wrong in ("nosuch", "0123456789/batch.json", "%00"):
            await page_of(server, f"/batches/{wrong}", 404)
    assert policy == f"{script_policy(SORTING)}; frame-ancestors 'none'"
    assert '<a href="/batches/0123456789">3 prompts</a>' in runs
    assert "Batches 3 prompts : colours , letters , numbers tuesday 0123456789 2026-02-02 03:05" in words(runs)
    assert "0123456789" in of_letters
    assert 'href="/runs/colours/first"' in index
    assert 'href="/runs/letters/other#' in index
    assert "report.html" not in index
    assert 'href="/"' in index
    assert "the author does not answer &lt;b&gt;" in index


async def test_latest_leads_to_the_batch_that_was_run_last_until_something_else_is(results: Path) -> None:
    with served(Ports(results)) as server:
        latest = await page_of(server, "/runs/latest")
        assert latest == await page_of(server, "/batches/0123456789")
        before = words(await page_of(server, "/runs/latest~1", 422))
        assert "latest~1 is the batch 0123456789 of 2 prompts (colours, letters); name one of them" in before
        os.utime(results / "colours" / "earlier" / "manifest.json")
        assert "Run earlier" in words(await page_of(server, "/runs/latest"))


async def test_a_damaged_batch_is_not_listed_and_says_so_where_it_is_asked_for(results: Path) -> None:
    file = results / "batches" / "0123456789" / "batch.json"
    file.write_text(json.dumps({"batch": 3}), encoding="utf-8")
    with served(Ports(results)) as server:
        assert "0123456789" not in await page_of(server, "/")
        assert "is damaged" in words(await page_of(server, "/batches/0123456789", 422))
        assert "is damaged" in words(await page_of(server, "/runs/latest", 422))
