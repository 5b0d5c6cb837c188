"""Work that comes in pieces of several sources, such as the parts of files: done side by side, given one after another.

How many pieces a source has is found out while they are done. So its items are taken as long as it gives some; then
those of the next are, so that all workers have something to do while it is found out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from promptpex.engines.jobs import Pool

Item = TypeVar("Item")
Result = TypeVar("Result")
Piece = TypeVar("Piece")
Item_co = TypeVar("Item_co", covariant=True)
Result_contra = TypeVar("Result_contra", contravariant=True)
Piece_co = TypeVar("Piece_co", covariant=True)


class PieceSource(Protocol[Item_co, Result_contra, Piece_co]):
    """Where items come from, and what their results come to."""

    def next(self) -> Item_co | None:
        """An item to begin; None = there is none, or none before more results are known. What it raises is raised in
        its turn. Where every result is known, None means that the source is at its end."""

    def known(self, result: Result_contra) -> None:
        """A result is there, whether or not it is its turn; may be said twice."""

    def take(self, result: Result_contra) -> Iterator[Piece_co] | None:
        """What the next result in turn comes to; None = its items have to begin anew from here, by what ``next`` gives
        from now on."""


class _Begun(Generic[Item, Result, Piece]):
    """A source, and what of it is under way."""

    def __init__(self, source: PieceSource[Item, Result, Piece]) -> None:
        self.source = source
        self.futures: deque[asyncio.Future[Result]] = deque()
        self.failed = False

    def begin(self, pool: Pool[Item, Result]) -> bool:
        """Begins an item, if there is one."""
        if self.failed:
            return False
        try:
            item = self.source.next()
        except Exception as error:
            self.failed = True
            future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
            future.set_exception(error)
        else:
            if item is None:
                return False
            future = pool.begin(item)
            future.add_done_callback(self._known)
        self.futures.append(future)
        return True

    def _known(self, future: asyncio.Future[Result]) -> None:
        if not future.cancelled() and future.exception() is None and future in self.futures:
            self.source.known(future.result())

    async def drop(self) -> None:
        """Ends what is under way."""
        futures, self.futures = list(self.futures), deque()
        for future in futures:
            future.cancel()
        await asyncio.gather(*futures, return_exceptions=True)


async def pieces_in_turn(
    pool: Pool[Item, Result], sources: Iterable[PieceSource[Item, Result, Piece]]
) -> AsyncGenerator[Piece, None]:
    """What the items of all sources come to, in the order of the sources and of their items.

    At most ``pool.ahead`` items are under way or wait for their turn. A source is opened, taken from ``sources``, when
    there is room for its items.

    Raises:
        Exception: of the job, of ``sources`` or of a source, in its turn.
    """
    window: _Window[Item, Result, Piece] = _Window(pool, iter(sources))
    try:
        while (head := await window.filled()) is not None:
            if not head.futures:
                window.begun.popleft()
                continue
            result = await head.futures[0]
            head.futures.popleft()
            head.source.known(result)  # its callback may not have run yet
            pieces = head.source.take(result)
            if pieces is None:
                await head.drop()
                continue
            for piece in pieces:
                yield piece
    finally:
        for each in window.begun:
            await each.drop()


class _Window(Generic[Item, Result, Piece]):
    """The sources of which something is under way, or may be."""

    def __init__(self, pool: Pool[Item, Result], sources: Iterator[PieceSource[Item, Result, Piece]]) -> None:
        self.begun: deque[_Begun[Item, Result, Piece]] = deque()
        self._pool = pool
        self._sources = sources

    async def filled(self) -> _Begun[Item, Result, Piece] | None:
        """Begins items while there is room and some to begin; the source whose turn it is, if there is any."""
        while sum(len(each.futures) for each in self.begun) < self._pool.ahead:
            if not any(each.begin(self._pool) for each in self.begun) and not self._opened():
                break
            await asyncio.sleep(0)
            if self.begun and self.begun[0].futures and self.begun[0].futures[0].done():
                break
        return self.begun[0] if self.begun else None

    def _opened(self) -> bool:
        """Opens the next source."""
        source = next(self._sources, None)
        if source is not None:
            self.begun.append(_Begun(source))
        return source is not None
