"""What all pages share: the ports, the navigation, and how a page, an answer in JSON and a problem are sent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex.core.errors import InputError
from promptpex.report.html import environment
from promptpex.web.ports import Ports
from promptpex.web.security import READING

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Tab:
    """A place in the navigation."""

    title: str
    path: str


class Site:
    """What the routes of a page module are made with.

    Args:
        ports: what the server shows.
    """

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self.tabs: tuple[Tab, ...] = ()

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page made of one of the templates in ``web/templates``; every value is escaped, see ``report.html``.

        The template extends ``layout.html.jinja`` and fills its blocks ``title``, ``scripts`` and ``main``.
        """
        from starlette.responses import HTMLResponse

        made = environment(TEMPLATES).get_template(template).render(tabs=self.navigation(request), **values)
        return HTMLResponse(made, status_code=status)

    def navigation(self, request: Request) -> list[tuple[Tab, bool]]:
        """The tabs, each with whether the page of this request belongs to it."""
        path = request.url.path
        inside = [tab for tab in self.tabs if path == tab.path or path.startswith(f"{tab.path.rstrip('/')}/")]
        current = max(inside, key=lambda tab: len(tab.path), default=None)
        return [(tab, tab is current) for tab in self.tabs]

    def problem(self, request: Request, status: int, sentence: str) -> Response:
        """A problem in one sentence: a page where a page was asked for, else ``{"error": SENTENCE}``."""
        if request.method in READING and "text/html" in request.headers.get("accept", ""):
            return self.page(request, "problem.html.jinja", status=status, sentence=sentence)
        return answer({"error": sentence}, status=status)


def answer(data: Mapping[str, Any] | Sequence[Any], *, status: int = 200) -> Response:
    """Data as JSON, in ASCII: what scripts fetch is never read as HTML, and no text in it ends anything."""
    from starlette.responses import Response as Sent

    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Sent(text, status_code=status, media_type="application/json")


async def body(request: Request) -> Mapping[str, Any]:
    """The JSON object that a request brings.

    Raises:
        InputError: it is not declared as JSON, or is none, or no object.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        data = json.loads(await request.body()) if kind == "application/json" else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise InputError("send a JSON object")
    return data
