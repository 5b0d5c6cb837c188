"""Two runs side by side: the page that ``promptpex compare`` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from promptpex.report.page.script import script_policy
from promptpex.report.runs.listing import ListedRun
from promptpex.web.interfaces import ComparisonPort
from promptpex.web.pages.runs import RUNS
from promptpex.web.shared_by_pages import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from promptpex.report.comparison.page import RunLink

COMPARE = "/compare"


def routes(site: Site) -> list[Route]:
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
        page = site.made.get((COMPARE, *folders), port.stamp(*folders), lambda: _page(site, port, before, after))
        return site.report(page, script_policy())

    return [Route(COMPARE, compare)]


def _page(site: Site, port: ComparisonPort, before: ListedRun, after: ListedRun) -> str:
    from promptpex.report.comparison.page import comparison_html

    comparison = port.compare(before.folder, after.folder)
    links = _link(before), _link(after)
    other_way = f"{COMPARE}?{urlencode({'before': after.key, 'after': before.key})}"
    return comparison_html(comparison, links, site.navigation(COMPARE), other_way=other_way)


def _link(run: ListedRun) -> RunLink:
    from promptpex.report.comparison.page import RunLink

    return RunLink(run.name or run.folder.name, f"{RUNS}/{run.key}")
