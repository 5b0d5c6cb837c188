"""One HTTP exchange of JSON: bounded, without redirects, every failure one of ours."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from promptpex.core.errors import BadRequest, ConfigError, GarbledReply, MalformedReply, ModelError, TimedOut
from promptpex.core.surrogates import replace_surrogates
from promptpex.core.translation import stored
from promptpex.llm.error_mapping import from_exception, from_status, short
from promptpex.llm.streaming import sending

if TYPE_CHECKING:
    import aiohttp

MAX_REPLY_BYTES = 8 * 1024 * 1024
"""An answer of 4,096 tokens with the log-probabilities of 20 others each fits."""

MAX_MARKS = 2_000_000
"""Commas and opening brackets of a reply that is parsed. Parsing blocks the event loop; so many take about a second and
some 200 MB, and log-probabilities of 16,000 tokens with 20 others each have fewer."""
STREAM_SHARE = 4
"""Times the bytes of a whole reply that its stream may have: each piece has a wrapping of its own."""
CONNECT_S = 15.0
"""Seconds for a connection, with TLS: three lost packets that the system sends again."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class JsonReply:
    """A successful reply: its JSON, and the milliseconds from sending to the last byte."""

    payload: object
    latency_ms: float


class StreamedReply(Protocol):
    """Makes one reply's JSON of the lines of a stream.

    ``media_type`` is by what a stream is known; ``line`` takes one without its end; ``payload`` gives the reply once
    the stream is over, and raises a ``ModelError`` where it broke off.
    """

    media_type: str

    def line(self, data: bytes) -> None: ...

    def payload(self) -> object: ...


class JsonPoster:
    """POSTs JSON to one server over kept connections.

    The pool grows with the requests in flight: whoever limits them sits above. A proxy of the environment
    (``HTTPS_PROXY``, ``NO_PROXY``) is used as other programs use it, and never for this machine itself.
    """

    def __init__(self, base_url: str, *, timeout_s: float, max_bytes: int = MAX_REPLY_BYTES) -> None:
        self.base_url = base_url
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._proxy = proxy_for(base_url)
        self._session: aiohttp.ClientSession | None = None

    async def post(
        self,
        path: str,
        body: Mapping[str, object],
        *,
        model: str,
        headers: Mapping[str, str] | None = None,
        streamed: StreamedReply | None = None,
    ) -> JsonReply:
        """The reply to ``body``.

        Args:
            streamed: is given the lines of a reply that is a stream, as they come; any other is read as a whole.

        Raises:
            ModelError: whatever went wrong, by ``error_mapping``.
        """
        data = encoded(body, model)
        if streamed is not None:  # some servers hang up after a stream, and say so only when they are asked to
            headers = {**(headers or {}), "Connection": "close"}
        started = time.perf_counter()
        sending()
        status, reply_headers, raw = await self._exchange("POST", path, data, model, headers, streamed)
        latency_ms = (time.perf_counter() - started) * 1000
        if raw is None and streamed is not None:
            return JsonReply(streamed.payload(), latency_ms)
        if status != 200:
            raise refusal(status, reply_headers, raw or b"", model=model, where=self.base_url)
        return JsonReply(parsed(raw or b"", reply_headers, model=model, where=self.base_url), latency_ms)

    async def get(self, path: str, *, headers: Mapping[str, str] | None = None) -> object:
        status, reply_headers, raw = await self._exchange("GET", path, None, "server", headers)
        if status != 200:
            raise refusal(status, reply_headers, raw or b"", model="server", where=self.base_url)
        return parsed(raw or b"", reply_headers, model="server", where=self.base_url)

    async def close(self) -> None:
        """Closes the connections; may be called twice."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _exchange(
        self,
        method: str,
        path: str,
        data: bytes | None,
        model: str,
        headers: Mapping[str, str] | None,
        streamed: StreamedReply | None = None,
    ) -> tuple[int, Mapping[str, str], bytes | None]:
        """Status, headers and body; no body where it went to ``streamed``."""
        import aiohttp

        session = self._open()
        try:
            async with session.request(
                method, self.base_url + path, data=data, headers=headers, allow_redirects=False, proxy=self._proxy
            ) as response:
                if streamed is not None and response.status == 200 and response.content_type == streamed.media_type:
                    await self._read_lines(response, streamed, model)
                    return response.status, response.headers, None
                return response.status, response.headers, await self._read(response, model)
        except TimeoutError as error:
            raise self._timed_out(model) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise from_exception(error, model=model, where=self.base_url) from error

    async def _read(self, response: aiohttp.ClientResponse, model: str) -> bytes:
        length = response.content_length
        if length is not None and length <= self._max_bytes and "Content-Encoding" not in response.headers:
            return await response.read()
        return b"".join([chunk async for chunk in self._chunks(response, model, self._max_bytes)])

    async def _read_lines(self, response: aiohttp.ClientResponse, streamed: StreamedReply, model: str) -> None:
        """Hands on the lines of a stream, whose ends are those of server-sent events (CRLF, LF or CR)."""
        parts: list[bytes] = []
        was_return = False
        async with aclosing(self._chunks(response, model, STREAM_SHARE * self._max_bytes)) as chunks:
            async for chunk in chunks:
                first, *others = _LINE_END.split(chunk[1:] if was_return and chunk[:1] == b"\n" else chunk)
                was_return = chunk[-1:] == b"\r"
                parts.append(first)
                for other in others:
                    streamed.line(b"".join(parts))
                    parts = [other]
        streamed.line(b"".join(parts))

    async def _chunks(self, response: aiohttp.ClientResponse, model: str, most: int) -> AsyncGenerator[bytes]:
        """The body as it comes.

        Raises:
            MalformedReply: it has more bytes than ``most``.
        """
        size = 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > most:
                response.close()
                raise MalformedReply(
                    stored(
                        "{model} at {server}: the reply is larger than {most} MB and was not read to its end; set "
                        "max_tokens.",
                        model=model,
                        server=self.base_url,
                        most=most // 2**20,
                    ),
                    model=model,
                )
            yield chunk

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, limit_per_host=0, keepalive_timeout=30),
                timeout=aiohttp.ClientTimeout(total=self._timeout_s, sock_connect=min(CONNECT_S, self._timeout_s)),
                headers={"Content-Type": "application/json", "User-Agent": "promptpex"},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def _timed_out(self, model: str) -> TimedOut:
        return TimedOut(
            stored(
                "{model} at {server}: no answer within {seconds} s; raise --timeout, or try when the server is "
                "less busy.",
                model=model,
                server=self.base_url,
                seconds=f"{self._timeout_s:g}",
            ),
            model=model,
        )


def encoded(body: Mapping[str, object], model: str) -> bytes:
    """``body`` as JSON; lone surrogates, which UTF-8 does not have, as U+FFFD."""
    try:
        return replace_surrogates(json.dumps(body, ensure_ascii=False, allow_nan=False)).encode("utf-8")
    except (TypeError, ValueError) as error:
        message = stored("{model}: a parameter cannot be sent as JSON ({why}).", model=model, why=error)
        raise BadRequest(message, model=model) from error


def parsed(raw: bytes, headers: Mapping[str, str], *, model: str, where: str) -> object:
    """The JSON in ``raw``, whatever its content type says; or a ``GarbledReply`` that keeps the text.

    Raises:
        MalformedReply: it is made of so many values that reading them would stop everything else.
    """
    if len(raw) > MAX_MARKS and sum(map(raw.count, (b",", b"[", b"{"))) > MAX_MARKS:
        raise too_many_values(model, where)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        kind = headers.get("Content-Type", "no content type")
        text = raw[:2000].decode("utf-8", "replace")
        message = stored(
            "{model} at {server}: the reply is not JSON ({kind}, {count} bytes: {text}); check that the address is "
            "that of the API.",
            model=model,
            server=where,
            kind=short(kind, 60),
            count=len(raw),
            text=repr(short(text, 120)),
        )
        raise GarbledReply(message, model=model, reply=text) from error


def too_many_values(model: str, where: str) -> MalformedReply:
    """The error for a reply of more values than are read."""
    message = stored(
        "{model} at {server}: the reply is made of more than {limit} values and was not read; set max_tokens, or ask "
        "for fewer log-probabilities.",
        model=model,
        server=where,
        limit=f"{MAX_MARKS:,}",
    )
    return MalformedReply(message, model=model)


def refusal(status: int, headers: Mapping[str, str], raw: bytes, *, model: str, where: str) -> ModelError:
    """The error for a reply that is not a success."""
    if 300 <= status < 400:
        message = stored(
            "{model} at {server}: the server redirects to {target}, which is not followed; give the final address "
            "with --api-base.",
            model=model,
            server=where,
            target=_redirected(headers),
        )
        return BadRequest(message, model=model)
    return from_status(status, model=model, where=where, detail=error_detail(raw), retry_after=retry_after_s(headers))


def _redirected(headers: Mapping[str, str]) -> str:
    try:
        target = urlsplit(headers.get("Location", ""))
        return f"{target.scheme}://{target.hostname}"
    except ValueError:
        return "another place"


def error_detail(raw: bytes) -> str:
    """What an error reply says: the message and code of its JSON, or its text."""
    text = raw[:100_000].decode("utf-8", "replace")
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return short(text)
    error = payload.get("error", payload) if isinstance(payload, dict) else payload
    if isinstance(error, dict):
        code = error.get("code") or error.get("type")
        message = error.get("message") or error.get("detail") or error
        return f"{message} [{code}]" if code else str(message)
    return str(error)


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait by ``Retry-After`` (seconds, or an HTTP date; RFC 9110 §10.2.3) or ``retry-after-ms``."""
    text = headers.get("retry-after-ms", "").strip()
    if text:
        return _seconds(text, 0.001)
    text = headers.get("Retry-After", "").strip()
    if not text:
        return None
    seconds = _seconds(text, 1.0)
    if seconds is not None:
        return seconds
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


def _seconds(text: str, unit: float) -> float | None:
    try:
        value = float(text) * unit
    except ValueError:
        return None
    return value if 0 <= value < 1e7 else None


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for ``url``, if any."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOOPBACK or host.startswith("127."):
        return None
    proxies = urllib.request.getproxies_environment()
    if urllib.request.proxy_bypass_environment(host, proxies):  # type: ignore[attr-defined]
        return None
    return proxies.get(parts.scheme) or proxies.get("all")


def checked_base(url: str) -> str:
    """A base URL in its one form: scheme and host there, no key in it, no slash at its end.

    Raises:
        ConfigError: when it is not such an address.
    """
    text = url.strip()
    text = (text if "://" in text else f"http://{text}").rstrip("/")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"The address {short(url, 80)!r} is not a URL ({error}).") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"The address {short(url, 80)!r} is not an http or https URL; write http://HOST:PORT/v1.")
    if parts.username or parts.password or parts.query or parts.fragment or port == 0:
        raise ConfigError(
            f"The address http://{parts.hostname} must not hold a user, a key or a query; "
            "put the key into PROMPTPEX_API_KEY."
        )
    return text
