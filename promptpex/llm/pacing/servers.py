"""Which server a request goes to: what limits and turns are kept per."""

from __future__ import annotations

from promptpex.core.records import Request
from promptpex.llm.routes import Server, resolve

__all__ = ["Server", "server_of_model", "server_of"]


def server_of(request: Request) -> Server:
    """The server of a request; see ``server_of_model``."""
    return server_of_model(request.model, request.api_base)


def server_of_model(model: str, api_base: str | None = None) -> Server:
    """The server of a model, by its base URL or its provider, under whichever of its names it is asked for."""
    return resolve(model, api_base).server
