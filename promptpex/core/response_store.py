"""What a response store offers: an async protocol that any backend can implement.

``tests/store/conformance.py`` holds every backend to what is written here. A method that would wait, for a network or
a lock, awaits; one that reads a local file in microseconds may do so at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from promptpex.core.records import Completion, Request


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store holds: replies per model and stage, bytes on disk, and when (seconds since 1970) the oldest and the
    newest were stored; times that cannot be are left out."""

    path: str
    replies: int
    models: dict[str, int]
    stages: dict[str, int]
    bytes: int
    oldest: float | None
    newest: float | None


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """Something that ``verify`` found: the entry (None = the store as a whole) and what is wrong with it."""

    id: str | None
    what: str


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """A stored reply. ``request`` is scrubbed of keys, and ``scrubbed`` says that it held one, so that it is no longer
    the request that the id is of; ``created_at`` is in seconds since 1970."""

    id: str
    created_at: float
    request: Request
    completion: Completion
    scrubbed: bool = False


class ResponseStore(Protocol):
    """Replies by the id of their request, which several processes may share.

    Raises:
        StoreError: from every method: the store cannot be read or written.
    """

    async def get(self, request_id: str) -> Completion | None:
        """The stored reply to the request of this id."""

    async def get_many(self, request_ids: Iterable[str]) -> dict[str, Completion]:
        """The stored replies to the requests of these ids; ids without one are left out."""

    async def put(self, request_id: str, request: Request, completion: Completion) -> Completion:
        """Stores a reply and ends the claim on its request; returns, once it is durable, the reply that is stored.

        The first reply to a request stays: where another process was faster, it is that process's reply.
        """

    async def replace(self, request_id: str, request: Request, completion: Completion) -> None:
        """Stores a reply in the place of an earlier one; returns once it is durable."""

    async def claim(self, request_id: str) -> bool:
        """Whether this process is to send the request; False if it is answered or another living process has it."""

    async def release(self, request_id: str) -> None:
        """Gives a claim back without a reply."""

    async def stats(self) -> StoreStats:
        """What the store holds."""

    async def prune(
        self,
        older_than_s: float | None = None,
        *,
        stage: str | None = None,
        model: str | None = None,
        failed: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Deletes the replies that meet all of these conditions; how many.

        Args:
            older_than_s: stored more than so many seconds ago.
            stage, model: of this stage, by this model (its name without parameters).
            failed: of no use: empty, cut off, withheld, or not in the form that was asked for, read as the stage that
                asked reads it; a reply that a repair turn corrected stays.
            dry_run: only count them.
        """

    async def verify(self) -> list[StoreProblem]:
        """What is wrong with the store and its entries; nothing when all is well."""

    def entries(self) -> AsyncIterator[StoreEntry]:
        """Every entry, the oldest first."""

    async def ids(self, after: str = "", limit: int = 500) -> list[str]:
        """The next ids behind this one, in their order, at most so many; none = the end."""

    async def read(self, request_ids: Sequence[str]) -> list[StoreEntry]:
        """The entries of these ids, in any order; those that cannot be read are left out."""

    async def lacks(self, request_ids: Sequence[str]) -> list[str]:
        """Those of these ids that have no entry, in the given order."""

    async def add(self, entries: Sequence[StoreEntry]) -> int:
        """Stores entries of another store with their times, durably; gives how many were new. Earlier ones stay."""

    async def close(self) -> None:
        """Finishes the writes, gives the claims back and closes the store. May be called twice."""
