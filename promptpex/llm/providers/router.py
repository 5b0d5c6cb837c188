"""One client for all models: each request goes to the provider that its model's name and server call for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from promptpex.core.errors import ModelError
from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client, Loading
from promptpex.llm.names import provider_of, takes_base
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.redaction import scrub, without_own_keys
from promptpex.llm.resolve_model import Provider, from_name

Opener = Callable[[str, str | None, ProviderOptions], Client]
"""Makes the client for a model's name and server."""


class Router:
    """A ``Client`` that opens providers when they are first needed and closes them all.

    Models that share a server share a client, with its connections and what it has learned.
    """

    def __init__(
        self, options: ProviderOptions | None = None, openers: Mapping[Provider, Opener] | None = None
    ) -> None:
        self._options = options or ProviderOptions()
        self._openers = {**OPENERS, **(openers or {})}
        self._routes: dict[tuple[str, str | None], Client] = {}
        self._clients: dict[tuple[str, ...], Client] = {}

    async def complete(self, request: Request) -> Completion:
        """The provider's answer to ``request``, or an ``errors.ModelError``; neither repeats a key of this machine."""
        try:
            return without_own_keys(await self._client_of(request).complete(request))
        except ModelError as error:
            error.reply = error.reply and scrub(error.reply)
            raise

    async def load(self, request: Request) -> None:
        client = self._client_of(request)
        if isinstance(client, Loading):
            await client.load(request)

    def _client_of(self, request: Request) -> Client:
        return self._routes.get((request.model, request.api_base)) or self.client_for(request.model, request.api_base)

    def client_for(self, name: str, api_base: str | None = None) -> Client:
        """The client that answers to this name.

        Raises:
            UnknownModel: no provider is known for the name.
            ConfigError: the address or the file in the name cannot be used.
        """
        base = api_base or (self._options.api_base if takes_base(name) else None)
        provider = provider_of(name, base)
        key = _shared_by(provider, name, base)
        client = self._clients.get(key)
        if client is None:
            client = self._clients[key] = self._openers[provider](name, base, self._options)
        self._routes[name, api_base] = client
        return client

    async def close(self) -> None:
        """Closes every provider; all are closed even if one fails to."""
        clients = list(self._clients.values())
        self._clients.clear()
        self._routes.clear()
        failed = await asyncio.gather(*(client.close() for client in clients), return_exceptions=True)
        for error in failed:
            if isinstance(error, BaseException):
                raise error


def _shared_by(provider: Provider, name: str, base: str | None) -> tuple[str, ...]:
    """What the names have in common that one client answers to: a server, a recording, or the name itself."""
    if provider == "litellm":
        return (provider,)
    if provider in ("openai-compatible", "ollama"):
        return provider, base or ""
    return provider, _recording_in(name) if provider == "replay" else name


def _recording_in(name: str) -> str:
    return from_name(name.removeprefix("replay/").partition("#")[0])


def _openai_compatible(name: str, api_base: str | None, options: ProviderOptions) -> Client:
    from promptpex.llm.providers.openai_compatible import OpenAICompatible

    return OpenAICompatible(api_base, options)


def _ollama(name: str, api_base: str | None, options: ProviderOptions) -> Client:
    from promptpex.llm.providers.ollama import OllamaClient

    return OllamaClient(api_base, options)


def _embedded(name: str, api_base: str | None, options: ProviderOptions) -> Client:
    from promptpex.llm.providers.embedded import EmbeddedClient

    return EmbeddedClient(name, options)


def _litellm(name: str, api_base: str | None, options: ProviderOptions) -> Client:
    from promptpex.llm.providers.litellm import LitellmClient

    return LitellmClient(options)


def _replay(name: str, api_base: str | None, options: ProviderOptions) -> Client:
    from promptpex.llm.record_replay import ReplayClient

    return ReplayClient(_recording_in(name))


def _fake(name: str, api_base: str | None, options: ProviderOptions) -> Client:
    from promptpex.llm.fake import FakeClient

    answer = name.removeprefix("fake/")
    return FakeClient(lambda request: answer)


OPENERS: Mapping[Provider, Opener] = {
    "openai-compatible": _openai_compatible,
    "ollama": _ollama,
    "embedded": _embedded,
    "litellm": _litellm,
    "replay": _replay,
    "fake": _fake,
}
