"""What an engine runs: a picklable job over plain records.

A job carries no connection, file or future. It is told where it runs, in ``open``, and opens there what it needs: a
client, a store, compiled assertions. So the same job runs in the event loop, in processes, or on other machines.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Job(Protocol[Item_contra, Result_co]):
    """Something to be done for each of many records; it, the records and the results can be pickled."""

    def open(self) -> AbstractAsyncContextManager[Callable[[Item_contra], Awaitable[Result_co]]]:
        """Opens what the job needs, once in every place where it runs, and gives the function of one record."""


class Engine(Protocol):
    """A place where jobs run."""

    async def map(self, job: Job[Item, Result], items: Iterable[Item]) -> list[Result]:
        """The job's result for each item, in the items' order.

        The first exception of the job ends the others and is raised as it is; cancelling the call ends all of them.
        """

    def stream(self, job: Job[Item, Result], items: Iterable[Item]) -> AsyncGenerator[Result, None]:
        """As ``map`` for items without end: each result is given in its turn, and a bounded number of items is held.

        An exception, of the job or of the items themselves, is raised in its turn as well, after the results of all
        items before it. Whoever leaves early closes the generator (``contextlib.aclosing``), which ends what runs.
        """
