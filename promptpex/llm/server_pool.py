"""Several servers for one model: ``[models.small] api_base = ["http://a/v1", "http://b/v1"]`` in the settings.

Whoever lists them says that it makes no difference which of them answers. So a request's id holds neither the one that
did nor the list: it holds the name in the settings, and servers may be added, taken away and listed in any order
without asking anything anew. A single address stays what it was: part of the id.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from promptpex.core.errors import ConfigError
from promptpex.llm.redaction import scrub
from promptpex.llm.resolve_model import origin, resolve

MAX_SERVERS = 64
"""Servers of one model: each that stands idle costs a queue, each that is down a request now and then."""


def backend_of(name: str) -> str:
    """What the id of a request holds of the servers that the settings list for this name.

    Stored replies are found by it: it never changes.
    """
    return f"the servers of {name}"


def checked_servers(listed: Sequence[object]) -> tuple[str, ...]:
    """The base URLs of such a list in their one form, in its order.

    Raises:
        ValueError: it is empty or too long, has an invalid address, has one twice, or mixes http and https.
    """
    from promptpex.llm.providers.http import checked_base

    if not listed:
        raise ValueError("the list is empty; name a server, or leave it out")
    if len(listed) > MAX_SERVERS:
        raise ValueError(f"{len(listed)} servers are listed; one model may have up to {MAX_SERVERS}")
    if not all(isinstance(each, str) and each.strip() for each in listed):
        raise ValueError('each server of the list should be an address in quotes, such as "http://127.0.0.1:8080/v1"')
    try:
        servers = tuple(checked_base(str(each)) for each in listed)
    except ConfigError as error:
        raise ValueError(scrub(error.message)) from error
    first_of: dict[tuple[str, str], str] = {}
    for server in servers:
        twin = first_of.setdefault(_place(server), server)
        if twin is not server:
            raise ValueError(f"{server} is listed twice{f', once as {twin}' if twin != server else ''}; list it once")
    if len({urlsplit(server).scheme for server in servers}) > 1:
        raise ValueError(
            "http and https are mixed; the key of a model goes to all of its servers, so use https for all"
        )
    return servers


def require_one_kind(name: str, servers: Sequence[str]) -> None:
    """Refuses servers that would be spoken to in different ways.

    Raises:
        ConfigError: with one of each.
    """
    first_of: dict[str | None, str] = {}
    for server in servers:
        first_of.setdefault(resolve(name, server).provider, server)
    if len(first_of) > 1:
        kinds = " and ".join(f"{server} as {provider}" for provider, server in first_of.items())
        raise ConfigError(f"{name} would be asked in different ways: {kinds}; write openai/{name} or ollama/{name}.")


def _place(server: str) -> tuple[str, str]:
    """What two spellings of one address have in common."""
    return origin(server), urlsplit(server).path or "/v1"
