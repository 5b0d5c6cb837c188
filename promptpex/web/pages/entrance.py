"""The way in: a one-time token becomes a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.web.security import ENTER, USED, Door, Refusal, cookie, cookie_name
from promptpex.web.site import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


def routes(site: Site) -> list[Route]:
    """``/enter?token=TOKEN``."""
    from starlette.routing import Route

    async def enter(request: Request) -> Response:
        door, port = request.app.state.door, request.app.state.port
        assert isinstance(door, Door)
        if "prefetch" in request.headers.get("sec-purpose", "") or request.method != "GET":
            raise Refusal(403, "A link is used by opening it.")
        session = door.enter(request.query_params.get("token", ""))
        known = door.knows(request.cookies.get(cookie_name(port), ""))
        if session is None and not known:
            raise Refusal(403, USED)
        response = site.page(request, "entered.html.jinja", start=site.ports.start)
        if session is not None:
            response.headers["set-cookie"] = cookie(port, session)
        return response

    return [Route(ENTER, enter)]
