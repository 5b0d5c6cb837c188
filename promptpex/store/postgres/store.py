"""The response store on a PostgreSQL server."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex.core.errors import StoreDamaged, StoreError, StoreUnreachable
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.postgres_address import StoreAddress, parse_address
from promptpex.core.records import Completion, Request
from promptpex.core.response_store import StoreEntry, StoreProblem, StoreStats
from promptpex.core.translation import stored
from promptpex.store.postgres import maintenance, statements
from promptpex.store.postgres.batches import Batches
from promptpex.store.postgres.failures import named_errors
from promptpex.store.postgres.leases import LEASE_S, RENEWALS, Leaseholder
from promptpex.store.postgres.link import Link, admitted, connect
from promptpex.store.postgres.outage_spool import Spool, Spooled
from promptpex.store.postgres.rows import completion_of, put_rows, row_of
from promptpex.store.postgres.schema import STEPS, About, Step, prepare
from promptpex.store.postgres.statements import filled

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection = AsyncConnection[Any]

IDS_PER_QUERY = 500
"""Ids in one query."""

REPLIES_PER_GROUP = 256
BYTES_PER_GROUP = 16 * 1024 * 1024
"""About so much goes into one transaction."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a store behaves.

    Attributes:
        clock: seconds since 1970, for ``created_at``.
        monotonic: seconds on a clock that does not jump.
        emit: is told when the server goes away and comes back.
        lease_s: seconds that claims outlive their process.
        host: the name of this host as process ids see it; None = its own.
    """

    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    emit: Listener = ignore_events
    lease_s: float = LEASE_S
    host: str | None = None


async def open_at(address: str, *, spool: Path, make: bool, emit: Listener) -> PostgresStore:
    """The store at an address, see ``open_store``."""
    return await PostgresStore.open(parse_address(address), spool=spool, make=make, options=Options(emit=emit))


class PostgresStore:
    """Replies by the id of their request, in a schema of a PostgreSQL database that many machines may share.

    What tasks ask at the same time goes to the server together: replies are written, claims made and replies read in
    groups, each in one transaction. A reply is committed, and on the server's disk, before ``put`` returns. While the
    server is away, ``put`` returns once the reply is in the spool on this machine; everything else waits for the
    server, for as long as the address says.

    To be made by ``open``, and used in that event loop. The methods are documented in ``core.response_store``.
    """

    def __init__(self, address: StoreAddress, about: About, spool: Spool, options: Options) -> None:
        self.address = address
        self._about = about
        self._spool = spool
        self._options = options
        self._owner = Leaseholder(address.schema, options.lease_s, options.host, self._hand_in_left)
        self._link = Link(
            address, emit=options.emit, resumed=self._resumed, kept=self._kept, monotonic=options.monotonic
        )
        self._spooled: dict[str, Completion] = {}
        self._told_unkept = False
        self._puts: Batches[Spooled, bool] = Batches(
            self._put_group, most=REPLIES_PER_GROUP, size=lambda reply: reply.row.size, most_size=BYTES_PER_GROUP
        )
        self._claims: Batches[str, bool] = Batches(self._claim_group, most=IDS_PER_QUERY)
        self._gets: Batches[str, bytes | None] = Batches(self._get_group, most=IDS_PER_QUERY)
        self._renewing: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    async def open(
        cls,
        address: StoreAddress,
        *,
        spool: Path,
        make: bool = True,
        options: Options | None = None,
        steps: tuple[Step, ...] = STEPS,
    ) -> PostgresStore:
        """The store at an address; what is left in the spool is handed in first.

        Args:
            spool: the folder for replies that the server cannot take.
            make: whether a store that is not there is made.
            steps: the statements that make each version of the tables.

        Raises:
            StoreError: it cannot be made or opened, or takes no replies.
        """
        options = options or Options()
        async with await admitted(address, emit=options.emit, monotonic=options.monotonic) as connection:
            with named_errors(address):
                about = await prepare(connection, address, make=make, steps=steps)
                store = cls(address, about, Spool(spool, about.store, about.secret), options)
                try:
                    await store._hand_in_left(connection)
                except BaseException:
                    store._owner.close()
                    raise
        try:
            await store._link.open()  # the first connection is given back before: there may be few
        except BaseException:
            store._owner.close()
            raise
        return store

    async def get(self, request_id: str) -> Completion | None:
        """The stored reply to the request of this id."""
        if request_id in self._spooled:
            return self._spooled[request_id]
        completion = await self._gets.run(request_id)
        return None if completion is None else completion_of(self.address.text, request_id, completion)

    async def get_many(self, request_ids: Iterable[str]) -> dict[str, Completion]:
        """The stored replies to the requests of these ids; ids without one are left out."""
        unique_ids = list(dict.fromkeys(request_ids))
        replies: dict[str, Completion] = {}
        for at in range(0, len(unique_ids), IDS_PER_QUERY):
            ids_of_query = unique_ids[at : at + IDS_PER_QUERY]
            for request_id, completion in zip(ids_of_query, await self._get_group(ids_of_query), strict=True):
                if completion is not None:
                    replies[request_id] = completion_of(self.address.text, request_id, completion)
        return replies

    async def put(self, request_id: str, request: Request, completion: Completion) -> Completion:
        """Stores a reply; gives the one that is stored."""
        row = row_of(request_id, request, completion, self._options.clock())
        if await self._puts.run(Spooled(row)):
            return completion
        return await self.get(request_id) or completion

    async def replace(self, request_id: str, request: Request, completion: Completion) -> None:
        """Stores a reply in the place of an earlier one."""
        row = row_of(request_id, request, completion, self._options.clock())
        await self._puts.run(Spooled(row, replaces=True))

    async def claim(self, request_id: str) -> bool:
        """Whether this process is to send the request."""
        if request_id in self._spooled:
            return False
        claimed = await self._claims.run(request_id)
        if self._renewing is None and not self._closed:
            self._renewing = asyncio.create_task(self._renew())
        return claimed

    async def release(self, request_id: str) -> None:
        """Gives a claim back without a reply."""
        await self._link.run(lambda connection: self._owner.release(connection, [request_id]))

    async def stats(self) -> StoreStats:
        """What the store holds."""
        async with await connect(self.address) as connection:
            with named_errors(self.address):
                return await maintenance.stats(connection, self.address)

    async def prune(
        self,
        older_than_s: float | None = None,
        *,
        stage: str | None = None,
        model: str | None = None,
        failed: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Deletes the replies that meet all of these conditions; how many."""
        before = None if older_than_s is None else self._options.clock() - older_than_s
        chosen = maintenance.PrunedReplies(before, stage, model, failed)
        async with await connect(self.address) as connection:
            with named_errors(self.address):
                return await maintenance.prune(connection, self.address, chosen, dry_run=dry_run)

    async def verify(self) -> list[StoreProblem]:
        """What is wrong with the store and its entries; nothing when all is well."""
        try:
            async with await connect(self.address) as connection:
                with named_errors(self.address):
                    return await maintenance.verify(connection, self.address)
        except StoreError as error:
            return [StoreProblem(None, str(error))]

    async def entries(self) -> AsyncIterator[StoreEntry]:
        """Every entry, the oldest first."""
        async with await connect(self.address) as connection:
            with named_errors(self.address):
                async for entry in maintenance.entries(connection, self.address):
                    yield entry

    async def ids(self, after: str = "", limit: int = IDS_PER_QUERY) -> list[str]:
        """The next ids, in their order."""
        return await self._link.run(lambda connection: maintenance.ids(connection, self.address, after, limit))

    async def read(self, request_ids: Sequence[str]) -> list[StoreEntry]:
        """The entries of these ids that are there and can be read."""
        return await self._link.run(lambda connection: maintenance.read(connection, self.address, request_ids))

    async def lacks(self, request_ids: Sequence[str]) -> list[str]:
        """Those of these ids that have no entry."""
        stored_ids = await self._link.run(lambda connection: maintenance.there(connection, self.address, request_ids))
        return [each for each in request_ids if each not in stored_ids]

    async def add(self, entries: Sequence[StoreEntry]) -> int:
        """Stores entries of another store as they are; gives how many were new."""
        rows = [
            row_of(each.id, each.request, each.completion, each.created_at, scrubbed=each.scrubbed) for each in entries
        ]
        return len(await self._link.run(lambda connection: put_rows(connection, self.address.schema, rows)))

    def stop_waiting(self) -> None:
        """Ends the waiting for a server that is away."""
        self._link.stop_waiting()

    async def close(self) -> None:
        """Finishes the writes, gives the claims back and closes the connections. May be called twice."""
        if self._closed:
            return
        self._closed = True
        if self._link.is_awaited or self._spool.count:
            await self._link.try_once_more()
        for batches in (self._puts, self._claims, self._gets):
            await batches.drained()
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        if self._owner.joined and self._link.is_up:
            with contextlib.suppress(StoreError):
                await self._link.attempt(self._owner.leave)
        self._owner.close()
        await self._link.close()
        if self._spool.count:
            spool_notice = stored(
                "replies kept in {path}: {count}; the next command on this store writes them to it",
                path=self._spool.path,
                count=self._spool.count,
            )
            self._options.emit(Notice(spool_notice, "always"))
        self._spool.close()

    async def __aenter__(self) -> PostgresStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _get_group(self, ids: Sequence[str]) -> list[bytes | None]:
        async def job(connection: Connection) -> dict[str, bytes]:
            cursor = connection.cursor(binary=True)
            await cursor.execute(filled(statements.GET, self.address.schema), (sorted(set(ids)),))
            return dict(await cursor.fetchall())

        stored_ones = await self._link.run(job)
        return [stored_ones.get(each) for each in ids]

    async def _claim_group(self, ids: Sequence[str]) -> list[bool]:
        claimed = await self._link.run(lambda connection: self._owner.claim(connection, ids))
        return [each in claimed for each in ids]

    async def _put_group(self, replies: Sequence[Spooled]) -> list[bool]:
        """Whether each of these is stored: not if an earlier one is there. Where the server takes none, they are put
        into the spool: they are paid for."""
        while True:
            if self._link.is_up:
                try:
                    new = await self._link.attempt(lambda connection: self._send(connection, replies))
                    return _first_of(replies, new)
                except StoreUnreachable as error:
                    self._link.went_away(error)
                except StoreError as error:  # its disk is full, rights were taken away: nothing will come of waiting
                    self._link.lose(error)
            async with self._spool.turn:
                if self._link.is_up:
                    continue
                try:
                    return await self._keep(replies)
                except OSError as error:
                    reason = error.strerror or str(error)
            await self._outlast(reason)

    async def _keep(self, replies: Sequence[Spooled]) -> list[bool]:
        """Puts replies into the spool; whether each is the reply that stands there."""
        await self._spool.add(replies)
        first = []
        for each in replies:
            first.append(each.replaces or each.row.id not in self._spooled)
            if first[-1]:
                self._spooled[each.row.id] = completion_of(self.address.text, each.row.id, each.row.completion)
        return first

    async def _outlast(self, reason: str) -> None:
        """Waits for the server with replies that only memory holds.

        Raises:
            StoreError: it is lost, and they with it.
        """
        folder = self._spool.path.parent
        if self._link.is_awaited and not self._told_unkept:
            self._told_unkept = True
            text = stored(
                "replies cannot be kept in {path} ({part}); if the store's server stays away, they are lost",
                path=folder,
                part=reason,
            )
            self._options.emit(Notice(text, "warning"))
        try:
            await self._link.until_up()
        except StoreError as error:
            raise StoreError(
                f"{self.address.text}: the server accepts no replies, and they cannot be kept in {folder} either "
                f"({reason}); they will be asked for again."
            ) from error

    async def _send(self, connection: Connection, replies: Sequence[Spooled]) -> set[str]:
        """Commits replies; gives the ids of those that were new."""
        replaced = {each.row.id: each.row for each in replies if each.replaces}
        first = {each.row.id: each.row for each in reversed(replies) if not each.replaces}
        return await put_rows(connection, self.address.schema, list(first.values()), list(replaced.values()))

    async def _hand_in_left(self, connection: Connection) -> None:
        async def send(replies: Sequence[Spooled]) -> None:
            await self._send(connection, replies)

        try:
            count, odd = await self._spool.hand_in_left(send)
        except OSError as error:
            raise StoreError(
                f"{error.filename or self._spool.path.parent}: replies that were kept there while the store's server "
                f"was away cannot be read ({error.strerror or error}); make them readable, have their owner run a "
                "command on this store, or move them away."
            ) from error
        if count:
            text = stored(
                "replies kept here while the store's server was away: {count} written to the store", count=count
            )
            self._options.emit(Notice(text, "always"))
        for path in odd:
            text = stored("{path} contains lines that no user of this store wrote; they were not used", path=path)
            self._options.emit(Notice(text, "warning"))

    async def _resumed(self, connection: Connection) -> None:
        """The server is back: it is the same store, hears that this process lives, and gets what was kept for it."""

        async def send(replies: Sequence[Spooled]) -> None:
            await self._send(connection, replies)

        about = await prepare(connection, self.address, make=False)
        if about.store != self._about.store:
            raise StoreDamaged(f"{self.address.text}: the store there has been replaced by another one.")
        if self._owner.joined:
            await self._owner.renew(connection)
        while not self._link.is_up:
            await self._spool.hand_in(send)
            async with self._spool.turn:
                if self._spool.is_empty:
                    self._spool.clear()
                    self._spooled.clear()
                    self._link.mark_up()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._owner.lease_s / RENEWALS)
            with contextlib.suppress(StoreError):
                await self._link.run(self._owner.renew)

    def _kept(self) -> str:
        if not self._spool.count:
            return ""
        replies = "1 reply is" if self._spool.count == 1 else f"{self._spool.count} replies are"
        return f" {replies} kept in {self._spool.path}, and the next command on this store writes them to it."


def _first_of(replies: Sequence[Spooled], new: set[str]) -> list[bool]:
    """For each, whether it is the reply that the store holds: the first of its id in this group, if it was new."""
    left = set(new)
    results = []
    for each in replies:
        results.append(each.replaces or each.row.id in left)
        if not each.replaces:
            left.discard(each.row.id)
    return results
