"""Short ways to write requests in tests of providers."""

from __future__ import annotations

import socket
from typing import Any

from promptpex.core.records import Message, Params, Request

GREETING = "Say hello."


def asked(
    model: str,
    text: str = GREETING,
    *,
    api_base: str | None = None,
    schema: dict[str, Any] | None = None,
    system: str | None = None,
    **params: Any,
) -> Request:
    """A request of one user turn, its settings by name."""
    turns = [Message(role="user", content=text)]
    if system is not None:
        turns.insert(0, Message(role="system", content=system))
    return Request(model=model, messages=tuple(turns), params=Params(**params), reply_schema=schema, api_base=api_base)


def closed_port() -> int:
    """A loopback port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
