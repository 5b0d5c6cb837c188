"""Embedded models: ``embedded/smollm2-135m`` and ``embedded/PATH.gguf``, by llama.cpp in this process."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable
from typing import Any

from promptpex.core.errors import BadRequest
from promptpex.core.records import Completion, Request
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.llama_engine import Ask, LlamaEngine, LlamaEngineKey, acquire, release, thread_count
from promptpex.llm.providers.openai_format import AS_STREAM, completion_of, request_body, response_format
from promptpex.llm.providers.prices import rates_of
from promptpex.llm.providers.weights import DEFAULT_MODEL, weights_path
from promptpex.llm.streaming import Watcher, sending, watcher

REPLY_LIMIT = 1024
"""Tokens of an answer where the request sets no limit: small models may never end by themselves."""

LONGEST_TEXT = 240
"""Characters of a free text in a structured reply of the default model."""

MOST_ITEMS = 6
"""Items of a list in a structured reply of the default model, where not more are demanded."""

_STREAM = {**AS_STREAM, "return_progress": True}
_KEYWORDS_OF_SCHEMAS = ("properties", "$defs", "definitions")


class EmbeddedClient:
    """A ``Client`` for one embedded model. Answers cost nothing; replies to a schema are held to it as they form."""

    def __init__(self, name: str, options: ProviderOptions | None = None) -> None:
        self.name = name
        self._options = options or ProviderOptions()
        self._engine: LlamaEngine | None = None
        self._opening = asyncio.Lock()
        self._unconstrained: set[str] = set()

    async def complete(self, request: Request) -> Completion:
        """The model's answer to ``request``; or an ``errors.ModelError``. A cancelled request stops the model soon."""
        engine = await self._open()
        body = _body(request)
        schema_id = str(request.reply_schema)
        if request.reply_schema is not None and schema_id in self._unconstrained:
            del body["response_format"]
        try:
            payload, latency_ms = await self._asked(engine, request.model, body)
        except BadRequest:
            if "response_format" not in body:
                raise
            self._unconstrained.add(schema_id)
            del body["response_format"]
            payload, latency_ms = await self._asked(engine, request.model, body)
        answer = completion_of(payload, model=request.model, latency_ms=latency_ms)
        return answer.model_copy(update={"model_reported": engine.key.path.stem, "cost_usd": self._cost(answer)})

    async def close(self) -> None:
        """Frees the model when nothing else in this process uses it."""
        engine, self._engine = self._engine, None
        free = release(engine) if engine is not None else None
        if free is not None:
            await asyncio.to_thread(free)

    async def _open(self) -> LlamaEngine:
        async with self._opening:
            if self._engine is None:
                options = self._options
                path = await asyncio.to_thread(
                    weights_path, self.name, configured=options.embedded_model_path, emit=options.emit
                )
                key = LlamaEngineKey(path, thread_count(options.embedded_threads), max(1, options.embedded_slots))
                self._engine = acquire(key)
            return self._engine

    async def _asked(self, engine: LlamaEngine, model: str, body: dict[str, Any]) -> tuple[dict[str, Any], float]:
        ask = Ask(model, body, threading.Event(), self._options.timeout_s)
        watch, loop = watcher(), asyncio.get_running_loop()
        if watch is not None:
            ask.tell = _from_thread(watch, loop, ask.cancelled)
        sending()
        try:
            return await loop.run_in_executor(engine.pool, engine.ask, ask)
        except asyncio.CancelledError:
            ask.cancelled.set()
            raise

    def _cost(self, answer: Completion) -> float:
        rates = rates_of(self.name, self._options.prices) if self.name in self._options.prices else None
        if rates is None:
            return 0.0
        return ((answer.tokens_in or 0) * rates[0] + (answer.tokens_out or 0) * rates[1]) / 1e6


def _from_thread(
    seen: Watcher, loop: asyncio.AbstractEventLoop, cancelled: threading.Event
) -> Callable[[str | None], None]:
    """Tells a watcher in the loop's thread what comes in another one."""

    def tell(text: str | None) -> None:
        if text == "" or cancelled.is_set():
            return
        with contextlib.suppress(RuntimeError):  # the loop was closed and waits for nothing any more
            if text is None:
                loop.call_soon_threadsafe(seen.begin)
            else:
                loop.call_soon_threadsafe(seen.add, text)

    return tell


def _body(request: Request) -> dict[str, Any]:
    body = request_body(request, request.model)
    body.setdefault("max_tokens", REPLY_LIMIT)
    if request.reply_schema is not None and "response_format" in body:
        schema = grammar_schema(request.reply_schema)
        tiny = request.model == DEFAULT_MODEL
        body["response_format"] = response_format(bounded(schema) if tiny else schema, name=request.stage)
    return body | _STREAM


def bounded(schema: Any) -> Any:
    """``schema`` with a bound on every free text and list: held to a grammar, a very small model finds no end by
    itself."""
    if isinstance(schema, list):
        return [bounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    free = schema.get("type") == "string" and not schema.keys() & {"enum", "const", "pattern", "maxLength"}
    bounds = {"maxLength": LONGEST_TEXT} if free else {}
    if schema.get("type") == "array":
        most = max(MOST_ITEMS, schema.get("minItems", 0))
        bounds = {"maxItems": min(most, schema.get("maxItems", most))}
    return {key: bounded(value) for key, value in schema.items()} | bounds


def grammar_schema(schema: Any) -> Any:
    """``schema`` without the patterns that llama.cpp's grammars cannot hold; a reply is checked again afterwards.

    It takes patterns that are anchored at both ends and use neither groups with ``?`` nor word boundaries; for others
    it writes a warning to the terminal and accepts any text.
    """
    if isinstance(schema, list):
        return [grammar_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _named(value) if key in _KEYWORDS_OF_SCHEMAS else grammar_schema(value)
        for key, value in schema.items()
        if not (key == "pattern" and not _holdable(value))
    }


def _named(schemas: Any) -> Any:
    """Schemas under names of the user's, where ``pattern`` is a name like any other."""
    return {name: grammar_schema(each) for name, each in schemas.items()} if isinstance(schemas, dict) else schemas


def _holdable(pattern: Any) -> bool:
    if not isinstance(pattern, str) or not (pattern.startswith("^") and pattern.endswith("$")):
        return False
    return re.search(r"\(\?|\\[bBpPkuAZ1-9]|[*+?}][?+]", pattern) is None
