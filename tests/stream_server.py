"""An OpenAI-compatible server that streams its replies as a test says, and stops where the test wants it to."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.servers import Served

HANGS_S = 300
"""Seconds after which a test is taken for one that hangs."""

CUT, DONE = b"CUT", b"data: [DONE]\n\n"


@dataclass(eq=False)
class Gate:
    """A place in a stream at which the server waits until it is opened; may be used in any thread."""

    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)


Part = str | bytes | Gate
"""Text that the model writes; bytes as they are, ``CUT`` breaks the connection; where to wait."""

Reply = Sequence[Part] | web.Response


class StreamServer(Served):
    """Answers each chat completion by the next of ``replies``, then by the last one again.

    A list of parts is streamed to those who ask for a stream, and given as a whole to others.

    Attributes:
        bodies: what was asked, in order.
        is_closed: set when the connection of a stream was closed before its end.
    """

    def __init__(self, replies: Sequence[Reply | Callable[[dict[str, Any]], Reply]]) -> None:
        super().__init__()
        self._replies = list(replies)
        self.bodies: list[dict[str, Any]] = []
        self.is_closed = threading.Event()

    def application(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        reply = reply(body) if callable(reply) else reply
        if isinstance(reply, web.Response):
            return reply
        if not body.get("stream"):
            return web.json_response(whole("".join(part for part in reply if isinstance(part, str))))
        try:
            return await self._streamed(request, reply)
        except (ConnectionError, asyncio.CancelledError):
            self.is_closed.set()
            raise

    async def _streamed(self, request: web.Request, parts: Sequence[Part]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        for part in parts:
            if isinstance(part, Gate):
                part.reached.set()
                while not part.opened.is_set():
                    await asyncio.sleep(0.005)
                    if request.transport is None or request.transport.is_closing():
                        raise asyncio.CancelledError
            elif part == CUT:
                assert request.transport is not None
                request.transport.abort()
                raise asyncio.CancelledError
            else:
                await response.write(event(delta(part)) if isinstance(part, str) else part)
        return response


def whole(text: str) -> dict[str, Any]:
    """A chat completion."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"model": "mock", "choices": [choice], "usage": {"prompt_tokens": 20, "completion_tokens": 5}}


def delta(text: str, **more: Any) -> dict[str, Any]:
    """A chunk of one."""
    return {"model": "mock", "choices": [{"index": 0, "delta": {"content": text, **more}, "finish_reason": None}]}


def event(chunk: Any) -> bytes:
    """A server-sent event."""
    return f"data: {json.dumps(chunk)}\n\n".encode()


END = (
    event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    event({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 5}}),
    DONE,
)
"""How a stream ends."""


@contextmanager
def in_thread(server: Served) -> Iterator[None]:
    """Serves in a thread of its own, for tests without an event loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(HANGS_S)
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(HANGS_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
