"""A server on loopback that speaks OpenAI's chat interface and answers the same question the same way, whoever asks."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class AnswerServer:
    """Answers each chat with one of the given texts, chosen by a hash of the model and the turns.

    Args:
        texts: the answers that there are; ``echo`` among the models answers with the last turn.

    Attributes:
        asked: the turns of all chats, by model.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.asked: dict[str, list[str]] = {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = json.dumps(server.reply(body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is printed."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def reply(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The response to a request."""
        turns = json.dumps([[turn["role"], _text(turn["content"])] for turn in body["messages"]], ensure_ascii=False)
        self.asked.setdefault(body["model"], []).append(turns)
        text = self._answer(body["model"], turns, _text(body["messages"][-1]["content"]))
        return {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
        }

    def _answer(self, model: str, turns: str, last: str) -> str:
        if model == "echo":
            return last
        digest = hashlib.sha256(f"{model} {turns}".encode()).digest()
        return self.texts[int.from_bytes(digest[:4], "big") % len(self.texts)]


def _text(content: object) -> str:
    """A turn's text, whichever of the two shapes it has."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return str(content)
