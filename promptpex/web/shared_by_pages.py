"""What all pages share: the ports, the navigation, and how a page, an answer in JSON and a problem are sent."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex.core.errors import InputError
from promptpex.report.html_page import environment
from promptpex.report.page.asked import SentMessages
from promptpex.report.page.script import POLICY
from promptpex.report.runs.listing import FILES, RunList, stamp_of
from promptpex.tables import AnyRun, PeoplesGrades
from promptpex.web.interfaces import Ports
from promptpex.web.security import wants_page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Tab:
    """A place in the navigation: its address, and the beginnings of others that belong to it."""

    title: str
    path: str
    others: tuple[str, ...] = ()


class Site:
    """What the routes of a page module are made with.

    Args:
        ports: what the server shows.

    Attributes:
        tabs: the navigation.
        runs: the runs that are shown.
        made: pages that took long to make, kept for the next reader.
    """

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self.tabs: tuple[Tab, ...] = ()
        self.runs = RunList(ports.results, ports.run)
        self.made = MadePages()

    def stamp(self, folder: Path) -> Hashable:
        grades = self.ports.grades
        return stamp_of(folder, FILES), None if grades is None else grades.stamp(folder)

    def grades(self, folder: Path, run: AnyRun) -> PeoplesGrades | None:
        return None if self.ports.grades is None else self.ports.grades.grades(folder, run)

    def sent(self, run: AnyRun) -> SentMessages | None:
        return None if self.ports.renderer is None else self.ports.renderer(run.prompt)

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page made of one of the templates in ``web/templates``; every value is escaped, see ``report.html``.

        The template extends ``layout.html.jinja`` and fills its blocks ``title``, ``scripts`` and ``main``.
        """
        from starlette.responses import HTMLResponse

        return HTMLResponse(self.rendered(template, request.url.path, **values), status_code=status)

    def report(self, page: str, policy: str = POLICY) -> Response:
        """A report, made by the template of its file: it keeps its own policy, which allows at most its own script."""
        from starlette.responses import HTMLResponse

        return HTMLResponse(page, headers={"content-security-policy": f"{policy}; frame-ancestors 'none'"})

    def rendered(self, template: str, path: str, **values: Any) -> str:
        """The text of the page at this path, see ``page``."""
        return environment(TEMPLATES).get_template(template).render(tabs=self.navigation(path), **values)

    def navigation(self, path: str) -> list[tuple[str, str, bool]]:
        """The tabs: title, address, and whether the page at this path belongs there."""
        inside = [tab for tab in self.tabs if any(_is_below(path, base) for base in (tab.path, *tab.others))]
        return [(tab.title, tab.path, tab in inside) for tab in self.tabs]

    def problem(self, request: Request, status: int, sentence: str) -> Response:
        """A problem in one sentence: a page where a page was asked for, else ``{"error": SENTENCE}``."""
        if wants_page(request.scope):
            return self.page(request, "problem.html.jinja", status=status, sentence=sentence)
        return answer({"error": sentence}, status=status)


def _is_below(path: str, base: str) -> bool:
    return path == base or (base != "/" and path.startswith(f"{base}/"))


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


def text_of(sent: Mapping[str, Any], name: str, longest: int, *, needed: bool = True) -> str:
    """A text that a request brings; one that is not ``needed`` may be left out or empty.

    Raises:
        InputError: it is missing, no text, or too long.
    """
    value = sent.get(name, None if needed else "")
    if not isinstance(value, str) or len(value) > longest or (needed and not value.strip()):
        raise InputError(f"send {name!r}, a text of at most {longest:,} characters")
    return value


class MadePages:
    """The last pages that were made; two readers who ask for the same page at once wait for one making of it.

    Args:
        most: characters of all pages together; the last one is kept however long it is.
    """

    def __init__(self, most: int = 100_000_000) -> None:
        self._most = most
        self._pages: OrderedDict[Hashable, tuple[Hashable, str]] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, stamp: Hashable, make: Callable[[], str]) -> str:
        """The page with this key; it is made where none is kept with this stamp.

        Args:
            stamp: of the files that it is made from, taken before they are read.
        """
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                cached = self._pages.get(key)
            if cached is None or cached[0] != stamp:
                cached = (stamp, make())
            self._keep(key, cached)
        return cached[1]

    def _keep(self, key: Hashable, page: tuple[Hashable, str]) -> None:
        with self._lock:
            self._pages[key] = page
            self._pages.move_to_end(key)
            while len(self._pages) > 1 and sum(len(text) for _, text in self._pages.values()) > self._most:
                oldest, _ = self._pages.popitem(last=False)
                self._making.pop(oldest, None)
