"""All runs and batches of the results folder, the report of each, and two runs side by side."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from promptpex.core.errors import RunError
from promptpex.core.records import BatchManifest
from promptpex.report.page.run_before import MOST_EARLIER
from promptpex.report.page.script import SORTING, script_policy
from promptpex.report.runs.batch_folder import BATCH, by_date, latest_batch, read_batch, run_folder
from promptpex.report.runs.listing import REPORT, ListedRun, RunList, stamp_of
from promptpex.report.runs.references import LATEST, made_earlier, refer
from promptpex.report.runs.run_folder import MANIFEST
from promptpex.web.interfaces import ComparisonPort
from promptpex.web.shared_by_pages import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from promptpex.report.batches.batch_report import ReportedPart
    from promptpex.report.comparison.page import RunLink
    from promptpex.report.page.run_before import RunBefore


RUNS = "/runs"
MOST_SHOWN = 300
"""Runs on the page; a prompt's own list has more of its runs."""


def routes(site: Site) -> list[Route]:
    """``/``: the runs; ``/runs/KEY``, and with a reference such as ``/runs/latest~1``: the report of one, made by the
    template of ``report.html`` from its files as they are now; ``/runs/latest`` right after a batch leads to its index.
    """
    from starlette.exceptions import HTTPException
    from starlette.responses import RedirectResponse
    from starlette.routing import Route

    def runs(request: Request) -> Response:
        values = list_values(site.runs, request.query_params.get("prompt"))
        return site.page(request, "runs.html.jinja", comparing=site.ports.comparing is not None, **values)

    def report(request: Request) -> Response:
        run = site.runs.one(request.path_params["key"])
        if run is None:
            batch = _batch_meant(site, request.path_params["key"])
            if batch is None:
                raise HTTPException(404)
            return RedirectResponse(f"{BATCHES}/{quote(batch.name)}", status_code=303)
        stamp = site.stamp(run.folder), _stamp_before(run)
        page = site.made.get(("report", run.folder), stamp, lambda: _report(site, run))
        return site.report(page, script_policy())

    return [Route("/", runs), Route(f"{RUNS}/{{key:path}}", report)]


def list_values(runs: RunList, prompt: str | None) -> dict[str, Any]:
    """What the list of runs shows: all of them, or those of one prompt where there is such a one."""
    all_runs = runs.all()
    prompts = sorted({run.prompt for run in all_runs})
    wanted_prompt = prompt if prompt in prompts else None
    listed_runs = [run for run in all_runs if wanted_prompt in (None, run.prompt)]
    runs_shown = {
        "runs": listed_runs[:MOST_SHOWN],
        "more": len(listed_runs) - MOST_SHOWN,
        "pair": _suggested(listed_runs),
    }
    batches = listed_batches(runs.results, wanted_prompt)
    values = {"prompts": prompts, "wanted": wanted_prompt, "results": runs.results, "latest": runs.latest()}
    return {**values, "batches": batches, **runs_shown}


def _batch_meant(site: Site, key: str) -> Path | None:
    """The folder of the batch that ``latest`` means; None where it means a run, or something else is meant.

    Raises:
        RunError: the run before a batch of several is meant, which is that of one of its prompts; the batch is damaged.
    """
    word, back, _ = key.partition("~")
    batch = latest_batch(site.runs.results) if word == LATEST else None
    if batch is not None and back:
        refer(Path(key), site.runs.results)
    return batch


def _report(site: Site, run: ListedRun) -> str:
    from promptpex.report import runs, summarise
    from promptpex.report.html_page import html
    from promptpex.report.page.run_before import run_before

    columns = runs.read_for_report(run.folder)
    summary = summarise(columns, folder=run.folder, people=site.grades(run.folder, columns))
    before = run_before(summary)
    if before is not None:
        before = _on_site(site, before, run)
    return html(summary, site.navigation(f"{RUNS}/{run.key}"), sent=site.sent(columns), before=before)


def _on_site(site: Site, before: RunBefore, run: ListedRun) -> RunBefore:
    key = site.runs.key(before.folder)
    if key not in site.runs.folders():
        return replace(before, address="")
    pair = urlencode({"before": key, "after": run.key})
    return replace(before, address=f"{RUNS}/{key}", comparison=f"/compare?{pair}" if site.ports.comparing else "")


def _stamp_before(run: ListedRun) -> Hashable:
    earlier = made_earlier(run.folder)[:MOST_EARLIER]
    return tuple((folder, stamp_of(folder, (MANIFEST, REPORT))) for folder in earlier)


def _suggested(runs: list[ListedRun]) -> tuple[str, str]:
    """The runs that one probably compares, newest first: the last one, and the one of the same prompt before it."""
    of_prompt: dict[str, list[str]] = {}
    whole = [run for run in runs if not run.problem]
    for run in whole:
        of_prompt.setdefault(run.prompt, []).append(run.key)
    pairs = (of_prompt[run.prompt][1::-1] for run in whole if len(of_prompt[run.prompt]) > 1)
    before, after = next(pairs, ("", ""))
    return before, after


BATCHES = "/batches"
MOST_LISTED = 20
"""Batches in the list of runs, the latest ones."""


@dataclass(frozen=True, slots=True)
class ListedBatch:
    """A batch in one line: the name of its folder, which addresses have, and its manifest."""

    key: str
    manifest: BatchManifest


def batch_routes(site: Site) -> list[Route]:
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


COMPARE = "/compare"


def comparison_routes(site: Site) -> list[Route]:
    """``/compare?before=KEY&after=KEY``."""
    port = site.ports.comparing
    if port is None:
        return []
    from starlette.routing import Route

    def compare(request: Request) -> Response:
        keys = [request.query_params.get(name, "") for name in ("before", "after")]
        before, after = map(site.runs.one, keys)
        if before is None or after is None or before.key == after.key:
            return site.problem(request, 422, "Choose two different runs of the list, one before and one after.")
        folders = (before.folder, after.folder)
        page = site.made.get(
            (COMPARE, *folders), port.stamp(*folders), lambda: _comparison_page(site, port, before, after)
        )
        return site.report(page, script_policy())

    return [Route(COMPARE, compare)]


def _comparison_page(site: Site, port: ComparisonPort, before: ListedRun, after: ListedRun) -> str:
    from promptpex.report.comparison.page import comparison_html

    comparison = port.compare(before.folder, after.folder)
    links = _link(before), _link(after)
    other_way = f"{COMPARE}?{urlencode({'before': after.key, 'after': before.key})}"
    return comparison_html(comparison, links, site.navigation(COMPARE), other_way=other_way)


def _link(run: ListedRun) -> RunLink:
    from promptpex.report.comparison.page import RunLink

    return RunLink(run.name or run.folder.name, f"{RUNS}/{run.key}")
