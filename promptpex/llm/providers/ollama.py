"""Ollama, straight through its ``/api/chat``.

By default Ollama cuts a prompt that exceeds the context, silently and with success (Ollama, docs/context-length and
issue 3839). Three layers keep such an answer from ever being scored: the context is sized from the prompt and always
sent; the server is told neither to truncate nor to shift, which newer ones obey; and the count of prompt tokens that
comes back is held against the context and against the least that the prompt can have.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from promptpex.core.errors import ContextTooSmall, MalformedReply, ModelError, Unavailable, UnknownModel
from promptpex.core.events import Notice
from promptpex.core.records import Completion, Message, Request
from promptpex.core.translation import stored
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.http import MAX_MARKS, JsonPoster, JsonReply, parsed
from promptpex.llm.providers.ollama_admin import ModelFacts, host_url, missing, pull, show
from promptpex.llm.providers.openai_format import (
    TOP_LOGPROBS,
    broken_off,
    content_text,
    count_or_none,
    logprobs_of,
    plain_messages,
    text_or_none,
)
from promptpex.llm.providers.prices import price_of
from promptpex.llm.resolve_model import is_ollama_cloud
from promptpex.llm.streaming import Watcher, watcher

FIRST_CONTEXT = 4096
MOST_CONTEXT = 131_072
"""Tokens of context that a model is given at most which does not say what it was trained for."""
REPLY_ROOM = 1024
"""Tokens kept free for an answer whose length the request does not limit."""
_CHARS_PER_TOKEN = 3.0
_RUNS = re.compile(r"[A-Za-z]+|[0-9]+")
_TOP_LEVEL = ("think", "keep_alive")


class OllamaClient:
    """A ``Client`` for one Ollama server."""

    def __init__(self, host: str | None = None, options: ProviderOptions | None = None) -> None:
        self._options = options or ProviderOptions()
        self.base_url = host_url(host)
        self._http = JsonPoster(self.base_url, timeout_s=self._options.timeout_s)
        self._facts: dict[str, ModelFacts] = {}
        self._contexts: dict[str, int] = {}
        self._asking = asyncio.Lock()

    async def complete(self, request: Request) -> Completion:
        """The server's answer to ``request``; or an ``errors.ModelError``."""
        model = bare_name(request.model)
        facts = await self._known(model)
        least = least_tokens(request.messages)
        if facts.context is not None and least > facts.context:
            raise _too_small(request.model, facts.context, stored("at least {count} tokens", count=least))
        while True:
            context = self._context(request, model, facts)
            reply = await self._post(request, model, context)
            if reply is not None and not self._grown(request, model, context, reply.payload):
                break
        answer = _completion(reply, request.model)
        _check_whole(answer, request, context, least)
        return answer.model_copy(update={"cost_usd": self._cost(request.model, answer)})

    async def close(self) -> None:
        await self._http.close()

    async def _post(self, request: Request, model: str, context: int) -> JsonReply | None:
        """The reply; None where the context proved too small and a larger one will be asked for."""
        body = _body(request, model, context)
        watch = watcher()
        lines = _ChatLines(request.model, watch) if watch is not None else None
        if watch is not None:
            watch.begin()
            body["stream"] = True
        try:
            return await self._http.post(
                "/api/chat", body, model=request.model, headers=self._headers(), streamed=lines
            )
        except UnknownModel as error:
            self._facts.pop(model, None)
            raise missing(model, self.base_url) from error
        except ContextTooSmall:
            if not self._grow(request, model, context):
                raise
            return None

    def _grow(self, request: Request, model: str, context: int) -> bool:
        """Asks for twice the context from now on; False where there is no more, or the user chose its size.

        Each size makes the server load the model again, so there is an end also where the model names none.
        """
        most = self._facts.get(model, ModelFacts()).context or MOST_CONTEXT
        if context >= most or "num_ctx" in request.params.extra:
            return False
        self._contexts[model] = max(self._contexts.get(model, 0), min(context * 2, most))
        return True

    def _grown(self, request: Request, model: str, context: int, payload: Any) -> bool:
        """Whether the answer says that the context was tight, and a larger one will be asked for."""
        if not isinstance(payload, dict):
            raise _no_answer(request.model, stored("it is a JSON {kind}, not an object", kind=type(payload).__name__))
        counted = count_or_none(payload.get("prompt_eval_count")) or 0
        tokens_made = count_or_none(payload.get("eval_count")) or 0
        limit = request.params.max_tokens
        ran_out = payload.get("done_reason") == "length" and limit is not None and tokens_made < limit
        return (counted >= context - 1 or ran_out) and self._grow(request, model, context)

    def _context(self, request: Request, model: str, facts: ModelFacts) -> int:
        """Tokens of context to ask for: room for prompt and answer, and never less than before.

        Another size makes the server load the model again, so it grows in powers of two and does not shrink.
        """
        chosen = request.params.extra.get("num_ctx")
        if isinstance(chosen, int) and chosen > 0:
            return chosen
        needed = likely_tokens(request.messages) + (request.params.max_tokens or REPLY_ROOM)
        context = max(FIRST_CONTEXT, 1 << (needed - 1).bit_length(), self._contexts.get(model, 0))
        context = min(context, facts.context) if facts.context else context
        self._contexts[model] = context
        return context

    async def _known(self, model: str) -> ModelFacts:
        facts = self._facts.get(model)
        if facts is not None:
            return facts
        async with self._asking:
            if model not in self._facts:
                self._facts[model] = await self._asked(model)
            return self._facts[model]

    async def _asked(self, model: str) -> ModelFacts:
        timeout_s = min(60.0, self._options.timeout_s)
        try:
            return await asyncio.to_thread(show, model, self.base_url, timeout_s=timeout_s)
        except UnknownModel:
            if not self._options.pull:
                raise
        await self._pull(model)
        return await asyncio.to_thread(show, model, self.base_url, timeout_s=timeout_s)

    async def _pull(self, model: str) -> None:
        printed: set[str] = set()

        def on_status(status: str, done: int | None, total: int | None) -> None:
            tenth = f" {10 * (done * 10 // total)}%" if done and total else ""
            line = stored("Pulling {model}: {status}", model=model, status=f"{status}{tenth}")
            if line not in printed:
                printed.add(line)
                self._options.emit(Notice(line))

        await asyncio.to_thread(pull, model, on_status, self.base_url)

    def _headers(self) -> Mapping[str, str]:
        """A key for Ollama's own cloud; servers of one's own take none."""
        key = os.environ.get("OLLAMA_API_KEY", "").strip()
        return {"Authorization": f"Bearer {key}"} if key and is_ollama_cloud(self.base_url) else {}

    def _cost(self, name: str, answer: Completion) -> float | None:
        """The user's price; else nothing for a server of one's own, and unknown for the cloud."""
        prices = self._options.prices
        if name in prices or bare_name(name) in prices:
            return price_of(name if name in prices else bare_name(name), answer.tokens_in, answer.tokens_out, prices)
        return None if is_ollama_cloud(self.base_url) else 0.0


def bare_name(name: str) -> str:
    return name.removeprefix("ollama/").removeprefix("ollama_chat/")


def likely_tokens(messages: Sequence[Message]) -> int:
    """Tokens that the messages will hardly exceed: 3 characters of ASCII to a token, one of any other script."""
    total = 64
    for message in messages:
        wide = 0 if message.content.isascii() else sum(not char.isascii() for char in message.content)
        total += 16 + wide + int((len(message.content) - wide) / _CHARS_PER_TOKEN)
    return total


def least_tokens(messages: Sequence[Message]) -> int:
    """Tokens that the messages have at the very least.

    One for each run of letters and of digits within a word, since tokenizers split there and at blanks; and one for
    every eight characters of scripts that write without blanks.
    """
    return sum(_least_of(word) for message in messages for word in message.content.split())


def _least_of(word: str) -> int:
    if word.isascii():
        return max(1, len(_RUNS.findall(word)))
    return max(1, sum(not char.isascii() for char in word) // 8)


def _body(request: Request, model: str, context: int) -> dict[str, Any]:
    params = request.params
    options: dict[str, Any] = {"num_ctx": context}
    named = (
        ("temperature", params.temperature),
        ("top_p", params.top_p),
        ("seed", params.seed),
        ("num_predict", params.max_tokens),
        ("stop", list(params.stop) if params.stop else None),
    )
    options.update({name: value for name, value in named if value is not None})
    options.update({name: value for name, value in params.extra.items() if name not in _TOP_LEVEL})
    body: dict[str, Any] = {
        "model": model,
        "messages": plain_messages(request),
        "stream": False,
        "truncate": False,
        "shift": False,
        "options": options,
    }
    body.update({name: params.extra[name] for name in _TOP_LEVEL if name in params.extra})
    if request.reply_schema is not None:
        body["format"] = request.reply_schema
    if params.logprobs:
        body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    return body


class _ChatLines:
    """A streamed answer, a JSON object a line, put together (docs/api.md, "Chat request (Streaming)")."""

    media_type = "application/x-ndjson"

    def __init__(self, name: str, seen: Watcher) -> None:
        self._name, self._seen = name, seen
        self._texts: dict[str, list[str]] = {"content": [], "thinking": []}
        self._logprobs: list[object] = []
        self._last: dict[str, object] = {}
        self._marks = 0

    def line(self, data: bytes) -> None:
        """Takes the next object.

        Raises:
            MalformedReply: it is none, or all together are made of too many values.
        """
        if not data.strip():
            return
        self._marks += sum(map(data.count, (b",", b"[", b"{")))
        piece = parsed(data, {"Content-Type": self.media_type}, model=self._name, where="Ollama")
        if not isinstance(piece, dict) or self._marks > MAX_MARKS:
            raise _no_answer(self._name, stored("a stream of other things, or of too many"))
        self._last = {**self._last, **piece}
        self._logprobs += piece["logprobs"] if isinstance(piece.get("logprobs"), list) else []
        message = piece.get("message")
        if isinstance(message, dict):
            for name, parts in self._texts.items():
                parts.append(content_text(message.get(name)))
            self._seen.add(self._texts["content"][-1])

    def payload(self) -> object:
        """The answer as one object.

        Raises:
            Unavailable: the stream broke off.
        """
        if not (self._last.get("done") or self._last.get("error")):
            raise broken_off(self._name, "Ollama")
        message = {name: "".join(parts) for name, parts in self._texts.items()}
        return {**self._last, "message": message, "logprobs": self._logprobs}


def _completion(reply: JsonReply, name: str) -> Completion:
    payload = reply.payload
    if not isinstance(payload, dict):
        raise _no_answer(name, stored("no object"))
    if isinstance(payload.get("error"), str):
        failed = stored("{model}: Ollama failed ({why}); repeat the command.", model=name, why=payload["error"][:300])
        raise Unavailable(failed, model=name)
    message = payload.get("message")
    if not isinstance(message, dict):
        raise _no_answer(name, stored("no message"))
    return Completion(
        text=content_text(message.get("content")),
        finish_reason=text_or_none(payload.get("done_reason")) or ("stop" if payload.get("done") else None),
        reasoning=text_or_none(message.get("thinking")),
        tokens_in=count_or_none(payload.get("prompt_eval_count")),
        tokens_out=count_or_none(payload.get("eval_count")),
        latency_ms=reply.latency_ms,
        model_reported=text_or_none(payload.get("model")),
        logprobs=logprobs_of(payload.get("logprobs")),
    )


def _check_whole(answer: Completion, request: Request, context: int, least: int) -> None:
    """Refuses an answer to a prompt that was cut.

    Without a count there is nothing to hold against it: older servers leave it out for a prompt they had cached.
    """
    counted = answer.tokens_in
    if not counted:
        return
    if counted >= context - 1:
        raise _too_small(request.model, context, stored("as many tokens or more"))
    if counted < least:
        message = stored(
            "{model}: the server read {count} tokens of a prompt of at least {least}, so it cut the prompt; shorten "
            "it, or give the model a larger context (?num_ctx=N).",
            model=request.model,
            count=counted,
            least=least,
        )
        raise ContextTooSmall(message, model=request.model)


def _too_small(name: str, context: int, size: str) -> ContextTooSmall:
    message = stored(
        "{model}: the prompt has {words} and the context {limit}; shorten the prompt or the input, or use a model "
        "with a larger context.",
        model=name,
        words=size,
        limit=context,
    )
    return ContextTooSmall(message, model=name)


def _no_answer(name: str, what: str) -> ModelError:
    message = stored(
        "{model}: the server's reply is not an answer of Ollama's chat API: {reason}; check the address.",
        model=name,
        reason=what,
    )
    return MalformedReply(message, model=name)
