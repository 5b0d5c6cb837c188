"""What PostgreSQL's errors mean to a user, and which of them may pass.

SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html. A connection that fails carries none, only
what the server or libpq wrote.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptpex.codecs.text.control_characters import visible
from promptpex.core.errors import (
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreRefused,
    StoreUnreachable,
)
from promptpex.llm.redaction import HIDDEN, scrub

if TYPE_CHECKING:
    from promptpex.core.postgres_address import StoreAddress

AGAIN = "run the same command again, what was committed is kept"

_AWAY = ("08", "57P")
"""Classes of a server that is being stopped or started, or of a connection that broke."""
_REPEATABLE = ("40001", "40P01")
"""A transaction that the server ended for another one's sake."""
_WORDS = (
    ("for connection option", "OPTION"),
    ("invalid sslmode value", "OPTION"),
    ("too many", "53300"),
    ("remaining connection slots", "53300"),
    ("password authentication failed", "28P01"),
    ("no password supplied", "28P01"),
    ("authentication failed", "28P01"),
    ("no pg_hba.conf entry", "28000"),
    ("not permitted to log in", "28000"),
    ("permission denied", "42501"),
    ("certificate", "TLS"),
    ("ssl error", "TLS"),
    ("does not support ssl", "TLS"),
    ("sslmode", "TLS"),
    ("root certificate", "TLS"),
    ("definition of service", "SERVICE"),
    ("service file", "SERVICE"),
    ("starting up", "57P03"),
    ("shutting down", "57P03"),
)
"""What is said of a connection that failed, in English, and what it means."""


_VALUE = re.compile(r'(?<=value )"[^"]*"|(?<=value: )"[^"]*"')
"""A value that libpq refuses: what stands in the wrong line of a service file may be the password."""


def foreign_errors() -> tuple[type[BaseException], ...]:
    """What psycopg, its pool and the system raise."""
    import psycopg
    import psycopg_pool

    return (psycopg.Error, psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed, OSError, UnicodeError)


def is_away(error: BaseException) -> bool:
    """Whether the server, or the way to it, is gone, and may come back."""
    import psycopg
    import psycopg_pool

    if isinstance(error, psycopg_pool.PoolTimeout | psycopg_pool.PoolClosed | OSError):
        return True
    if isinstance(error, psycopg.InterfaceError):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    state = error.sqlstate or ""
    return not state or state.startswith(_AWAY) or state == "53300"


def is_busy(error: BaseException) -> bool:
    """Whether the server is there, and lets nobody in for the moment."""
    return _state(error) in ("53300", "57P01", "57P02", "57P03")


def is_repeatable(error: BaseException) -> bool:
    """Whether the same transaction may go through at once when it is tried again."""
    return getattr(error, "sqlstate", None) in _REPEATABLE


@contextlib.contextmanager
def named_errors(address: StoreAddress) -> Iterator[None]:
    """Turns what psycopg raises into a ``StoreError`` that says what to do."""
    try:
        yield
    except foreign_errors() as error:
        raise store_error(address, error) from error


def store_error(address: StoreAddress, error: BaseException) -> StoreError:
    """The ``StoreError`` for what psycopg or the system raised."""
    if isinstance(error, StoreError):
        return error
    why, state = _why(error), _state(error)
    kind, sentence = _meaning(address, state, is_away(error))
    return kind(f"{address.text}: {sentence.format(why=why, again=AGAIN, schema=visible(address.schema))}")


def _meaning(address: StoreAddress, state: str, away: bool) -> tuple[type[StoreError], str]:
    """The kind of error and its sentence."""
    if state in ("28P01", "28000"):
        return StoreRefused, (
            "the server refuses the login ({why}). Name the user in the address (postgresql://USER@HOST/...), and "
            "put the password into PGPASSWORD, a password file (~/.pgpass) or a service file."
        )
    if state == "3D000":
        return StoreRefused, "the server has no such database ({why}). Name one that exists, or have it created."
    if state == "42501":
        return StoreRefused, (
            "the server does not allow what the store needs ({why}). Its owner can grant it; docs/store.md has the SQL."
        )
    if state == "53300":
        return StoreUnreachable, (
            "the server has no free connection ({why}). Raise its max_connections, put a pool such as pgbouncer in "
            "front of it, or run fewer processes at a time; {again}."
        )
    if state == "TLS":
        return StoreRefused, "the connection is less secure than requested ({why}). See sslmode and sslrootcert."
    if state == "OPTION":
        return StoreRefused, "libpq cannot use what the address, the service file or a variable says ({why})."
    if state == "SERVICE":
        return StoreRefused, "the service is not defined ({why}). Define it in ~/.pg_service.conf or PGSERVICEFILE."
    if state in ("25006", "55000"):
        return StoreReadOnly, (
            "the server accepts no writes ({why}). Name the primary, such as with target_session_attrs=read-write."
        )
    if state.startswith("53"):
        return StoreFull, "the server has no room left ({why}). Free some there; {again}."
    if state in ("55P03", "57014", "40P01", "40001"):
        return StoreLocked, "the server timed out or cancelled the query ({why}); {again}."
    if state in ("42P01", "42703", "3F000", "42883", "42804", "42809"):
        return StoreDamaged, (
            "the tables in the schema {schema} are not those of a promptpex store ({why}). Name another schema "
            "with ?schema=NAME."
        )
    if away:
        return StoreUnreachable, "the server cannot be reached ({why}). When it is back, {again}."
    return StoreError, "the store failed ({why}); {again}."


def _state(error: BaseException) -> str:
    """The SQLSTATE, or what takes its place where a connection failed."""
    state = getattr(error, "sqlstate", None)
    if state:
        return str(state)
    text = str(error).lower()
    if "does not exist" in text and ('database "' in text or 'role "' in text):
        return "3D000" if 'database "' in text else "28000"
    return next((state for words, state in _WORDS if words in text), "")


def _why(error: BaseException) -> str:
    """The last thing that was said, in one line, without a key."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    main = next((line for line in reversed(lines) if "FATAL" in line or "error:" in line.lower()), "")
    text = main or (lines[0] if lines else type(error).__name__)
    text = text.rpartition("FATAL:")[2].strip() or text
    text = _VALUE.sub(HIDDEN, text)
    return visible(scrub(text))[:300].rstrip(".")
