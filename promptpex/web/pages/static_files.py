"""Stylesheets and scripts: the files of ``web/static``, by name, and what reports have too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.report.html_page import rendered
from promptpex.report.page.script import SCRIPTS
from promptpex.web.shared_by_pages import TEMPLATES, Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

STATIC = TEMPLATES.parent / "static"
ICON = "icon.svg"
SORT = SCRIPTS / "sort_table.js"
"""The one script that pages share with reports."""
COLOURS = ("report.css.jinja", "navigation.css.jinja", "print.css.jinja")
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def routes(site: Site) -> list[Route]:
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
