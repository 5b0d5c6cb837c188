"""Claims on questions, held by leases on the server's clock.

An owner is a store that is open in a process. It renews its lease while it lives; when the lease is over, its claims
are free for others. A process of this host that has died is known at once.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.store.living_processes import host_name, process_start
from promptpex.store.postgres import statements
from promptpex.store.postgres.statements import filled

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection = AsyncConnection[Any]

LEASE_S = 60.0
"""Seconds without a sign of life after which an owner counts as dead."""

RENEWALS = 6
"""Times that a lease is renewed within its length."""

_OPEN_HERE: set[str] = set()
"""The owners of this process's open stores."""


class Leaseholder:
    """This process as a holder of claims in one store.

    Args:
        schema: of the store.
        lease_s: seconds that its claims outlive it.
        host: the name of this host as process ids see it.
        inherit: hands in, by this connection, what the dead have left on this machine: they may have been answered.
    """

    def __init__(
        self,
        schema: str,
        lease_s: float = LEASE_S,
        host: str | None = None,
        inherit: Callable[[Connection], Awaitable[None]] | None = None,
    ) -> None:
        self.name = uuid.uuid4().hex
        self.lease_s = lease_s
        self.joined = False
        self._schema = schema
        self._inherit = inherit
        self._host = (host_name() if host is None else host).encode("ascii", "backslashreplace").decode()
        self._started = process_start(os.getpid()) or ""
        _OPEN_HERE.add(self.name)

    def close(self) -> None:
        """Its store is closed: what it claims is free for others of this process."""
        _OPEN_HERE.discard(self.name)

    async def renew(self, connection: Connection) -> None:
        """Begins its lease anew."""
        values = (self.name, self._host, os.getpid(), self._started, self.lease_s)
        await connection.execute(filled(statements.RENEW, self._schema), values)

    async def claim(self, connection: Connection, ids: Sequence[str]) -> set[str]:
        """The questions that are this owner's to ask; not those that are answered or that a living owner has."""
        ordered = sorted(set(ids))
        async with connection.pipeline(), connection.transaction():
            if not self.joined:
                await connection.execute(filled(statements.SWEEP, self._schema))
                await self.renew(connection)
            newly_claimed = await connection.execute(filled(statements.CLAIM, self._schema), (self.name, ordered))
            answered = await connection.execute(filled(statements.ANSWERED, self._schema), (self.name, ordered))
        claimed = {row[0] for row in await newly_claimed.fetchall()} - {row[0] for row in await answered.fetchall()}
        self.joined = True
        rest = [each for each in ordered if each not in claimed]
        return claimed | await self._of_the_dead(connection, rest) if rest else claimed

    async def release(self, connection: Connection, ids: Sequence[str]) -> None:
        """Gives these claims back."""
        await connection.execute(filled(statements.RELEASE, self._schema), (self.name, sorted(set(ids))))

    async def leave(self, connection: Connection) -> None:
        """Gives all claims back."""
        async with connection.pipeline(), connection.transaction():
            await connection.execute(filled(statements.LEAVE, self._schema), (self.name,))
            await connection.execute(filled(statements.FORGET, self._schema), ([self.name],))

    async def _of_the_dead(self, connection: Connection, ids: list[str]) -> set[str]:
        """The questions among these that were a dead owner's and are this owner's now."""
        cursor = await connection.execute(filled(statements.HOLDERS, self._schema), (self.lease_s, ids))
        rows_held = await cursor.fetchall()
        buried = {owner for _, owner, *who, _ in rows_held if owner is not None and self._died_here(owner, *who)}
        free = sorted(request_id for request_id, owner, *_, lives in rows_held if not lives or owner in buried)
        if not free:
            return set()
        if self._inherit is not None:
            await self._inherit(connection)
        async with connection.pipeline(), connection.transaction():
            if buried:
                await connection.execute(filled(statements.FORGET, self._schema), (sorted(buried),))
            await connection.execute(filled(statements.LOCK_CLAIMS, self._schema), (free,))
            values = (self.name, free, self.lease_s)
            taken_over = await connection.execute(filled(statements.TAKE_OVER, self._schema), values)
        return {row[0] for row in await taken_over.fetchall()}

    def _died_here(self, owner: str, host: str, pid: int, started: str) -> bool:
        """Whether the owner was a process, or a closed store, of this very host; two hosts may have the same name, and
        tell themselves apart by the boot that a process's start names."""
        boot = self._started.partition(":")[0]
        if not boot or host != self._host or str(started).partition(":")[0] != boot:
            return False
        if pid == os.getpid():
            return started != self._started or owner not in _OPEN_HERE
        return process_start(pid) != started
