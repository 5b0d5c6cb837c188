"""The application: all pages behind one guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from promptpex.core.errors import PromptpexError
from promptpex.core.translation import Key, tr
from promptpex.web.interfaces import Ports
from promptpex.web.pages import batches, card, comparison, criteria, grading, runs, sign_in, static_files
from promptpex.web.security import FAILED, App, BrowserSessions, Guard, Refusal, sentence_alone, wants_page
from promptpex.web.shared_by_pages import Site, Tab

if TYPE_CHECKING:
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

PAGES: tuple[tuple[Callable[[Site], Sequence[Route]], Tab | None], ...] = (
    (sign_in.routes, None),
    (static_files.routes, None),
    (runs.routes, Tab(Key("Runs"), "/", (runs.RUNS, batches.BATCHES, comparison.COMPARE))),
    (batches.routes, None),
    (comparison.routes, None),
    (grading.routes, Tab(Key("Grade"), "/grade")),
    (criteria.routes, Tab(Key("Criteria"), criteria.CRITERIA)),
    (card.routes, Tab(Key("Report card"), card.CARD)),
)
"""The routes of each group of pages, and its place in the navigation; a group that gives no route has none."""


def build_app(ports: Ports, sessions: BrowserSessions, port: int, failed: Callable[[Exception], None]) -> App:
    """The ASGI application of a server that listens on this port of 127.0.0.1.

    Args:
        ports: what it shows.
        sessions: whom it lets in.
        failed: told of what went wrong in a page.
    """
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import Response as Alone

    site = Site(ports)
    groups = [(make(site), tab) for make, tab in PAGES]
    site.tabs = tuple(tab for routes, tab in groups if routes and tab is not None)

    async def missing(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return site.problem(request, error.status_code, _sentence(error))

    async def closed(request: Request, error: Exception) -> Response:
        status, sentence = (error.status, error.sentence) if isinstance(error, Refusal) else (500, FAILED)
        text, kind = sentence_alone(sentence, wants_page(request.scope))
        return Alone(text, status_code=status, media_type=kind)

    async def refused(request: Request, error: Exception) -> Response:
        return site.problem(request, 422, str(error))

    all_routes = [route for routes, _ in groups for route in routes]
    pages = Starlette(
        routes=all_routes,
        exception_handlers={HTTPException: missing, PromptpexError: refused, Refusal: closed, Exception: closed},
    )
    pages.state.sessions, pages.state.port = sessions, port
    return Guard(pages, sessions, port, failed)


def _sentence(error: HTTPException) -> str:
    words = {404: tr("There is no such page here."), 405: tr("This page does not take that.")}
    return words.get(error.status_code, error.detail)
