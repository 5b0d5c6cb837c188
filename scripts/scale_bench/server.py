"""A loopback chat server to measure against: a fixed latency, a fixed answer, and counts by question.

    python scripts/scale_bench/server.py --latency-ms 100

It prints its port. ``GET /stats`` gives requests that came, answers that could still be delivered, how many of those
were to a question that had been answered before, and the most that were in flight. ``POST /reset`` begins anew.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import select
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b

REPLY = json.dumps(
    {
        "id": "c1",
        "object": "chat.completion",
        "model": "mock",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "OK"}}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 5, "total_tokens": 305},
    }
).encode()


class Counts:
    """What the server has seen since the last reset."""

    def __init__(self) -> None:
        self.requests = self.in_flight = self.most = 0
        self.answered: Counter[bytes] = Counter()

    def stats(self) -> dict[str, int]:
        total = sum(self.answered.values())
        return {
            "requests": self.requests,
            "answered": total,
            "twice": total - len(self.answered),
            "max_in_flight": self.most,
        }


COUNTS = Counts()


class Chat(asyncio.Protocol):
    """One connection."""

    latency_s = 0.1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        import httptools

        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._parser = httptools.HttpRequestParser(self)
        self._url = self._body = b""
        self._pending: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        url, body, self._url, self._body = self._url, self._body, b"", b""
        if url.endswith(b"/stats"):
            self._send(json.dumps(COUNTS.stats()).encode())
        elif url.endswith(b"/reset"):
            COUNTS.__init__()  # type: ignore[misc]
            self._send(b"{}")
        else:
            COUNTS.requests += 1
            COUNTS.in_flight += 1
            COUNTS.most = max(COUNTS.most, COUNTS.in_flight)
            question = blake2b(body, digest_size=16).digest()
            self._pending = asyncio.get_running_loop().call_later(self.latency_s, self._answer, question)

    def connection_lost(self, error: Exception | None) -> None:
        if self._pending is not None:
            self._pending.cancel()
            COUNTS.in_flight -= 1

    def _answer(self, question: bytes) -> None:
        self._pending = None
        COUNTS.in_flight -= 1
        if self._is_listened_to():
            COUNTS.answered[question] += 1
            self._send(REPLY)

    def _is_listened_to(self) -> bool:
        """Whether the other end is still there, as the kernel knows it: the event loop may not have been told yet."""
        if self._transport.is_closing():
            return False
        state = select.poll()
        state.register(self._transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
        return not state.poll(0)

    def _send(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        self._transport.write(head + body)


async def serve(latency_s: float) -> None:
    """Serves until it is killed."""
    Chat.latency_s = latency_s
    server = await asyncio.get_running_loop().create_server(Chat, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


@contextlib.contextmanager
def serving(latency_ms: float) -> Iterator[str]:
    """The base URL of such a server, in a process of its own."""
    command = [sys.executable, __file__, "--latency-ms", str(latency_ms)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.communicate()


def stats(base: str) -> dict[str, int]:
    """What it has counted."""
    with urllib.request.urlopen(base.removesuffix("/v1") + "/stats", timeout=30) as reply:
        counted: dict[str, int] = json.loads(reply.read())
    return counted


def reset(base: str) -> None:
    """Has it count anew."""
    urllib.request.urlopen(base.removesuffix("/v1") + "/reset", timeout=30, data=b"").close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-ms", type=float, default=100)
    asyncio.run(serve(parser.parse_args().latency_ms / 1000))
