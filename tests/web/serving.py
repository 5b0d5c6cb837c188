"""The local page's server in a thread of the tests, and requests to it without a browser."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import aiohttp

from promptpex.web.interfaces import Ports
from promptpex.web.server import LocalServer, listening


@dataclass
class Served:
    """A running server.

    Attributes:
        lines: what it said to the terminal: links that were left, and what went wrong.
    """

    server: LocalServer
    lines: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    @property
    def link(self) -> str:
        """The link that lets the next browser in."""
        return self.server.link

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[aiohttp.ClientSession]:
        """A client that has come by a link, and sends what a page of the server would."""
        headers = {"Origin": self.address, "Sec-Fetch-Site": "same-origin"}
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(self.address, headers=headers, cookie_jar=jar) as session:
            async with session.get(self.link) as response:
                assert response.status == 200, await response.text()
            yield session


@contextlib.contextmanager
def served(ports: Ports, port: int = 0, *, debug: bool = False) -> Iterator[Served]:
    """Serves in a thread until the end of the block."""
    lines: list[str] = []
    server = LocalServer(listening(port), ports, lines.append, lines.append, debug=debug)
    thread = threading.Thread(target=server.run, name="local page")
    thread.start()
    try:
        yield Served(server, lines)
    finally:
        server.stop()
        thread.join()


async def page_of(server: Served, path: str, status: int = 200) -> str:
    """The page at a path, as it is sent to a browser."""
    async with server.session() as session, session.get(path, headers={"Accept": "text/html"}) as answer:
        assert answer.status == status, await answer.text()
        return await answer.text()


def words(page: str) -> str:
    """What a page says, without its tags."""
    return " ".join(re.sub("<[^>]*>", " ", page).split())
