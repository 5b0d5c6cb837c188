"""Where a response store is: the path of a file, or the address of a server; and the kinds of servers that there are,
known before any of them is loaded.

An address holds no password, and an error shows nothing of one that does: settings are written into manifests, and
typed commands into the history of a shell.

An address of PostgreSQL is a URL as libpq reads it (https://www.postgresql.org/docs/current/libpq-connect.html,
34.1.1.2), taken apart here, so that what is checked is what is used:
``postgresql://USER@HOST:PORT/DATABASE?sslmode=verify-full&schema=NAME``. It holds no password, and an error shows
nothing of one that does: settings are written into manifests, and typed commands into the history of a shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from promptpex.core.errors import ConfigError

DEFAULT_SCHEMA = "promptpex"
"""The schema of the database that holds the store's tables."""

LONGEST_NAME = 63
"""Bytes of a name in PostgreSQL."""

NO_PASSWORD = (
    "the address of a store must not contain a password: put it into the variable PGPASSWORD, a password file "
    "(~/.pgpass or PGPASSFILE) or a service file (?service=NAME)"
)

PARAMETERS = frozenset(
    (
        *("host", "hostaddr", "port", "user", "dbname", "service", "passfile", "options", "application_name"),
        *("connect_timeout", "tcp_user_timeout", "keepalives", "keepalives_idle", "keepalives_interval"),
        *("keepalives_count", "target_session_attrs", "load_balance_hosts", "channel_binding", "require_auth"),
        *("sslmode", "sslnegotiation", "sslcompression", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslcrldir"),
        *("sslsni", "sslcertmode", "ssl_min_protocol_version", "ssl_max_protocol_version", "requirepeer"),
        *("gssencmode", "krbsrvname", "gsslib", "gssdelegation"),
    )
)
"""libpq's parameters that an address may give; those that are secrets, such as ``password``, are not among them."""

_SECRET = re.compile(r"pass(?!file)|secret|token|client_key|server_key", re.IGNORECASE)
_UNREADABLE = re.compile("[\x00-\x20\x7f-\x9f\ud800-\udfff\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PLAIN_NAME = re.compile(r"[a-z_]{2,32}")


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A PostgreSQL server's store.

    Attributes:
        text: the address as it was given; it holds no password.
        parameters: libpq's parameters that it gives, by name; what it leaves out comes from libpq's variables, such as
            ``PGHOST``.
        schema: the schema that the tables are in.
    """

    text: str
    parameters: dict[str, str]
    schema: str = DEFAULT_SCHEMA


def parse_address(text: str) -> StoreAddress:
    """An address, taken apart, with whatever stands before its ``://``.

    Raises:
        ConfigError: it is not one that can be used; the message shows no value of it.
    """
    _, _, rest = text.partition("://")
    if ":" in rest.rpartition("@")[0]:
        raise ConfigError(NO_PASSWORD)
    if _UNREADABLE.search(text):
        raise ConfigError("the address of a store contains a blank or an invisible character; write it as %20")
    place, _, query = rest.partition("?")
    given = _parameters(query)
    schema = given.pop("schema", DEFAULT_SCHEMA)
    for name, value in _of_place(place).items():
        if name in given:
            raise ConfigError(f"the address of a store gives {name} twice")
        given[name] = value
    return StoreAddress(text, given, _schema(schema))


def _parameters(query: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for part in query.split("&") if query else ():
        name, equals, value = part.partition("=")
        if name == "ssl" and value == "true":
            name, value = "sslmode", "require"
        if _SECRET.search(name):
            raise ConfigError(NO_PASSWORD)
        if not equals or name not in (*PARAMETERS, "schema"):
            shown = f" ({name})" if equals and _PLAIN_NAME.fullmatch(name) else ""
            raise ConfigError(
                f"the address of a store gives a parameter that is not known{shown}; those of libpq are, and "
                "schema=NAME"
            )
        if name in given:
            raise ConfigError(f"the address of a store gives {name} twice")
        given[name] = _decoded(value)
    return given


def _of_place(place: str) -> dict[str, str]:
    """What stands before the ``?``: ``USER@HOST:PORT,HOST:PORT/DATABASE``, all of it optional."""
    if place.count("@") > 1:
        raise ConfigError("the address of a store contains several @; write one that is part of a name as %40")
    authority, _, database = place.partition("/")
    user, _, hosts = authority.rpartition("@")
    if ":" in _decoded(user):
        raise ConfigError(NO_PASSWORD)
    if "/" in database or "@" in database:
        raise ConfigError("the address of a store contains / or @ in the database's name; write %2F or %40")
    pairs = [_host_and_port(part) for part in hosts.split(",")] if hosts else []
    values = {
        "user": _decoded(user),
        "host": ",".join(host for host, _ in pairs),
        "port": ",".join(port for _, port in pairs),
        "dbname": _decoded(database),
    }
    return {name: value for name, value in values.items() if value.strip(",")}


def _host_and_port(text: str) -> tuple[str, str]:
    host, port = text, ""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")) or not _is_ipv6(_decoded(host)):
            raise ConfigError("the address of a store contains brackets without an IPv6 address; write [::1]:5432")
        port = rest[1:]
    elif text.count(":") > 1:
        raise ConfigError("the address of a store contains an IPv6 address without brackets; write [::1]:5432")
    else:
        host, _, port = text.partition(":")
    if port and not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536):
        raise ConfigError("the address of a store contains a port that is not a number from 1 to 65535")
    return _decoded(host), port


def _is_ipv6(host: str) -> bool:
    import ipaddress  # seldom wanted, and every --help loads this module

    try:
        return bool(ipaddress.IPv6Address(host))
    except ValueError:
        return False


def _decoded(text: str) -> str:
    """Percent signs taken for what they stand for; ``+`` is a plus."""
    plain = re.split(r"%([0-9A-Fa-f]{2})", text)
    if any("%" in part for part in plain[::2]):
        raise ConfigError("the address of a store contains a % that is not followed by two digits; write it as %25")
    raw = b"".join(part.encode() if number % 2 == 0 else bytes.fromhex(part) for number, part in enumerate(plain))
    try:
        decoded = raw.decode()
    except UnicodeDecodeError:
        raise ConfigError("the address of a store contains percent signs that are not UTF-8") from None
    if re.search("[\x00-\x1f\x7f]", decoded):
        raise ConfigError("the address of a store contains a control character")
    return decoded


def _schema(name: str) -> str:
    taken = name.startswith("pg_") or name in ("information_schema", "public")
    if not name or len(name.encode()) > LONGEST_NAME or "%" in name or taken:
        raise ConfigError(
            f"schema= is not a name that a store's schema can have: 1 to {LONGEST_NAME} bytes without %, neither "
            "public nor one of PostgreSQL's own"
        )
    return name


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
