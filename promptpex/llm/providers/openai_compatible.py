"""OpenAI and every server that speaks its chat completions, over a lean HTTP client.

A sixth to a twentieth of the CPU time that the usual client libraries take per request, which is what decides how
many requests one process can keep in flight.

Keys are bound to servers: to scheme, host and port. ``OPENAI_API_KEY`` goes to OpenAI's own, and to the one that
``OPENAI_BASE_URL`` (or ``OPENAI_API_BASE``) names, since whoever sets both means them for each other.
``PROMPTPEX_API_KEY`` goes to that one too, and to the servers that the user named (``ProviderOptions.key_servers``);
never to one that only a file of a checkout names. The same holds for the variable that ``key_env`` of a named model
names (``[models.small]``). No key goes to OpenAI's host without TLS.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from promptpex.core.errors import BadRequest, ModelError, NotAuthorised
from promptpex.core.events import Notice
from promptpex.core.records import Completion, Request
from promptpex.core.translation import stored
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.http import JsonPoster, JsonReply, checked_base
from promptpex.llm.providers.openai_format import AS_STREAM, ChatEvents, completion_of, request_body
from promptpex.llm.providers.prices import cost_of
from promptpex.llm.resolve_model import OPENAI, origin
from promptpex.llm.streaming import Streams

_PATH = "/chat/completions"
_ABOUT_USAGE = re.compile("stream_options|include_usage")
_DROPPABLE = ("temperature", "top_p", "seed", "stop", "logprobs", "top_logprobs")
_REFUSES = ("unsupported", "not support", "unrecognized", "unknown parameter", "not permitted", "extra inputs")


class OpenAICompatible:
    """A ``Client`` for one OpenAI-compatible server.

    A parameter that a model refuses by name is left out from then on, with a notice. A refused JSON schema is not: the
    refusal is raised, since whoever sent the schema has to say in words what it said (``llm/fallback.py``).
    """

    def __init__(self, base_url: str | None = None, options: ProviderOptions | None = None) -> None:
        self._options = options or ProviderOptions()
        self.base_url = api_root(base_url or own_base())
        self._http = JsonPoster(self.base_url, timeout_s=self._options.timeout_s)
        self._refused: dict[str, set[str]] = {}
        self._streams = Streams()
        self._uncounted: set[str] = set()

    async def complete(self, request: Request) -> Completion:
        """The server's answer to ``request``; or an ``errors.ModelError``."""
        headers = self._headers(request.model, request.key_env)
        model = bare_name(request.model)
        while True:
            body = self._body(request, model)
            try:
                reply = await self._posted(request.model, body, headers)
            except BadRequest as error:
                if not self._learn(request.model, body, error):
                    raise
                continue
            answer = completion_of(reply.payload, model=request.model, latency_ms=reply.latency_ms)
            cost = cost_of(request.model, answer, prices=self._options.prices, hosted=self.is_openai)
            return answer if cost is None else answer.model_copy(update={"cost_usd": cost})

    async def _posted(self, name: str, body: Mapping[str, object], headers: Mapping[str, str]) -> JsonReply:
        """The reply: as a stream where somebody watches and the server takes that, else as a whole."""
        watcher = self._streams.watcher_of(name)
        while watcher is not None:
            watcher.begin()
            events = ChatEvents(name, self.base_url, watcher)
            sent = {**body, "stream": True} if name in self._uncounted else {**body, **AS_STREAM}
            try:
                reply = await self._http.post(_PATH, sent, model=name, headers=headers, streamed=events)
            except ModelError as error:
                if isinstance(error, BadRequest) and _ABOUT_USAGE.search(error.message) and "stream_options" in sent:
                    self._uncounted.add(name)
                    continue
                if not self._streams.failed(name, error, has_begun=events.has_begun):
                    raise
                watcher.begin()
                break
            self._streams.came(name)
            return reply
        return await self._http.post(_PATH, body, model=name, headers=headers)

    async def models(self, key_env: str | None = None) -> list[str]:
        """The ids that the server lists; ``key_env`` as in ``ModelName``."""
        payload = await self._http.get("/models", headers=self._headers("the server", key_env))
        entries = payload.get("data") if isinstance(payload, dict) else None
        ids = [entry.get("id") for entry in entries or () if isinstance(entry, dict)]
        return sorted(each for each in ids if isinstance(each, str))

    async def close(self) -> None:
        await self._http.close()

    @property
    def is_openai(self) -> bool:
        return _origin(self.base_url) == _origin(OPENAI)

    def _headers(self, model: str, variable: str | None = None) -> Mapping[str, str]:
        key = key_for(self.base_url, self._options.key_servers, variable)
        if variable and not key:
            raise NotAuthorised(_why_no_key(model, variable, self.base_url), model=model)
        if key:
            return {"Authorization": f"Bearer {key}"}
        if self.is_openai:
            raise NotAuthorised(
                stored("{model}: no key for OpenAI; set OPENAI_API_KEY in the environment.", model=model), model=model
            )
        return {}

    def _body(self, request: Request, model: str) -> dict[str, object]:
        refused = self._refused.get(request.model, set())
        renamed = self.is_openai or "max_tokens" in refused
        body = request_body(request, model, limit_name="max_completion_tokens" if renamed else "max_tokens")
        return {name: value for name, value in body.items() if name not in refused} if refused else body

    def _learn(self, model: str, body: Mapping[str, object], error: ModelError) -> bool:
        """Remembers the parameter that ``error`` says the model refuses; False if it says nothing of the kind."""
        text = error.message.lower()
        refused = self._refused.setdefault(model, set())
        if "max_completion_tokens" in text and "max_tokens" in body:
            refused.add("max_tokens")
            return True
        named = [name for name in _DROPPABLE if name in body and name in text]
        if not named or not any(word in text for word in _REFUSES):
            return False
        if "logprobs" in named and "top_logprobs" in body:
            named.append("top_logprobs")
        new = set(named) - refused
        refused.update(named)
        if not new:  # another request was refused at the same time
            return True
        names = ", ".join(sorted(new))
        self._options.emit(
            Notice(
                stored("{model} refuses {names}; it is asked without from now on.", model=model, names=names), "warning"
            )
        )
        return True


def bare_name(name: str) -> str:
    return name.removeprefix("openai/")


def api_root(base_url: str) -> str:
    base = checked_base(base_url)
    return base if urlsplit(base).path else f"{base}/v1"


def own_base() -> str:
    return os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or OPENAI


def key_for(base_url: str, key_servers: Collection[str] = (), variable: str | None = None) -> str | None:
    """The key that may go to this server; see the module.

    Args:
        base_url: the server.
        key_servers: origins that the user named, as ``routes.origin`` writes them.
        variable: the one that the user named for the key; no other is looked at.
    """
    where, openai, own = _origin(base_url), _origin(OPENAI), _origin(own_base())
    if where != openai and urlsplit(where).hostname == urlsplit(openai).hostname:
        return None
    if variable is not None:
        key = os.environ.get(variable) if where in (openai, own, *key_servers) else None
        return (key or "").strip() or None
    custom = os.environ.get("PROMPTPEX_API_KEY") if where != openai and where in (own, *key_servers) else None
    key = os.environ.get("OPENAI_API_KEY") if where in (openai, own) else None
    return (custom or key or "").strip() or None


def _why_no_key(model: str, variable: str, base_url: str) -> str:
    """Why the key that the user named for a model does not go to its server."""
    if not os.environ.get(variable, "").strip():
        return stored(
            "{model}: its key is to come from {name}, which is not set in the environment.", model=model, name=variable
        )
    return stored(
        "{model}: the key in {name} is not sent to {server}: name that server by flag or in your own settings.",
        model=model,
        name=variable,
        server=_origin(base_url),
    )


@lru_cache(maxsize=64)
def _origin(base_url: str) -> str:
    """The origin of a base URL; remembered, as every request asks for it."""
    return origin(checked_base(base_url))
