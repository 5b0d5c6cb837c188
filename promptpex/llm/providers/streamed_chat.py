"""Chat completions that come in pieces, put together: OpenAI's chunks, as server-sent events or as they are.

OpenAI API reference, "Streaming"; HTML standard, "Server-sent events". As with whole replies, servers differ in what
they leave out.
"""

from __future__ import annotations

from typing import Any

from promptpex.core.errors import ModelError, Unavailable
from promptpex.core.translation import stored
from promptpex.llm.error_mapping import from_status
from promptpex.llm.providers.http import MAX_MARKS, parsed, too_many_values
from promptpex.llm.providers.openai_format import content_text
from promptpex.llm.streaming import Watcher

AS_STREAM = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks for a stream, with the tokens counted at its end."""


class ChatPieces:
    """Chunks of one chat completion: the JSON that they would be as a whole.

    Args:
        model: the model as the user named it.
        where: the server, for messages.
        watcher: is told of the text.
    """

    def __init__(self, model: str, where: str = "", watcher: Watcher | None = None) -> None:
        self._model, self._where, self._watcher = model, where, watcher
        self._texts: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning_content": [], "reasoning": []}
        self._logprobs: list[object] = []
        self._about: dict[str, object] = {}
        self._finish: object = None
        self.is_ended = self.has_begun = False

    def add(self, chunk: Any) -> None:
        """Takes the next chunk.

        Raises:
            ModelError: it reports a failure of the server.
        """
        self.has_begun = True
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            raise refusal_of(chunk["error"], self._model, self._where)
        self._about |= {name: chunk[name] for name in ("model", "usage") if chunk.get(name)}
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict):
            self._take(choice)

    def payload(self) -> dict[str, Any]:
        """The whole.

        Raises:
            Unavailable: the stream broke off before its end.
        """
        if not (self.is_ended or self._finish):
            raise broken_off(self._model, self._where)
        message = {name: "".join(parts) for name, parts in self._texts.items()}
        choice = {"message": message, "finish_reason": self._finish, "logprobs": {"content": self._logprobs}}
        return {"choices": [choice], **self._about}

    def _take(self, choice: dict[str, Any]) -> None:
        self._finish = choice.get("finish_reason") or self._finish
        logprobs = choice.get("logprobs")
        tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
        self._logprobs += tokens if isinstance(tokens, list) else []
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        for name, parts in self._texts.items():
            text = content_text(delta.get(name))
            if text:
                parts.append(text)
                if name == "content" and self._watcher is not None:
                    self._watcher.add(text)


class ChatEvents:
    """The same as server-sent events: a ``StreamedReply``."""

    media_type = "text/event-stream"

    def __init__(self, model: str, where: str, watcher: Watcher) -> None:
        self._model, self._where = model, where
        self._pieces = ChatPieces(model, where, watcher)
        self._data: list[bytes] = []
        self._marks = 0
        self.has_begun = False

    def line(self, data: bytes) -> None:
        """Takes a line; an empty one ends an event. Comments and all fields but ``data`` are passed over.

        Raises:
            ModelError: an event is not JSON, reports a failure, or all together are made of too many values.
        """
        self.has_begun = True
        name, _, value = data.removeprefix(b"\xef\xbb\xbf").partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif not data and self._data:
            event, self._data = b"\n".join(self._data), []
            self._event(event)

    def payload(self) -> object:
        """The whole; as ``ChatPieces.payload``."""
        self.line(b"")
        return self._pieces.payload()

    def _event(self, data: bytes) -> None:
        if data.strip() == b"[DONE]":
            self._pieces.is_ended = True
            return
        self._marks += sum(map(data.count, (b",", b"[", b"{")))
        if self._marks > MAX_MARKS:
            raise too_many_values(self._model, self._where)
        self._pieces.add(parsed(data, {"Content-Type": "an event"}, model=self._model, where=self._where))


def refusal_of(error: object, model: str, where: str = "") -> ModelError:
    """The error for a failure that is reported inside a stream, which has no status of its own."""
    about = error if isinstance(error, dict) else {"message": error}
    code = about.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    detail = f"{about.get('message', '')} [{about.get('type') or code or ''}]".removesuffix(" []")
    return from_status(status, model=model, where=where, detail=detail)


def broken_off(model: str, where: str = "") -> Unavailable:
    """The error for a stream that ended before its reply did."""
    message = stored("{model}: the server broke off before the end of its answer; repeat the command.", model=model)
    if where:
        message = stored(
            "{model} at {server}: the server broke off before the end of its answer; repeat the command.",
            model=model,
            server=where,
        )
    return Unavailable(message, model=model)
