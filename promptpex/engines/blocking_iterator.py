"""A stream of results for code that is not asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from promptpex.engines.jobs import Result


@contextmanager
def as_they_come(stream: AsyncGenerator[Result, None]) -> Iterator[Iterator[Result]]:
    """The results, none of them None, in a loop of their own; what runs for them ends with the block."""
    with asyncio.Runner() as runner:
        try:
            yield iter(lambda: runner.run(_next(stream)), None)
        finally:
            runner.run(_closed(stream))


async def _next(stream: AsyncGenerator[Result, None]) -> Result | None:
    return await anext(stream, None)


async def _closed(stream: AsyncGenerator[Result, None]) -> None:
    """Closes a stream whose next result may still be waited for, if that was interrupted."""
    waiting = asyncio.all_tasks() - {asyncio.current_task()}
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await stream.aclose()
