"""The chat-completions format of OpenAI and all who speak it: a request's body, a reply's meaning, and streamed pieces.

OpenAI API reference, "Create chat completion". Servers differ in what they leave out, so that everything but the
first choice's message is optional here.

Pieces: OpenAI API reference, "Streaming"; HTML standard, "Server-sent events".
"""

from __future__ import annotations

from typing import Any

from promptpex.core.errors import MalformedReply, ModelError, Unavailable
from promptpex.core.records import MAX_TOKENS_COUNTED, Completion, Request, TokenLogprob
from promptpex.core.translation import stored
from promptpex.llm.error_mapping import from_status
from promptpex.llm.providers.http import MAX_MARKS, parsed, too_many_values
from promptpex.llm.schemas import is_closed
from promptpex.llm.streaming import Watcher

TOP_LOGPROBS = 5


def request_body(request: Request, model: str, *, limit_name: str = "max_tokens") -> dict[str, object]:
    """The JSON body that asks ``request`` of ``model``.

    Args:
        request: what to ask; unknown parameters (``params.extra``) ride along unchanged and win over ours.
        model: the id that the server knows.
        limit_name: what this server calls the token limit.
    """
    params = request.params
    body: dict[str, object] = {
        "model": model,
        "messages": plain_messages(request),
    }
    if params.temperature is not None:
        body["temperature"] = params.temperature
    if params.max_tokens is not None:
        body[limit_name] = params.max_tokens
    if params.top_p is not None:
        body["top_p"] = params.top_p
    if params.seed is not None:
        body["seed"] = params.seed
    if params.stop:
        body["stop"] = list(params.stop)
    if params.logprobs:
        body["logprobs"] = True
        body["top_logprobs"] = TOP_LOGPROBS
    if request.reply_schema is not None:
        body["response_format"] = response_format(request.reply_schema, name=request.stage, strict=request.strict)
    body.update(params.extra)
    return body


def plain_messages(request: Request) -> list[dict[str, str]]:
    """The turns as servers take them, lone surrogates, which UTF-8 cannot encode, replaced."""
    return [{"role": message.role, "content": _encodable(message.content)} for message in request.messages]


def response_format(schema: dict[str, object], *, name: str = "", strict: bool = True) -> dict[str, object]:
    """The ``response_format`` that asks for JSON of this schema.

    Args:
        name: what the schema is called; characters that OpenAI refuses become underscores.
        strict: whether the server is to hold the reply to the schema, where the schema is one that it can hold to.
    """
    plain = "".join(char if char.isascii() and char.isalnum() else "_" for char in name)[:64]
    demand: dict[str, object] = {"name": plain or "reply", "schema": schema}
    if strict and is_closed(schema):
        demand["strict"] = True
    return {"type": "json_schema", "json_schema": demand}


def completion_of(payload: Any, *, model: str, latency_ms: float | None = None) -> Completion:
    """What a reply's JSON says.

    Raises:
        MalformedReply: no object, no choices, or a message that is not an object.
    """
    choice = _first_choice(payload, model)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _malformed(model, stored("its first choice holds no message"))
    usage = payload.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Completion(
        text=content_text(message.get("content")),
        finish_reason=text_or_none(choice.get("finish_reason")),
        refusal=text_or_none(message.get("refusal")),
        reasoning=text_or_none(message.get("reasoning_content")) or text_or_none(message.get("reasoning")),
        tokens_in=count_or_none(usage.get("prompt_tokens")),
        tokens_out=count_or_none(usage.get("completion_tokens")),
        latency_ms=latency_ms,
        model_reported=text_or_none(payload.get("model")),
        logprobs=logprobs_of(choice.get("logprobs")),
    )


def _first_choice(payload: object, model: str) -> dict[str, object]:
    if not isinstance(payload, dict):
        raise _malformed(model, stored("it is a JSON {kind}, not an object", kind=type(payload).__name__))
    choices = payload.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _malformed(model, stored("it holds no choices"))
    return choices[0]


def _malformed(model: str, why: str) -> MalformedReply:
    message = stored(
        "{model}: the server's reply is not a chat completion: {reason}; check that the address is that of an "
        "OpenAI-compatible API.",
        model=model,
        reason=why,
    )
    return MalformedReply(message, model=model)


def content_text(content: object) -> str:
    """A message's content as text: a string, nothing, or a list of parts whose texts are joined."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def text_or_none(value: object) -> str | None:
    return _encodable(value) if isinstance(value, str) and value else None


def count_or_none(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= MAX_TOKENS_COUNTED else None


def logprobs_of(value: object) -> tuple[TokenLogprob, ...] | None:
    """Log-probabilities per token, from an object with ``content`` or a bare list; malformed entries are left out."""
    entries = value.get("content") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        return None
    tokens = (_token(entry) for entry in entries)
    return tuple(token for token in tokens if token is not None) or None


def _token(entry: Any) -> TokenLogprob | None:
    if not (isinstance(entry, dict) and isinstance(entry.get("token"), str) and _is_number(entry.get("logprob"))):
        return None
    top = entry.get("top_logprobs")
    others = [each for each in top if isinstance(each, dict)] if isinstance(top, list) else []
    pairs: list[tuple[Any, Any]] = [(each.get("token"), each.get("logprob")) for each in others]
    top_tokens = tuple(
        (_encodable(name), float(value)) for name, value in pairs if isinstance(name, str) and _is_number(value)
    )
    return TokenLogprob(token=_encodable(entry["token"]), logprob=float(entry["logprob"]), top=top_tokens)


def _encodable(text: str) -> str:
    """Lone surrogates, which no file can hold, as question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _is_number(value: object) -> bool:
    """A finite number: JSON as Python reads it may hold NaN and infinities, which no store of ours takes."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e300 < value < 1e300


AS_STREAM = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks for a stream, with the tokens counted at its end."""


class ChatPieces:
    """Chunks of one chat completion: the JSON that they would be as a whole."""

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
