"""What engines share that send a job elsewhere: pickled jobs, chunks of items, and errors that can travel."""

from __future__ import annotations

import asyncio
import pickle
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from itertools import islice
from typing import Protocol

from promptpex.core.errors import EngineError
from promptpex.engines.in_process import in_order
from promptpex.engines.jobs import Item, Item_contra, Job, Result

MAX_CHUNK = 256
"""Items of one message: more would keep a worker busy alone at the end."""

CHUNKS_PER_WORKER = 4
"""Chunks that each worker gets at least, so that a slow one can be made up for by the others; and how many of a stream
are held for each, so that the others have work while the result of a slow one is waited for."""


def chunk_size(items: int, workers: int) -> int:
    """How many of so many items go into a message."""
    return min(MAX_CHUNK, max(1, items // (workers * CHUNKS_PER_WORKER)))


def chunks_of(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in order, so many at a time."""
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


class ChunkWorkers(Protocol[Item_contra, Result]):
    """The workers of one job, which are given chunks."""

    @property
    def most(self) -> int:
        """How many there are at most."""

    def submit(self, items: Sequence[Item_contra]) -> asyncio.Future[list[Result]]:
        """The results of these items, to come. Chunks are begun in the order in which they are given."""


class ChunkedEngine(ABC):
    """An engine whose workers are started for each ``map`` or ``stream`` and gone at its end.

    Args:
        chunk: items of one message; None = by the number of items, in a stream ``streamed``.
    """

    def __init__(self, chunk: int | None, *, streamed: int = 1) -> None:
        self._chunk = chunk
        self._streamed = streamed

    @abstractmethod
    def _opened(self, job: Job[Item, Result]) -> AbstractAsyncContextManager[ChunkWorkers[Item, Result]]:
        """The workers of a job.

        Raises:
            EngineError: there can be none, or the job cannot be pickled.
        """

    async def map(self, job: Job[Item, Result], items: Iterable[Item]) -> list[Result]:
        """See ``Engine``.

        Raises:
            EngineError: workers cannot be started or died, or the job, an item or a result cannot be pickled.
        """
        items_in_order = list(items)
        if not items_in_order:
            return []
        async with self._opened(job) as workers:
            size = self._chunk or chunk_size(len(items_in_order), workers.most)
            chunks = await asyncio.gather(*[workers.submit(chunk) for chunk in chunks_of(items_in_order, size)])
        return [result for chunk in chunks for result in chunk]

    async def stream(self, job: Job[Item, Result], items: Iterable[Item]) -> AsyncGenerator[Result, None]:
        """See ``Engine``; raises as ``map`` does."""
        async with self._opened(job) as workers:
            alive = workers.most * CHUNKS_PER_WORKER
            async with aclosing(
                in_order(workers.submit, chunks_of(items, self._chunk or self._streamed), alive)
            ) as chunks:
                async for results in chunks:
                    for result in results:
                        yield result


def died(tries: int) -> str:
    """The sentence about work that is given up."""
    return f"a worker died {tries} times on the same work; run the command again with more memory"


def pickled(value: object) -> bytes:
    """A job, items or results for another process.

    Raises:
        EngineError: they cannot be pickled.
    """
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise EngineError(f"a job for other processes cannot be pickled: {error}") from error


def portable(error: Exception) -> Exception:
    """The error if it can travel, else its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return EngineError(f"a worker process failed: {type(error).__name__}: {error}")
    return error
