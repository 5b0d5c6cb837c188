"""What the server refuses, and what each answer of it forbids."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from promptpex.web.interfaces import CriteriaPort, Ports
from promptpex.web.security import FAILED, HEADERS, LARGEST_BODY, BrowserSessions, Guard, Refusal, cookie_name
from tests.web.serving import Served, served

PATHS = ("/", "/runs/a/b", "/compare", "/static/page.css", "/static/report.css", "/favicon.ico", "/nothing", "/enter/x")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without runs, beside whose results lies a run that is not theirs, with a link to it."""
    folder = tmp_path_factory.mktemp("project")
    secret = folder / "secret" / "run-1"
    secret.mkdir(parents=True)
    (secret / "manifest.json").write_text("secret", encoding="utf-8")
    (folder / "results").mkdir()
    (folder / "results" / "link").symlink_to(secret.parent)
    with served(Ports(folder / "results")) as running:
        yield running


async def raw(server: Served, request: str) -> tuple[int, str]:
    """The status and the whole answer of a request that is sent letter by letter, as no client would."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.server.port)
    writer.write(request.replace("\n", "\r\n").encode())
    await writer.drain()
    answer = (await reader.read()).decode(errors="replace")
    writer.close()
    return int(answer.split()[1]), answer


@pytest.mark.parametrize("path", PATHS)
async def test_without_a_session_nothing_is_answered(server: Served, path: str) -> None:
    wrong = {cookie_name(server.server.port): "x" * 43}
    for cookies in ({}, wrong):
        async with aiohttp.ClientSession(server.address, cookies=cookies) as session, session.get(path) as answer:
            assert answer.status == 403
            assert "Open the link" in await answer.text()


async def test_a_token_is_good_for_one_browser_and_no_other_text_is(server: Served) -> None:
    async with aiohttp.ClientSession(server.address) as session:
        link = server.link
        for wrong in (link[:-1], f"{link}x", link.split("?")[0], link.replace("token=", "token=%00")):
            async with session.get(wrong) as answer:
                assert (answer.status, answer.cookies) == (403, {})
        for early in (session.head(link), session.get(link, headers={"Sec-Purpose": "prefetch"})):
            async with early as answer:
                assert (answer.status, answer.cookies) == (403, {})
        async with session.get(link) as answer:
            assert answer.status == 200
            assert answer.headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")
        async with aiohttp.ClientSession(server.address) as other, other.get(link) as answer:
            assert (answer.status, answer.cookies) == (403, {})
            assert "no longer" in await answer.text()
    assert server.lines == [server.link]
    assert server.link != link


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1", "127.0.0.1:1", "localhost.example.org:{port}", "", "[::1]"]
)
async def test_another_name_for_this_machine_is_refused(server: Served, host: str) -> None:
    async with server.session() as session:
        name = host.replace("{port}", str(server.server.port))
        async with session.get("/", headers={"Host": name}) as answer:
            assert answer.status == 421
    link = server.link
    path = link.removeprefix(server.address)
    status, _ = await raw(server, f"GET {path} HTTP/1.1\nHost: evil.example:80\nConnection: close\n\n")
    assert status == 421
    assert server.link == link


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://localhost:{port}"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
async def test_what_another_page_sends_changes_nothing(server: Served, headers: dict[str, str]) -> None:
    given = {name: value.replace("{port}", str(server.server.port)) for name, value in headers.items()}
    async with server.session() as session:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            async with session.request(method, "/", headers=given) as answer:
                assert answer.status == 403
                assert "nothing was changed" in await answer.text()
            async with session.request(method, "/") as answer:
                assert answer.status == 405  # let in, and the page takes none


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_another_page_may_lead_here_and_load_nothing(server: Served, site: str) -> None:
    visit = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    framed, loaded = visit | {"Sec-Fetch-Dest": "iframe"}, visit | {"Sec-Fetch-Mode": "no-cors"}
    async with server.session() as session:
        for path in ("/", "/static/page.css"):
            for headers, status in ((visit, 200), (framed, 403), (loaded, 403)):
                async with session.get(path, headers=headers) as answer:
                    assert answer.status == status


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "https://127.0.0.1:{port}", "http://localhost:{port}"]
)
async def test_a_page_elsewhere_reads_nothing_even_with_the_session(server: Served, origin: str) -> None:
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    async with server.session() as session:
        for path in ("/", "/static/page.css"):
            foreign = {"Origin": origin.replace("{port}", str(server.server.port))}
            for headers, status in ((foreign, 403), (foreign | visit, 403), ({"Origin": server.address}, 200)):
                async with session.get(path, headers=headers) as answer:
                    assert answer.status == status


@pytest.mark.parametrize(
    "path",
    [
        "/static/../security.py",
        "/static/..%2fsecurity.py",
        "/static/%2e%2e/security.py",
        "/static//etc/passwd",
        "/static/page.css%00.js",
        "/runs/../../secret",
        "/runs/..%2f..%2fsecret",
        "/runs//etc",
        "/runs/%00",
        "/runs/%ff/%c0%ae",
        "/runs/colours/run-1/../../../secret",
        "/runs/colours/run-1/manifest.json",
        "/runs/link/run-1",
        "//evil.example/",
    ],
)
async def test_no_path_leads_out(server: Served, path: str) -> None:
    async with server.session() as session:
        known = "; ".join(f"{one.key}={one.value}" for one in session.cookie_jar)
    head = f"Host: 127.0.0.1:{server.server.port}\nCookie: {known}\nAccept: text/html\nConnection: close"
    status, answer = await raw(server, f"GET {path} HTTP/1.1\n{head}\n\n")
    assert status == 404
    assert "There is no such page here." in answer


async def test_every_answer_has_the_headers_that_protect_it(server: Served) -> None:
    async with server.session() as inside, aiohttp.ClientSession(server.address) as outside:
        for session in (inside, outside):
            for path in PATHS:
                async with session.get(path) as answer:
                    assert {name: answer.headers.getall(name) for name in HEADERS} == {
                        name: [value] for name, value in HEADERS.items()
                    }
                    policy = answer.headers.getall("Content-Security-Policy")
                    assert policy[0].startswith("default-src 'none'; ")
                    assert "frame-ancestors 'none'" in policy[0]
                    assert "unsafe" not in policy[0]
                    assert "server" not in answer.headers


async def test_a_body_that_is_too_large_is_not_read(server: Served) -> None:
    async with server.session() as session, session.post("/", data=b"x" * (LARGEST_BODY + 1)) as answer:
        assert answer.status == 413


class Exchange:
    """A request to an ASGI application, and what came of it."""

    def __init__(self, *chunks: bytes, **headers: str) -> None:
        self.chunks = list(chunks)
        self.sent: list[Any] = []
        session = "s" * 32
        known = {"host": "127.0.0.1:8765", "origin": "http://127.0.0.1:8765", "cookie": f"promptpex-8765={session}"}
        pairs = [(name.encode(), value.encode()) for name, value in (known | headers).items()]
        self.scope = {"type": "http", "method": "POST", "path": "/grade", "headers": pairs}

    async def receive(self) -> dict[str, Any]:
        body = self.chunks.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(self.chunks)}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def through(self, app: Any) -> int:
        sessions = BrowserSessions(lambda: "s" * 32, lambda: None)
        assert sessions.enter("s" * 32) == "s" * 32
        self.failures: list[Exception] = []
        await Guard(app, sessions, 8765, self.failures.append)(self.scope, self.receive, self.send)
        status = self.sent[0]["status"]
        assert isinstance(status, int)
        return status


async def reads_all(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers with how many bytes it got."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"ALLOWALL")]})
    await send({"type": "http.response.body", "body": json.dumps(size).encode()})


async def test_a_body_without_a_length_is_counted_as_it_comes() -> None:
    half = b"x" * (LARGEST_BODY // 2)
    fits = Exchange(half, half)
    assert await fits.through(reads_all) == 200
    assert fits.sent[1]["body"] == str(LARGEST_BODY).encode()
    assert [value for name, value in fits.sent[0]["headers"] if name == b"x-frame-options"] == [b"DENY"]
    assert await Exchange(half, half, b"x").through(reads_all) == 413
    assert await Exchange(b"x", **{"content-length": str(LARGEST_BODY + 1)}).through(reads_all) == 413


def broken(error: Exception) -> CriteriaPort:
    """Criteria of which nothing can be shown."""

    class Broken:
        def board(self) -> None:
            raise error

    return cast(CriteriaPort, Broken())


async def test_a_page_that_fails_ends_alone_and_is_said_in_the_terminal(tmp_path: Path) -> None:
    ports = Ports(tmp_path, criteria=broken(KeyError("\x1b[31m<script>")))
    with served(ports) as failing:
        async with failing.session() as session:
            for accept, expected in (("text/html", f"<p>{FAILED}</p>"), ("*/*", json.dumps({"error": FAILED}))):
                async with session.get("/criteria", headers={"Accept": accept}) as answer:
                    assert answer.status == 500
                    assert expected in await answer.text()
            async with session.get("/") as answer:
                assert answer.status == 200
    sentence = "promptpex: a page failed (KeyError: '\\x1b[31m<script>'); please report it"
    assert failing.lines[1:] == [sentence] * 2
    with served(ports, debug=True) as failing:
        async with failing.session() as session, session.get("/criteria"):
            pass
    assert failing.lines[2].startswith("Traceback")


async def test_a_page_that_fails_says_so_in_one_sentence() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("<script>secret</script>")

    exchange = Exchange(b"")
    assert await exchange.through(broken) == 500
    assert json.loads(exchange.sent[1]["body"]) == {
        "error": "Something went wrong in promptpex; the terminal says what."
    }
    page = Exchange(b"", accept="text/html")
    page.scope["method"] = "GET"
    assert await page.through(broken) == 500
    assert f"<p>{FAILED}</p>".encode() in page.sent[1]["body"]
    assert [repr(error) for error in exchange.failures] == ["KeyError('<script>secret</script>')"]

    async def refuses(scope: Any, receive: Any, send: Any) -> None:
        raise Refusal(409, "No.")

    assert await Exchange(b"").through(refuses) == 409
