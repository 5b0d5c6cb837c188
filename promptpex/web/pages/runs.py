"""All runs of the results folder, and the report of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptpex.report.page.script import script_policy
from promptpex.report.runs.listing import ListedRun, RunList
from promptpex.web.site import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

RUNS = "/runs"
MOST_SHOWN = 300
"""Runs on the page; a prompt's own list has more of its runs."""


def routes(site: Site) -> list[Route]:
    """``/``: the runs; ``/runs/KEY``, and with a reference such as ``/runs/latest~1``: the report of one, made by the
    template of ``report.html`` from its files as they are now."""
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    def runs(request: Request) -> Response:
        values = list_values(site.runs, request.query_params.get("prompt"))
        return site.page(request, "runs.html.jinja", comparing=site.ports.comparing is not None, **values)

    def report(request: Request) -> Response:
        run = site.runs.one(request.path_params["key"])
        if run is None:
            raise HTTPException(404)
        page = site.made.get(("report", run.folder), site.stamp(run.folder), lambda: _report(site, run))
        return site.report(page, script_policy())

    return [Route("/", runs), Route(f"{RUNS}/{{key:path}}", report)]


def list_values(runs: RunList, prompt: str | None) -> dict[str, Any]:
    """What the list of runs shows: all of them, or those of one prompt where there is such a one."""
    every = runs.all()
    prompts = sorted({run.prompt for run in every})
    wanted = prompt if prompt in prompts else None
    listed = [run for run in every if wanted in (None, run.prompt)]
    shown = {"runs": listed[:MOST_SHOWN], "more": len(listed) - MOST_SHOWN, "pair": _suggested(listed)}
    return {"prompts": prompts, "wanted": wanted, "results": runs.results, "latest": runs.latest(), **shown}


def _report(site: Site, run: ListedRun) -> str:
    from promptpex.report import runs, summarise
    from promptpex.report.html import html

    columns = runs.read_columns(run.folder)
    summary = summarise(columns, folder=run.folder, people=site.grades(run.folder, columns))
    return html(summary, site.navigation(f"{RUNS}/{run.key}"), sent=site.sent(columns))


def _suggested(runs: list[ListedRun]) -> tuple[str, str]:
    """The runs that one probably compares, newest first: the last one, and the one of the same prompt before it."""
    of_prompt: dict[str, list[str]] = {}
    whole = [run for run in runs if not run.problem]
    for run in whole:
        of_prompt.setdefault(run.prompt, []).append(run.key)
    pairs = (of_prompt[run.prompt][1::-1] for run in whole if len(of_prompt[run.prompt]) > 1)
    before, after = next(pairs, ("", ""))
    return before, after
