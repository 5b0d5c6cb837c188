"""Asking on the workers of a cluster: what a worker opens, and how a session comes to a client that asks there.

Keys do not travel. A worker has those of its own environment: on a Ray that was started here that of this process, on
the nodes of another cluster what they were started with.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.config import Settings
from promptpex.core.errors import ConfigError
from promptpex.core.events import ignore_events
from promptpex.core.store_address import EXAMPLES, is_address
from promptpex.engines.links import Carrier
from promptpex.llm.client import Client
from promptpex.llm.providers import ProviderOptions, Router
from promptpex.llm.remote.client import RemoteClient
from promptpex.llm.remote.lease_server import Coordinator
from promptpex.llm.remote.messages import Begin
from promptpex.llm.remote.worker import AskingService
from promptpex.llm.remote.workers import Workers
from promptpex.llm.run_limits import Shared
from promptpex.llm.stack import Remote, StackOptions, asking
from promptpex.store import open_store
from promptpex.store.living_processes import host_name
from promptpex.workflow.client_options import stack_options


@dataclass(frozen=True, slots=True)
class WorkerClientFactory:
    """Opens the store and the providers of a worker, in it; can be pickled, and holds no key.

    Attributes:
        store: where replies are kept: an absolute path on the machine of the run, or a server's address.
        host: the machine of the run.
        providers: the providers' options.
        stack: the wrappers' options.
        seed: of the jitter of retries.
    """

    store: str
    host: str
    providers: ProviderOptions
    stack: StackOptions
    seed: int

    @asynccontextmanager
    async def __call__(self, shared: Shared, begin: Begin) -> AsyncIterator[Client]:
        """The client of one worker, closed at the end.

        Raises:
            ConfigError: the store is a file on another machine.
            StoreError: the store cannot be opened.
        """
        is_here = self.host == host_name()
        if not is_here and not is_address(self.store):
            raise ConfigError(
                f"the store {self.store} is a file on the machine of the run, and a worker runs on another, "
                f"{host_name().split()[0]}; workers on several machines need a store that all reach: --store {EXAMPLES}"
            )
        store = await open_store(self.store)
        try:
            client = asking(
                Router(replace(self.providers, emit=shared.emit)),
                shared,
                store=store,
                rng=random.Random(self.seed + begin.worker),
                clock=time.monotonic,
                options=replace(self.stack, fresh=False),
                run_spent_s=begin.run_spent_s,
            )
            try:
                yield client
            finally:
                await client.close()
        finally:
            await store.close()


def asking_on_workers(carrier: Carrier, settings: Settings, providers: ProviderOptions) -> Remote:
    """What makes the client of a run that asks on the workers that ``carrier`` starts."""
    options = stack_options(settings)
    opens = WorkerClientFactory(
        store=settings.store if is_address(settings.store) else str(Path(settings.store).absolute()),
        host=host_name(),
        providers=replace(providers, emit=ignore_events),
        stack=replace(options, record=None),
        seed=settings.seed,
    )

    def remote(here: Client, shared: Shared, coordinator: Coordinator) -> Client:
        workers = Workers(
            carrier,
            AskingService(opens, shared.budget.unlimited),
            count=settings.workers,
            concurrency=settings.concurrency,
            gives_up_s=options.gives_up_s,
            shared=shared,
            coordinator=coordinator,
            clock=time.monotonic,
        )
        return RemoteClient(here, workers, fresh=settings.fresh)

    return remote
