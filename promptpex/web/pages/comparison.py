"""Two runs side by side, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.report.runs.listing import ListedRun
from promptpex.web.ports import ComparisonPort
from promptpex.web.site import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

COMPARE = "/compare"


def routes(site: Site) -> list[Route]:
    """``/compare?before=KEY&after=KEY``."""
    port = site.ports.comparing
    if port is None:
        return []
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    def compare(request: Request) -> Response:
        keys = [request.query_params.get(name, "") for name in ("before", "after")]
        before, after = map(site.runs.one, keys)
        if before is None or after is None or before.key == after.key:
            return site.problem(request, 422, "Choose two different runs of the list, one before and one after.")
        folders = (before.folder, after.folder)
        page = site.made.get((COMPARE, *folders), port.stamp(*folders), lambda: _page(site, port, before, after))
        return HTMLResponse(page)

    return [Route(COMPARE, compare)]


def _page(site: Site, port: ComparisonPort, before: ListedRun, after: ListedRun) -> str:
    from promptpex.report.comparison_sections import changed_section, compared_sections

    comparison = port.compare(before.folder, after.folder)
    return site.rendered(
        "comparison.html.jinja",
        COMPARE,
        before=before,
        after=after,
        answer=comparison.answer,
        notes=comparison.notes,
        sections=[*compared_sections(comparison), changed_section(comparison)],
    )
