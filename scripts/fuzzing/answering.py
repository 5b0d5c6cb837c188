"""A server on loopback that speaks OpenAI's API and Ollama's, and answers each question in its own hostile way."""

from __future__ import annotations

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fuzzing import seeds
from fuzzing.making import Maker
from fuzzing.stages import fitting


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def _answer(self, raw: bytes) -> None:
        server = self.server
        assert isinstance(server, Answering)
        maker = Maker(random.Random(raw + f"{server.seed}{self.path}".encode()))
        status, body = _reply(maker, self.path, raw)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 429:
            self.send_header("Retry-After", maker.rng.choice(("0", "0.1", "x", "-1")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""


def _reply(maker: Maker, path: str, raw: bytes) -> tuple[int, bytes]:
    """A good answer to most questions; else an odd one, by what was asked."""
    if path.endswith(("/models", "/tags", "/version", "/ps")):
        return 200, maker.bytes_of(maker.json(maker.changed({"data": [{"id": "a"}], "models": [{"name": "a:1"}]})))
    kind = maker.rng.random()
    if kind < 0.04:
        return maker.rng.choice((400, 401, 404, 410, 429, 500, 503)), maker.bytes_of(maker.text())
    chat = _chat(maker, raw)
    if kind < 0.8:
        return 200, json.dumps(chat).encode()
    if kind < 0.95:
        return 200, json.dumps(maker.changed(chat)).encode()
    return 200, maker.bytes_of(maker.mangled(json.dumps(chat)))


def _chat(maker: Maker, raw: bytes) -> dict[str, Any]:
    asked = json.loads(raw) if raw else {}
    schema = asked.get("response_format", {}).get("json_schema", {}).get("schema", {}) or asked.get("format", {})
    value = fitting(maker, schema) if isinstance(schema, dict) and schema else None
    text = maker.text() if value is None else maker.json(value if maker.rng.random() < 0.8 else maker.changed(value))
    if "messages" in asked and "stream" in asked:
        return {**seeds.OLLAMA, "message": {"role": "assistant", "content": text}}
    choice = {**seeds.CHAT["choices"][0], "message": {"role": "assistant", "content": text}}
    return {**seeds.CHAT, "choices": [choice]}


class Answering(ThreadingHTTPServer):
    """The server, in threads of its own; ``url`` is its address."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seed = seed
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away does not matter."""
