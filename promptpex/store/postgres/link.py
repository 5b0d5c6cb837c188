"""The connections to the server, and waiting for it while it is away."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from promptpex.core.errors import ConfigError, StoreError, StoreUnreachable
from promptpex.core.events import Listener, Notice
from promptpex.core.postgres_address import StoreAddress
from promptpex.core.translation import stored
from promptpex.store.postgres.failures import foreign_errors, is_away, is_busy, is_repeatable, named_errors, store_error

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg_pool import AsyncConnectionPool

    Connection = AsyncConnection[Any]
    Pool = AsyncConnectionPool[Connection]

CONNECTIONS = 3
"""Connections of a process at most: one reads while one writes and one claims."""

CONNECT_S = 10
"""Seconds for a connection, where the address does not say ``connect_timeout``."""

FIRST_WAIT_S = 0.2
"""Seconds until a server that has gone away is tried again; they double up to ``LAST_WAIT_S``."""
LAST_WAIT_S = 5.0

TRIES = 4
"""Tries of a transaction that the server ended for another one's sake, or that met a connection that had died."""

DEFAULTS = {
    "connect_timeout": str(CONNECT_S),
    "tcp_user_timeout": "30000",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "application_name": "promptpex",
}
"""libpq's parameters where the address does not give them: a network that swallows everything is noticed in 30 s."""

SESSION: dict[str, Any] = {"autocommit": True, "prepare_threshold": None}
"""How connections are made: nothing of one outlives a transaction, so that a pooler may give each of them to others."""

T = TypeVar("T")


async def connect(address: StoreAddress) -> Connection:
    """A connection of its own, in autocommit mode.

    Raises:
        StoreError: the server cannot be reached, or does not let the user in.
    """
    require_psycopg()
    import psycopg

    with named_errors(address):
        connection = await psycopg.AsyncConnection.connect(_conninfo(address), **SESSION)
        await _configure(connection)
        return connection


async def admitted(address: StoreAddress, *, emit: Listener, monotonic: Callable[[], float]) -> Connection:
    """A connection of its own to a server that a command begins with. One that is about to start or to stop, or has no
    connection left, is waited for, as one that goes away later is.

    Raises:
        StoreError: the server cannot be reached, does not let the user in, or has not let anybody in for so long.
    """
    ends, wait, announced = monotonic() + address.reconnect_s, FIRST_WAIT_S, False
    while True:
        try:
            return await connect(address)
        except StoreUnreachable as error:
            left = ends - monotonic()
            if left <= 0 or error.__cause__ is None or not is_busy(error.__cause__):
                raise
        if not announced:
            announced = True
            waiting = stored(
                "the store's server accepts no connections at the moment; waiting up to {count} seconds",
                count=round(address.reconnect_s),
            )
            emit(Notice(waiting, "always"))
        await asyncio.sleep(min(wait, left))
        wait = min(LAST_WAIT_S, wait * 2)


def require_psycopg() -> None:
    """Loads psycopg.

    Raises:
        ConfigError: it, its pool or libpq is not installed, or cannot work in this event loop.
    """
    if "Proactor" in type(asyncio.get_running_loop()).__name__:
        raise ConfigError("psycopg does not work with Python's event loop on Windows; use WSL, or a file")
    try:
        import psycopg
        import psycopg_pool

        assert psycopg, psycopg_pool
        logging.getLogger("psycopg").addHandler(
            logging.NullHandler()
        )  # what counts of its warnings is an error of ours
    except ImportError:
        raise ConfigError("a store on a PostgreSQL server needs psycopg: pip install 'promptpex[postgres]'") from None


def _conninfo(address: StoreAddress) -> str:
    from psycopg.conninfo import make_conninfo

    return make_conninfo(**{**DEFAULTS, **address.parameters, "client_encoding": "utf8"})


async def _configure(connection: Connection) -> None:
    """What the statements rely on, whatever the database's own settings say."""
    from psycopg import IsolationLevel

    await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)


class Link:
    """The connections of a store to its server.

    It is up until a transaction fails because the server is away; then a task tries to connect until the server is
    back or the address's time is over, and it is lost for good.

    Args:
        address: of the store.
        emit: is told when the server goes away and comes back.
        resumed: is called with a connection when the server is back, before anybody else; it calls ``mark_up``.
        kept: what to add to the sentence that the server is lost: where replies are kept.
        monotonic: seconds on a clock that does not jump.
    """

    def __init__(
        self,
        address: StoreAddress,
        *,
        emit: Listener,
        resumed: Callable[[Connection], Awaitable[None]],
        kept: Callable[[], str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address = address
        self._emit = emit
        self._resumed = resumed
        self._kept = kept
        self._monotonic = monotonic
        self._pool: Pool | None = None
        self._away: StoreError | None = None
        self._lost: StoreError | None = None
        self._up = asyncio.Event()
        self._changed = asyncio.Event()
        self._reconnecting: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        """Whether the server is thought to be there."""
        return self._up.is_set()

    @property
    def is_awaited(self) -> bool:
        """Whether the server is away and may come back."""
        return not self.is_up and self._lost is None

    async def open(self) -> None:
        """Makes the pool.

        Raises:
            StoreError: the server gives no connection.
        """
        with named_errors(self.address):
            await self._renew_pool(max(CONNECT_S, self.address.reconnect_s))
        self.mark_up()

    def mark_up(self) -> None:
        """The server is there, and has what was kept for it."""
        self._up.set()
        self._changed.set()

    async def run(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        """What a job gives; while the server is away it is waited for. The job may be done several times.

        Raises:
            StoreError: it failed for another reason, or the server is lost.
        """
        while True:
            await self.until_up()
            try:
                return await self.attempt(job)
            except StoreUnreachable as error:
                self.went_away(error)

    async def attempt(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        """What a job gives.

        Raises:
            StoreUnreachable: the server is away.
            StoreError: it failed for another reason.
        """
        for number in range(TRIES):
            pool = self._pool
            if pool is None:
                raise StoreUnreachable(f"{self.address.text}: the server cannot be reached.")
            try:
                async with pool.connection(timeout=CONNECT_S) as connection:
                    return await job(connection)
            except foreign_errors() as error:
                if number == TRIES - 1 or not (is_repeatable(error) or is_away(error)):
                    raise store_error(self.address, error) from error
                if is_away(error) and not await self._another_is_alive():
                    raise store_error(self.address, error) from error
        raise AssertionError("the last try gives or raises")

    def went_away(self, error: StoreError) -> None:
        """Begins to wait for the server, unless that has begun."""
        if self.is_up:
            self._up.clear()
            self._changed.clear()
            self._away = error
            self._reconnecting = asyncio.create_task(self._reconnect(error))

    def lose(self, error: StoreError) -> None:
        """Ends all waiting: the store cannot be used any more by this process."""
        self._lost = self._lost or error
        self._up.clear()
        self._changed.set()

    def stop_waiting(self) -> None:
        """Ends the waiting for a server that is away; to be called in the event loop's thread."""
        if not self.is_up and self._reconnecting is not None and not self._reconnecting.done():
            self._reconnecting.cancel()
            if self._away is not None:  # a task that was cancelled before it began says nothing
                self.lose(self._away)

    async def try_once_more(self) -> None:
        """Instead of waiting for a server that is away, or was given up, looks a last time whether it is back."""
        if self._reconnecting is None or self.is_up or not isinstance(self._lost, StoreUnreachable | None):
            return
        self._reconnecting.cancel()
        await asyncio.gather(self._reconnecting, return_exceptions=True)
        with contextlib.suppress(StoreError):
            await self._resume()

    async def close(self) -> None:
        """Closes all connections. May be called twice."""
        if self._reconnecting is not None:
            self._reconnecting.cancel()
            await asyncio.gather(self._reconnecting, return_exceptions=True)
        await self._close_pool()

    async def until_up(self) -> None:
        """Returns when the server is there.

        Raises:
            StoreError: it is lost.
        """
        while not self.is_up:
            if self._lost is not None:
                raise type(self._lost)(f"{self._lost}{self._kept()}")
            await self._changed.wait()

    async def _another_is_alive(self) -> bool:
        """Whether the server is there: then a connection had died alone, such as those from before a restart."""
        try:
            async with await connect(self.address):
                pass
            if self._pool is not None:
                await self._pool.check()
        except StoreError:
            return False
        except foreign_errors():
            return False
        return True

    async def _reconnect(self, error: StoreError) -> None:
        seconds = self.address.reconnect_s
        waiting = stored(
            "the connection to the store's server was lost; waiting up to {count} seconds", count=round(seconds)
        )
        self._emit(Notice(waiting, "always"))
        ends, wait = self._monotonic() + seconds, FIRST_WAIT_S
        try:
            await self._close_pool()  # who waits for one of its connections waits for the server instead
            while (left := ends - self._monotonic()) > 0:
                await asyncio.sleep(min(wait, left))
                wait = min(LAST_WAIT_S, wait * 2)
                try:
                    await self._resume()
                    self._emit(Notice(stored("the store's server is back"), "always"))
                    return
                except StoreUnreachable as still:
                    error = still
        except StoreError as other:
            error = other
        finally:
            if not self.is_up:
                self.lose(error)

    async def _resume(self) -> None:
        async with await connect(self.address):
            pass  # what is wrong is told here; the pool only waits
        with named_errors(self.address):
            pool = await self._renew_pool(CONNECT_S)
            async with pool.connection(timeout=CONNECT_S) as connection:
                await self._resumed(connection)

    async def _renew_pool(self, seconds: float) -> Pool:
        import psycopg_pool
        from psycopg import AsyncConnection

        await self._close_pool()
        self._pool = psycopg_pool.AsyncConnectionPool(
            _conninfo(self.address),
            connection_class=AsyncConnection[Any],
            kwargs=SESSION,
            configure=_configure,
            min_size=1,
            max_size=CONNECTIONS,
            open=False,
            num_workers=1,
        )
        await self._pool.open(wait=True, timeout=seconds)
        return self._pool

    async def _close_pool(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            with contextlib.suppress(*foreign_errors()):
                await pool.close(timeout=1.0)
