"""What engines share that send a job elsewhere: pickled jobs, chunks of items, and errors that can travel."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic

from promptpex.core.errors import EngineError
from promptpex.engines.jobs import Item, Result

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


@dataclass(frozen=True, slots=True)
class OneByOne(Generic[Item, Result]):
    """The pool of workers that are given chunks: a chunk is an item."""

    submit: Callable[[list[Item]], asyncio.Future[list[Result]]]
    workers: int

    @property
    def ahead(self) -> int:
        """See ``Pool``."""
        return self.workers * CHUNKS_PER_WORKER

    def begin(self, item: Item) -> asyncio.Future[Result]:
        """See ``Pool``."""
        return asyncio.ensure_future(self._only(self.submit([item])))

    async def _only(self, results: asyncio.Future[list[Result]]) -> Result:
        (result,) = await results
        return result


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
