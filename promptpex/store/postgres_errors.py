"""What PostgreSQL's errors mean to a user, and group commit: what waits while a group is on its way is the next one.

SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html. A connection that fails carries none, only
what the server or libpq wrote.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Generic, TypeVar

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
from promptpex.core.store_address import StoreAddress
from promptpex.llm.redaction import HIDDEN, scrub

Job = TypeVar("Job")
Result = TypeVar("Result")


class Batches(Generic[Job, Result]):
    """Does jobs in groups, one group at a time.

    Args:
        do: does a group; gives the results in the jobs' order. What it raises, all of the group get.
        most: jobs in a group.
        size: what a job weighs, such as bytes; None = nothing.
        most_size: the weight at which a group is full; by default never.
    """

    def __init__(
        self,
        do: Callable[[Sequence[Job]], Awaitable[Sequence[Result]]],
        *,
        most: int,
        size: Callable[[Job], int] = lambda job: 0,
        most_size: int = 2**62,
    ) -> None:
        self._do = do
        self._most = most
        self._size = size
        self._most_size = most_size
        self._waiting: deque[tuple[Job, asyncio.Future[Result]]] = deque()
        self._work: asyncio.Task[None] | None = None

    async def run(self, job: Job) -> Result:
        """The job's result. It goes on when its caller is cancelled: what was handed over is done."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, future))
        if self._work is None:
            self._work = asyncio.create_task(self._serve())
        return await future

    async def drained(self) -> None:
        while self._work is not None:
            await asyncio.shield(self._work)

    async def _serve(self) -> None:
        await asyncio.sleep(0)  # whoever asks in this round of the loop comes along
        while self._waiting:
            group = self._next_group()
            try:
                results = await self._do([job for job, _ in group])
            except Exception as error:
                for _, future in group:
                    if not future.done():
                        future.set_exception(error)
            else:
                for (_, future), result in zip(group, results, strict=True):
                    if not future.done():
                        future.set_result(result)
        self._work = None

    def _next_group(self) -> list[tuple[Job, asyncio.Future[Result]]]:
        group: list[tuple[Job, asyncio.Future[Result]]] = []
        weight = 0
        while self._waiting and len(group) < self._most and weight < self._most_size:
            group.append(self._waiting.popleft())
            weight += self._size(group[-1][0])
        return group


AGAIN = "run the same command again, what was committed is kept"

OTHER_TABLES = (
    "the tables in the schema {schema} are not those of a promptpex store ({why}). Restore it from a backup, or name "
    "another schema with ?schema=NAME."
)

_FAILURES = (
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
    ("definition of service", "SERVICE"),
    ("service file", "SERVICE"),
)
"""What is said of a connection that failed, in English, and what it means."""

_MEANINGS: tuple[tuple[tuple[str, ...], type[StoreError], str], ...] = (
    (
        ("28P01", "28000"),
        StoreRefused,
        "the server refuses the login ({why}). Name the user in the address (postgresql://USER@HOST/...), and put the "
        "password into PGPASSWORD, a password file (~/.pgpass) or a service file.",
    ),
    (("3D000",), StoreRefused, "the server has no such database ({why}). Name one that exists, or have it created."),
    (
        ("42501",),
        StoreRefused,
        "the server does not allow what the store needs ({why}). Its owner can grant it; docs/store.md has the SQL.",
    ),
    (
        ("53300",),
        StoreUnreachable,
        "the server has no free connection ({why}). Raise its max_connections, or run fewer processes at a time; "
        "{again}.",
    ),
    (("TLS",), StoreRefused, "the connection is less secure than requested ({why}). See sslmode and sslrootcert."),
    (
        ("OPTION",),
        StoreRefused,
        "libpq cannot use what the address, the service file or a variable says ({why}).",
    ),
    (
        ("SERVICE",),
        StoreRefused,
        "the service is not defined ({why}). Define it in ~/.pg_service.conf or PGSERVICEFILE.",
    ),
    (
        ("25006",),
        StoreReadOnly,
        "the server accepts no writes ({why}). Name the primary, such as with target_session_attrs=read-write.",
    ),
    (("42P01", "42P10", "42703", "3F000", "42883", "42804", "42809"), StoreDamaged, OTHER_TABLES),
    (("53",), StoreFull, "the server has no room left ({why}). Free some there; {again}."),
    (("55P03", "57014", "40"), StoreLocked, "the server timed out or cancelled the query ({why}); {again}."),
    (("08", "57P", "GONE"), StoreUnreachable, "the server cannot be reached ({why}). When it is back, {again}."),
    (("",), StoreError, "the store failed ({why}); {again}."),
)
"""By the beginning of the SQLSTATE, or of what takes its place: the error and its sentence; the first that fits."""

_VALUE = re.compile(r'(?<=value )"[^"]*"|(?<=value: )"[^"]*"')
"""A value that libpq refuses: the wrong line of a service file may hold the password."""


@contextlib.contextmanager
def named_errors(address: StoreAddress) -> Iterator[None]:
    """Turns what psycopg or the system raises into a ``StoreError`` that says what to do."""
    import psycopg

    try:
        yield
    except (psycopg.Error, OSError, UnicodeError) as error:
        kind, sentence = next(
            (kind, sentence)
            for states, kind, sentence in _MEANINGS
            if any(_state(error).startswith(state) for state in states)
        )
        sentence = sentence.format(why=_why(error), again=AGAIN, schema=visible(address.schema))
        raise kind(f"{address.text}: {sentence}") from error


def _state(error: BaseException) -> str:
    """The SQLSTATE, or what takes its place where a connection failed."""
    import psycopg

    state = getattr(error, "sqlstate", None)
    if state:
        return str(state)
    text = str(error).lower()
    if "does not exist" in text and ('database "' in text or 'role "' in text):
        return "3D000" if 'database "' in text else "28000"
    gone = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | OSError)
    return next((state for words, state in _FAILURES if words in text), "GONE" if gone else "")


def _why(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    main = next((line for line in reversed(lines) if "FATAL" in line or "error:" in line.lower()), "")
    text = main or (lines[0] if lines else type(error).__name__)
    text = text.rpartition("FATAL:")[2].strip() or text
    return visible(scrub(_VALUE.sub(HIDDEN, text)))[:300].rstrip(".")
