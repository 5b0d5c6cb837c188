"""Where a response store is: the path of a file, or the address of a server; and the kinds of servers that there are,
known before any of them is loaded.

An address holds no password, and an error shows nothing of one that does: settings are written into manifests, and
typed commands into the history of a shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from promptpex.core.errors import ConfigError
from promptpex.core.postgres_address import parse_address


@dataclass(frozen=True, slots=True)
class StoreServer:
    """A kind of server that keeps replies.

    Attributes:
        name: in words.
        schemes: what its addresses begin with, before ``://``; the first is the one that help shows.
        examples: two addresses, the last parts in capitals.
        check: refuses an address that cannot be used (ConfigError), and shows no value of it.
        home: the module whose ``open_at(address, make=)`` opens a store there.
    """

    name: str
    schemes: tuple[str, ...]
    examples: str
    check: Callable[[str], object]
    home: str


_SERVERS = (
    StoreServer(
        name="PostgreSQL",
        schemes=("postgresql", "postgres"),
        examples="postgresql://HOST/DATABASE, or postgresql://?service=NAME",
        check=parse_address,
        home="promptpex.store.postgres",
    ),
)

NAMES = " or ".join(server.name for server in _SERVERS)
"""The kinds of servers, in words."""

EXAMPLES = " or ".join(f"{server.schemes[0]}://..." for server in _SERVERS)
"""What the address of each begins with."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_MEANT = re.compile(
    r"""\s*["']?\s*(?:(?:\w+:)?(?:postgres(?:ql)?|pgsql):|[\w+.-]{2,}://"""  # jdbc:postgresql://, postgresql:/me@host
    r"""|(?:service|host|hostaddr|dbname|user|port|password)\s*=|[^/\\:]{2,}:[^/\\]*@)""",  # me:secret@host/db
    re.IGNORECASE,
)
"""What nobody means as a path: a misspelt address, too, holds a password that must not become the name of a file."""


def is_address(location: str) -> bool:
    """Whether a store's location is meant as an address of a server, not as a path."""
    return bool(_MEANT.match(location))


def server_at(address: str) -> StoreServer:
    """The kind of server that an address leads to.

    Raises:
        ConfigError: it is not one that can be used; the message shows no value of it.
    """
    scheme = _SCHEME.match(address)
    if scheme is None:
        raise ConfigError(f"a server's address is a URL: {'; '.join(server.examples for server in _SERVERS)}")
    for server in _SERVERS:
        if scheme[1] in server.schemes:
            server.check(address)
            return server
    beginnings = " or ".join(f"{server.schemes[0]}://" for server in _SERVERS)
    raise ConfigError(f"a store is a file or a {NAMES} server, whose address begins with {beginnings}")
