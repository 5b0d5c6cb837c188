"""Jobs for tests of engines, in a module of their own so that other processes can import them.

Each of some eighty processes does: only the job that needs the package's larger parts loads them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from promptpex.core.errors import SpecError

if TYPE_CHECKING:
    from promptpex.core.records import Output, Prompt
    from promptpex.workflow.execution.collect import Cell


Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class FunctionJob(Generic[Item, Result]):
    """A plain function of a module as a job that opens nothing."""

    function: Callable[[Item], Result]

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[Item], Awaitable[Result]]]:
        async def apply(item: Item) -> Result:
            return self.function(item)

        yield apply


def words(output: Output) -> int:
    """A plain function of a record."""
    time.sleep(0.002 * (int(output.case) % 3))
    return len((output.text or "").split())


@dataclass(frozen=True)
class BrokenSource:
    """Numbers up to thirty, which it refuses."""

    def __iter__(self) -> Iterator[int]:
        yield from range(30)
        raise SpecError("thirty is refused", path="x.yaml", line=30)


def process_of(_: int) -> int:
    return os.getpid()


def refuse_forty(number: int) -> int:
    if number == 40:
        raise SpecError("forty is refused", path="x.yaml", line=40)
    return number


def die_at_forty(number: int) -> int:
    if number == 40:
        os._exit(7)
    return number


def busy(place: Path) -> None:
    """Never waits and never ends by itself; says when it has begun, and when it was ended."""
    try:
        place.write_text("begun")
        while True:
            pass
    finally:
        place.write_text("ended")


def ignore_sigterm(folder: Path) -> None:
    """Cannot be ended but by force; its process is the name of a file, as in ``Journal``."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (folder / f"{os.getpid()}.txt").write_text("opened\n1\n")
    while True:
        time.sleep(60)


async def ignore_cancelling(folder: Path) -> None:
    """Goes on after it was cancelled, which the end of an event loop waits for."""
    (folder / f"{os.getpid()}.txt").write_text("opened\n1\n")
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)


@dataclass(frozen=True)
class Uncancellable:
    """The job of ``ignore_cancelling``."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[Path], Awaitable[None]]]:
        yield ignore_cancelling


def give_a_lambda(number: int) -> object:
    return lambda: number


@dataclass(frozen=True)
class Journal:
    """Opens a file per process, and says in it what it opened, did and closed. What is gated ends after ``let_go``."""

    folder: Path
    seconds: float = 0.0
    gated: bool = False

    def let_go(self) -> None:
        """Lets what is gated go on."""
        (self.folder / "go").touch()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[int], Awaitable[int]]]:
        with (self.folder / f"{os.getpid()}.txt").open("a", buffering=1) as file:
            file.write("opened\n")

            async def square(number: int) -> int:
                file.write(f"{number}\n")
                await asyncio.sleep(self.seconds)
                if self.gated:
                    await until((self.folder / "go").exists)
                return number * number

            try:
                yield square
            finally:
                file.write("closed\n")

    def lines(self) -> list[list[str]]:
        """What each process wrote."""
        return [path.read_text().split() for path in self.folder.glob("*.txt")]

    def processes(self) -> list[int]:
        return [int(path.stem) for path in self.folder.glob("*.txt")]


@dataclass(frozen=True)
class Collecting:
    """The job of collecting outputs: a session with its client and store is opened where it runs."""

    prompt: Prompt
    settings: dict[str, object]
    folder: Path

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[Cell], Awaitable[Output]]]:
        from promptpex.config import load
        from promptpex.core.time_allowance import Allowance
        from promptpex.workflow.execution.collect import answer_to
        from promptpex.workflow.session import open_session

        async with open_session(load(self.settings, start=self.folder, env={})) as session:

            async def output_of(cell: Cell) -> Output:
                time = Allowance(60.0)
                return await answer_to(session.client, self.prompt, cell, session.roles.output_params(), time)

            yield output_of


async def until(condition: Callable[[], bool]) -> None:
    """Waits for what another process does."""
    while True:
        if condition():
            return
        await asyncio.sleep(0.01)


async def kept(stream: AsyncGenerator[int, None], results: list[int]) -> None:
    """Adds what a stream gives to ``results``, until it ends or raises."""
    async with aclosing(stream):
        async for result in stream:
            results.append(result)
