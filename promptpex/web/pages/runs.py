"""All runs of the results folder, and the report of each."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from promptpex.report.page.run_before import MOST_EARLIER
from promptpex.report.page.script import script_policy
from promptpex.report.runs.batch_folder import latest_batch
from promptpex.report.runs.listing import REPORT, ListedRun, RunList, stamp_of
from promptpex.report.runs.references import LATEST, made_earlier, refer
from promptpex.report.runs.run_folder import MANIFEST
from promptpex.web.pages.batches import BATCHES, listed_batches
from promptpex.web.shared_by_pages import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

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
    """The run before as the server shows it."""
    key = site.runs.key(before.folder)
    if key not in site.runs.folders():
        return replace(before, address="")
    pair = urlencode({"before": key, "after": run.key})
    return replace(before, address=f"{RUNS}/{key}", comparison=f"/compare?{pair}" if site.ports.comparing else "")


def _stamp_before(run: ListedRun) -> Hashable:
    """What changes whenever the run before a run does, or is another one."""
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
