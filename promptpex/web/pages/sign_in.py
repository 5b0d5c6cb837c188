"""The way in: a one-time token becomes a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.web.security import ENTER, USED, BrowserSessions, Refusal, cookie, cookie_name
from promptpex.web.shared_by_pages import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


def routes(site: Site) -> list[Route]:
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
