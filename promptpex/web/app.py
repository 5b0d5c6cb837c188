"""The application: all pages behind one guard, the way in, and the files of pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from promptpex.core.errors import PromptpexError
from promptpex.core.translation import Key, tr
from promptpex.report.html_page import rendered
from promptpex.report.page.script import SCRIPTS
from promptpex.web.interfaces import Ports
from promptpex.web.pages import card, criteria, grading, runs
from promptpex.web.security import (
    ENTER,
    FAILED,
    USED,
    App,
    BrowserSessions,
    Guard,
    Refusal,
    cookie,
    cookie_name,
    sentence_alone,
    wants_page,
)
from promptpex.web.shared_by_pages import TEMPLATES, Site, Tab

if TYPE_CHECKING:
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


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


def entrance_routes(site: Site) -> list[Route]:
    """``/enter?token=TOKEN``."""
    from starlette.routing import Route

    async def enter(request: Request) -> Response:
        sessions, port = request.app.state.sessions, request.app.state.port
        assert isinstance(sessions, BrowserSessions)
        if "prefetch" in request.headers.get("sec-purpose", "") or request.method != "GET":
            raise Refusal(403, "A link is used by opening it.")
        session = sessions.enter(request.query_params.get("token", ""))
        is_known = sessions.knows(request.cookies.get(cookie_name(port), ""))
        if session is None and not is_known:
            raise Refusal(403, USED)
        response = site.page(request, "entered.html.jinja", start=site.ports.start)
        if session is not None:
            response.headers["set-cookie"] = cookie(port, session)
        return response

    return [Route(ENTER, enter)]


STATIC = TEMPLATES.parent / "static"
ICON = "icon.svg"
SORT = SCRIPTS / "sort_table.js"
"""The one script that pages share with reports."""
COLOURS = ("report.css.jinja", "navigation.css.jinja", "print.css.jinja")
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def file_routes(site: Site) -> list[Route]:
    """``/static/NAME``, for the names that are there when the server starts."""
    from starlette.exceptions import HTTPException
    from starlette.responses import Response as Sent
    from starlette.routing import Route

    files = {path.name: path for path in (*STATIC.iterdir(), SORT) if path.suffix in KINDS}

    def send(request: Request) -> Response:
        path = files.get(request.path_params["name"])
        if path is None:
            raise HTTPException(404)
        return Sent(path.read_bytes(), media_type=KINDS[path.suffix])

    def colours(request: Request) -> Response:
        return Sent("".join(map(rendered, COLOURS)), media_type=KINDS[".css"])

    def icon(request: Request) -> Response:
        return Sent(files[ICON].read_bytes(), media_type=KINDS[".svg"])

    own = [Route("/static/report.css", colours), Route("/favicon.ico", icon)]
    return [*own, Route("/static/{name}", send)]


PAGES: tuple[tuple[Callable[[Site], Sequence[Route]], Tab | None], ...] = (
    (entrance_routes, None),
    (file_routes, None),
    (runs.routes, Tab(Key("Runs"), "/", (runs.RUNS, runs.BATCHES, runs.COMPARE))),
    (runs.batch_routes, None),
    (runs.comparison_routes, None),
    (grading.routes, Tab(Key("Grade"), "/grade")),
    (criteria.routes, Tab(Key("Criteria"), criteria.CRITERIA)),
    (card.routes, Tab(Key("Report card"), card.CARD)),
)
"""The routes of each group of pages, and its place in the navigation; a group that gives no route has none."""
