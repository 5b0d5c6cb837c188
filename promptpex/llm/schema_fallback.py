"""Models that take no reply schema, learned as they refuse or ignore it.

This sits below the cache: a request keeps its id whatever its model turns out to take, so that what was learned (or
not yet) in one run changes no question of the next.
"""

from __future__ import annotations

import re

from promptpex.codecs.model_json import ReplyError, read_json_reply
from promptpex.core.errors import BadRequest
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import Completion, Message, Request
from promptpex.core.translation import stored
from promptpex.llm.client import Client
from promptpex.llm.schemas import described, follows

_ABOUT_STRICTNESS = re.compile(r"strict|invalid.{0,20}schema|not permitted|must be supplied|keyword", re.I)
_ABOUT_THE_SCHEMA = re.compile(r"response.?format|json.?schema|schema|structured.?output|grammar|\bformat\b", re.I)


class SchemaFallback:
    """Sends reply schemas to models that take them, and asks the others in words.

    A schema is sent as a strict one; a model that refuses it as such is sent it as a plain one from then on. One that
    refuses that too is asked again without it, the schema written into its last message, and so from then on. One
    that takes the schema and does not follow it is from then on told in words as well.
    """

    def __init__(self, inner: Client, emit: Listener = ignore_events) -> None:
        self._inner = inner
        self._emit = emit
        self._lenient: set[tuple[str, str | None, str | None]] = set()
        self._refusing: set[tuple[str, str | None, str | None]] = set()
        self._ignoring: set[tuple[str, str | None, str | None]] = set()

    async def complete(self, request: Request) -> Completion:
        """The answer of ``inner``, asked for in the way that its model understands."""
        schema = request.reply_schema
        if schema is None:
            return await self._inner.complete(request)
        model = request.answerer
        if model not in self._refusing:
            try:
                return self._watched(await self._with_schema(self._sent(request)), request)
            except BadRequest as error:
                if not _ABOUT_THE_SCHEMA.search(error.message):
                    raise
                self._learn(request)
        return await self._inner.complete(in_words(request).replace(reply_schema=None))

    async def close(self) -> None:
        await self._inner.close()

    async def _with_schema(self, request: Request) -> Completion:
        model = request.answerer
        if model not in self._lenient:
            try:
                return await self._inner.complete(request)
            except BadRequest as error:
                if not _ABOUT_STRICTNESS.search(_without(request.model, error.message)):
                    raise
                self._lenient.add(model)
        return await self._inner.complete(request.replace(strict=False))

    def _sent(self, request: Request) -> Request:
        return in_words(request) if request.answerer in self._ignoring else request

    def _learn(self, request: Request) -> None:
        model = request.answerer
        if model not in self._refusing:
            self._refusing.add(model)
            self._emit(
                Notice(stored("{model} takes no reply schema; it is asked in words from now on.", model=request.model))
            )

    def _watched(self, completion: Completion, request: Request) -> Completion:
        """The completion, after a look whether its model followed the schema."""
        model = request.answerer
        if model not in self._ignoring and completion.finish_reason == "stop" and completion.text.strip():
            try:
                followed = follows(read_json_reply(completion.text).value, request.reply_schema or {})
            except ReplyError:
                followed = False
            if not followed:
                self._ignoring.add(model)
        return completion


def _without(model: str, message: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(model)}(?!\w)", "", message)


def in_words(request: Request) -> Request:
    """The request with its schema described at the end of its last message."""
    if not request.messages or request.reply_schema is None:
        return request
    words = described(request.reply_schema)
    last = request.messages[-1]
    if words in last.content:
        return request
    with_schema = Message(role=last.role, content=f"{last.content}\n\n{words}")
    return request.replace(messages=(*request.messages[:-1], with_schema))
