"""Workers without a cluster: tasks of this event loop, to which everything travels pickled."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from promptpex.core.events import Listener, ignore_events
from promptpex.core.response_store import ResponseStore
from promptpex.engines.links import Host, Service, WorkerLost, packed, unpacked
from promptpex.llm.client import Client
from promptpex.llm.remote.client import RemoteClient
from promptpex.llm.remote.lease_server import Coordinator
from promptpex.llm.remote.messages import Begin, SentQuestion
from promptpex.llm.remote.worker import AskingService
from promptpex.llm.remote.workers import Workers
from promptpex.llm.run_limits import Shared
from promptpex.llm.stack import Stack, StackOptions, asking, build
from tests.llm.virtual_time import now


class TaskLink:
    """A service in a task; ``delay_s`` is the way from here to there."""

    def __init__(self, service: Service, delay_s: float) -> None:
        self.host = Host(service)
        self.sent: list[object] = []
        self._delay_s = delay_s
        self._lost = asyncio.Event()

    def send(self, message: object, *, soon: bool = False) -> None:
        self.sent.append(message)
        batch = packed([message])
        asyncio.get_running_loop().call_later(self._delay_s, lambda: self.host.put(batch))

    async def receive(self) -> Sequence[object]:
        taking = asyncio.ensure_future(self.host.take())
        lost = asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({taking, lost}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            taking.cancel()
            lost.cancel()
        if self._lost.is_set():
            raise WorkerLost("it was killed")
        await asyncio.sleep(self._delay_s)
        return unpacked(taking.result())

    def end(self) -> None:
        self.host.end()

    async def kill(self) -> None:
        self.host.task.cancel()
        await asyncio.gather(self.host.task, return_exceptions=True)

    def holds(self, text: str) -> bool:
        """Whether it was given a request with this text."""
        return any(isinstance(each, SentQuestion) and each.request.messages[-1].content == text for each in self.sent)

    def die(self) -> None:
        """As if its process were killed: nothing that it has still to say arrives."""
        self._lost.set()
        self.host.task.cancel()


@dataclass
class Tasks:
    """A carrier of tasks. Starting fails as often as ``refuses`` says."""

    delay_s: float = 0.001
    refuses: int = 0
    links: list[TaskLink] = field(default_factory=list)

    async def room(self) -> int:
        return 2

    async def start(self, service: Service) -> TaskLink:
        if self.refuses:
            self.refuses -= 1
            raise WorkerLost("no room for it")
        self.links.append(TaskLink(service, self.delay_s))
        return self.links[-1]


Provide = Callable[[int], Client]
"""The provider of a worker, by its number."""


def cluster(
    carrier: Tasks,
    provide: Provide,
    *,
    workers: int | None = 2,
    store: ResponseStore | None = None,
    here: Client | None = None,
    emit: Listener = ignore_events,
    **settings: object,
) -> Stack:
    """The client of a run on workers that are tasks, in which ``provide`` makes the providers."""
    options = StackOptions(**settings)  # type: ignore[arg-type]

    @asynccontextmanager
    async def opened(shared: Shared, begin: Begin) -> AsyncIterator[Client]:
        client = asking(
            provide(begin.worker),
            shared,
            store=store,
            rng=random.Random(begin.worker),
            clock=now,
            options=options,
            run_spent_s=begin.run_spent_s,
        )
        try:
            yield client
        finally:
            await client.close()

    def remote(here: Client, shared: Shared, coordinator: Coordinator) -> Client:
        unlimited = shared.budget.unlimited
        crew = Workers(
            carrier,
            AskingService(opened, unlimited, now),
            count=workers,
            concurrency=options.concurrency,
            gives_up_s=options.gives_up_s,
            shared=shared,
            coordinator=coordinator,
            clock=now,
        )
        return RemoteClient(here, crew, fresh=options.fresh)

    return build(
        here or provide(-1),
        store=store,
        emit=emit,
        rng=random.Random(0),
        clock=now,
        options=options,
        remote=remote,
    )
