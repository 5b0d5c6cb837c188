"""The batches of the results folder: their line in the list of runs, and the index of each."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from promptpex.core.errors import RunError
from promptpex.core.records import BatchManifest
from promptpex.report.page.script import SORTING, script_policy
from promptpex.report.runs.batch_folder import BATCH, by_date, read_batch, run_folder
from promptpex.report.runs.listing import stamp_of
from promptpex.web.shared_by_pages import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from promptpex.report.batches.batch_report import ReportedPart

BATCHES = "/batches"
MOST_LISTED = 20
"""Batches in the list of runs, the latest ones."""


@dataclass(frozen=True, slots=True)
class ListedBatch:
    """A batch in one line: the name of its folder, which addresses have, and its manifest."""

    key: str
    manifest: BatchManifest


def routes(site: Site) -> list[Route]:
    """``/batches/BATCH``: the page that ``index.html`` is in the batch's folder, made from its runs as they are now."""
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    def index(request: Request) -> Response:
        key = request.path_params["key"]
        folder = next((one for one in by_date(site.runs.results) if one.name == key), None)
        if folder is None:
            raise HTTPException(404)
        batch = read_batch(folder)
        runs = [run_folder(folder, part) for part in batch.parts]
        stamp = stamp_of(folder, (BATCH,)), tuple(None if run is None else site.stamp(run) for run in runs)
        page = site.made.get(("batch", folder), stamp, lambda: _index(site, folder, batch, runs))
        return site.report(page, script_policy(SORTING))

    return [Route(f"{BATCHES}/{{key}}", index)]


def listed_batches(results: Path, prompt: str | None) -> list[ListedBatch]:
    """The latest batches, the last one first: all of them, or those that a prompt is part of; without damaged ones."""
    batches: list[ListedBatch] = []
    for folder in by_date(results):
        with suppress(RunError):
            manifest = read_batch(folder)
            if prompt is None or any(part.prompt == prompt for part in manifest.parts):
                batches.append(ListedBatch(folder.name, manifest))
        if len(batches) == MOST_LISTED:
            break
    return batches


def _index(site: Site, folder: Path, batch: BatchManifest, run_folders: list[Path | None]) -> str:
    from promptpex.report import runs, summarise
    from promptpex.report.batches.batch_files import index_html
    from promptpex.report.batches.batch_report import BatchReport, ReportedPart

    parts = []
    for part, run in zip(batch.parts, run_folders, strict=True):
        columns = None if run is None else runs.read_for_report(run)
        people = None if run is None or columns is None else site.grades(run, columns)
        summary = None if columns is None else summarise(columns, folder=run, people=people)
        parts.append(ReportedPart(part, summary))

    def page_of(one: ReportedPart) -> str:
        run = run_folder(folder, one.part)
        return "" if run is None else f"/runs/{site.runs.key(run)}"

    report = BatchReport(batch, folder, tuple(parts))
    return index_html(report, site.navigation(f"{BATCHES}/{folder.name}"), page_of=page_of)
