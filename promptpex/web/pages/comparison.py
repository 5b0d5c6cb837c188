"""Two runs side by side, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.report.runs.listing import ListedRun
from promptpex.web.site import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

COMPARE = "/compare"


def routes(site: Site) -> list[Route]:
    """``/compare?before=KEY&after=KEY``."""
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    def compare(request: Request) -> Response:
        keys = [request.query_params.get(name, "") for name in ("before", "after")]
        before, after = map(site.runs.one, keys)
        if before is None or after is None or before.key == after.key:
            return site.problem(request, 422, "Choose two different runs of the list, one before and one after.")
        folders = (before.folder, after.folder)
        stamps = tuple(map(site.stamp, folders))
        return HTMLResponse(site.made.get((COMPARE, *folders), stamps, lambda: _page(site, before, after)))

    return [Route(COMPARE, compare)]


def _page(site: Site, before: ListedRun, after: ListedRun) -> str:
    from promptpex.report import runs
    from promptpex.report.comparison_sections import changed_section, compared_sections
    from promptpex.report.run_comparison import compare_runs

    old, new = (runs.read_columns(run.folder) for run in (before, after))
    chosen = site.ports.comparing
    people = site.grades(before.folder, old), site.grades(after.folder, new)
    comparison = compare_runs(old, new, confidence=chosen.confidence, weights=chosen.weights, people=people)
    return site.rendered(
        "comparison.html.jinja",
        COMPARE,
        before=before,
        after=after,
        answer=comparison.answer,
        notes=comparison.notes,
        sections=[*compared_sections(comparison), changed_section(comparison)],
    )
