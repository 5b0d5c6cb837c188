"""All runs of the results folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.report.runs.folder import runs_in
from promptpex.web.site import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


def routes(site: Site) -> list[Route]:
    """``/``: the runs."""
    from starlette.routing import Route

    def listed(request: Request) -> Response:
        return site.page(request, "runs.html.jinja", runs=[folder.name for folder in runs_in(site.ports.results)])

    return [Route("/", listed)]
