"""Which server a request goes to: what limits, lanes and circuit breakers are kept per."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from promptpex.records import Request


@dataclass(frozen=True, slots=True)
class Server:
    """Where requests end up.

    Attributes:
        key: its name.
        start: requests in flight to begin with; None = as many as are allowed at all.
        one_model_at_a_time: whether its models share one machine, so that each should be loaded once.
    """

    key: str
    start: int | None = None
    one_model_at_a_time: bool = False


def server_of(request: Request) -> Server:
    """The server of a request; see ``server_named``."""
    return server_named(request.model, request.api_base)


@lru_cache(maxsize=1024)
def server_named(model: str, api_base: str | None = None) -> Server:
    """The server of a model, by its base URL or the provider in the model's name.

    Models that run in this process begin with one request in flight, an Ollama with two. They, and servers on this
    machine, serve one model at a time.
    """
    provider, slash, _ = model.partition("/")
    if not slash:
        provider = "ollama" if ":" in model and not api_base else ""
    if provider == "embedded":
        return Server("embedded", start=1, one_model_at_a_time=True)
    if provider in ("ollama", "ollama_chat"):
        return Server(f"ollama {api_base or ''}".strip(), start=2, one_model_at_a_time=True)
    if api_base:
        return Server(api_base, one_model_at_a_time=_on_this_machine(api_base))
    return Server(provider or "default")


def _on_this_machine(url: str) -> bool:
    host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
