"""Who may speak to the server: a browser of this machine that was given a link by the terminal.

Any page in the browser can send requests to 127.0.0.1, any name can be made to mean it (DNS rebinding), and cookies are
shared by all ports of a host. So each request is held against its Host, its session, its Origin and Fetch Metadata
(W3C, "Fetch Metadata Request Headers"), and each response forbids what the pages do not need (CSP Level 3).
"""

from __future__ import annotations

import hashlib
import html
import json
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ENTER = "/enter"
"""Where a token becomes a session."""

LARGEST_BODY = 1_000_000
"""Bytes of a request's body."""

READING = frozenset({"GET", "HEAD"})

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Files of this server alone, and in scripts no text that becomes HTML or code (Trusted Types)."""

HEADERS = {
    "cache-control": "no-store",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

_CLOSED_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Closed – promptpex</title>
</head>
<body>
<h1>promptpex</h1>
<p>{}</p>
</body>
</html>
"""
"""Whoever is not let in gets no stylesheet either."""

CLOSED = "Open the link that the terminal shows: this page is for the browsers that came by such a link."
FAILED = "Something went wrong in promptpex; the terminal says what."
USED = "This link is not valid, or no longer: each lets in one browser. Open the one that the terminal shows last."


class BrowserSessions:
    """One unused token at a time, and the sessions that tokens were exchanged for; only their digests are kept.

    Args:
        make: a fresh secret, of at least 128 bits.
        entered: called after a token was used and the next one is there.
    """

    def __init__(self, make: Callable[[], str], entered: Callable[[], None]) -> None:
        self._make, self._entered = make, entered
        self._token = make()
        self._sessions: set[bytes] = set()

    @property
    def token(self) -> str:
        """The token that has not been used."""
        return self._token

    def enter(self, token: str) -> str | None:
        """The secret of a new session, and the token is used; None for any other token."""
        if not secrets.compare_digest(_digest(token), _digest(self._token)):
            return None
        self._token, session = self._make(), self._make()
        self._sessions.add(_digest(session))
        self._entered()
        return session

    def knows(self, session: str) -> bool:
        """Whether a browser came with this secret."""
        return _digest(session) in self._sessions


def fresh_secret() -> str:
    """256 random bits, as a text for addresses and cookies."""
    return secrets.token_urlsafe(32)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


class Refusal(Exception):
    """A request that is not answered, with the status and the sentence that it gets instead."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


@dataclass(frozen=True, slots=True)
class Guard:
    """An ASGI application around another, which it hands only what may come in.

    Args:
        app: what answers.
        sessions: the sessions.
        port: where the server listens on 127.0.0.1.
        failed: told of an exception that ``app`` raised.
        largest_body: bytes.
    """

    app: App
    sessions: BrowserSessions
    port: int
    failed: Callable[[Exception], None]
    largest_body: int = LARGEST_BODY
    hosts: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        hosts = frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost"))
        object.__setattr__(self, "hosts", hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not served")
        answer = _Outgoing(send, wants_page(scope))
        try:
            self._admit(scope)
            await self.app(scope, self._limited(receive), answer.send)
        except Refusal as refusal:
            await answer.close(refusal.status, refusal.sentence)
        except Exception as error:
            self.failed(error)
            await answer.close(500, FAILED)

    def _admit(self, scope: Scope) -> None:
        """Raises Refusal for what may not come in."""
        headers = _Headers(scope["headers"])
        host = headers.only("host")
        if host not in self.hosts:
            raise Refusal(421, f"Open http://127.0.0.1:{self.port}: this server answers under no other name.")
        if int(headers.only("content-length", "0") or 0) > self.largest_body:
            raise Refusal(413, f"At most {self.largest_body} bytes may be sent at once.")
        if scope["method"] not in READING:
            self._refuse_others(host, headers)
        elif _is_from_elsewhere(host, headers):
            raise Refusal(403, "Another page may not load this.")
        if scope["path"] != ENTER and not self.is_known(headers):
            raise Refusal(403, CLOSED)

    def _refuse_others(self, host: str, headers: _Headers) -> None:
        """Another port of this machine is another origin, but the same site: the session is sent along from there."""
        site = headers.only("sec-fetch-site", "same-origin")
        if headers.only("origin") != f"http://{host}" or site != "same-origin":
            raise Refusal(403, "This was sent by another page, and nothing was changed.")

    def is_known(self, headers: _Headers) -> bool:
        """Whether the request brings the cookie of a session."""
        return any(self.sessions.knows(value) for value in headers.cookies(cookie_name(self.port)))

    def _limited(self, receive: Receive) -> Receive:
        left = self.largest_body

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise Refusal(413, f"At most {self.largest_body} bytes may be sent at once.")
            return message

        return counted


def sentence_alone(sentence: str, is_page: bool) -> tuple[str, str]:
    """An answer that is one sentence, for whoever is not let in, and its type: a page, or JSON for a script."""
    if is_page:
        return _CLOSED_PAGE.format(html.escape(sentence)), "text/html; charset=utf-8"
    return json.dumps({"error": sentence}), "application/json"


def wants_page(scope: Scope) -> bool:
    """Whether a person waits for a page, and not a script for data."""
    return scope["method"] in READING and "text/html" in _Headers(scope["headers"]).only("accept")


def _is_from_elsewhere(host: str, headers: _Headers) -> bool:
    """Whether another page loads this; one that leads a person here does so without an Origin."""
    if headers.only("origin", f"http://{host}") != f"http://{host}":
        return True
    return headers.only("sec-fetch-site", "none") not in ("none", "same-origin") and not _is_visit(headers)


def _is_visit(headers: _Headers) -> bool:
    """Whether a person goes to the page: the address becomes that of a whole tab, not part of another page."""
    return headers.only("sec-fetch-mode") == "navigate" and headers.only("sec-fetch-dest") == "document"


def cookie_name(port: int) -> str:
    """The cookie of a server: cookies do not know ports, so that two servers must not share a name."""
    return f"promptpex-{port}"


def cookie(port: int, session: str) -> str:
    """The header that gives a browser its session: no script reads it, and no other site's request brings it along."""
    return f"{cookie_name(port)}={session}; Path=/; HttpOnly; SameSite=Strict"


class _Headers:
    """The headers of a request, names in lower case."""

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self._headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers]

    def only(self, name: str, missing: str = "") -> str:
        """The value of a header that may come once; an empty text where it comes twice."""
        values = [value for key, value in self._headers if key == name]
        return values[0] if len(values) == 1 else "" if values else missing

    def cookies(self, name: str) -> Iterable[str]:
        """The values of a cookie."""
        pairs = (
            pair.strip().partition("=") for key, value in self._headers if key == "cookie" for pair in value.split(";")
        )
        return [value for key, _, value in pairs if key == name]


class _Outgoing:
    """A response on its way out, with the headers that every response has."""

    def __init__(self, send: Send, is_page: bool) -> None:
        self._send, self._is_page = send, is_page
        self._has_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._has_begun = True
            own = [(name, value) for name, value in message.get("headers", ()) if name.decode().lower() not in HEADERS]
            names = {name.decode().lower() for name, _ in own}
            policy = {} if "content-security-policy" in names else {"content-security-policy": CONTENT_SECURITY_POLICY}
            always = [(name.encode(), value.encode()) for name, value in (HEADERS | policy).items()]
            message = {**message, "headers": [*own, *always]}
        await self._send(message)

    async def close(self, status: int, sentence: str) -> None:
        """A sentence as the answer, where none has begun: a page, or ``{"error": SENTENCE}`` for a script."""
        if self._has_begun:
            return
        text, kind = sentence_alone(sentence, self._is_page)
        body = text.encode()
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})
