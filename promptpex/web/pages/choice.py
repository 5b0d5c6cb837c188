"""The report of a choice of assertions, live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.web.shared_by_pages import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

CHOICE = "/choice"


def routes(site: Site) -> list[Route]:
    """``/choice``: the page that ``report.html`` is in a synthesis folder, made from the folder as it is now."""
    from starlette.routing import Route

    choice = site.ports.choice
    if choice is None:
        return []

    def report(request: Request) -> Response:
        from promptpex.report.choices.page import html

        return site.report(html(choice(), site.navigation(CHOICE)))

    return [Route(CHOICE, report)]
