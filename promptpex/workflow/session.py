"""A session: the settings, the models behind their wrappers, and the store, opened together and closed together."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Event as ThreadEvent
from threading import Thread
from typing import Any, TypeVar

from promptpex.config import Resolved, Settings
from promptpex.config.env_file import in_environment
from promptpex.core.events import Event, Listener, Notice, ignore_events
from promptpex.core.response_store import ResponseStore
from promptpex.engines import Engine, LocalEngine, open_engine
from promptpex.judging.judge_mode import JudgeExample
from promptpex.llm.client import Client, Meter
from promptpex.llm.providers.router import Router
from promptpex.llm.stack import Stack, build
from promptpex.llm.structured import Structured
from promptpex.store import open_store
from promptpex.workflow.execution.collect import Collect, collect
from promptpex.workflow.roles import Roles, provider_options, stack_options, warn_about_unkeyed_servers

MANY_RESULTS = 20_000
"""Results of checks, each an assertion on an output, from which on further processes pay: about a second's work."""


@dataclass(slots=True)
class Session:
    """What all stages of a command share.

    Attributes:
        resolved: the settings, and where each came from.
        client: the wrapped client that all roles ask through.
        store: the response store.
        roles: the models in their roles.
        emit: is given the events.
        provider_notices: warnings of the providers, in the order in which they came.
        clock: the wall clock, in UTC; it dates manifests.
        engine: where the checks on outputs run, where there are many.
        many: results of checks from which on they are left to the engine.
        judge_examples: graded outputs that judges are shown.
        collect: how outputs are collected.
        prompts: of how many prompts runs are made at the same time.
    """

    resolved: Resolved
    client: Stack
    store: ResponseStore
    roles: Roles
    emit: Listener = ignore_events
    provider_notices: dict[str, None] = field(default_factory=dict)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    engine: Engine = field(default_factory=LocalEngine)
    many: int = MANY_RESULTS
    judge_examples: tuple[JudgeExample, ...] = ()
    collect: Collect = collect
    prompts: int = 1

    @property
    def settings(self) -> Settings:
        return self.resolved.settings

    @property
    def meter(self) -> Meter:
        return self.client.meter

    def engine_for(self, results: int) -> Engine:
        """Where so many results of checks are worked out: in this process, where starting others would take longer."""
        return self.engine if results >= self.many else LocalEngine()

    def count_spending_of(self, other: Session) -> None:
        self.client.budget.spent = other.client.budget.spent

    def for_one_of(self, prompts: int, emit: Listener) -> Session:
        """A session for one prompt of so many: with its own settings, meter and listener, and with the store, the
        budget and the pacing of all. What there is to tell of models is told once for all prompts."""
        client = self.client.counting_apart()
        roles = replace(self.roles, structured=Structured(client))
        return replace(self, client=client, roles=roles, emit=emit, prompts=prompts)


@asynccontextmanager
async def open_session(
    resolved: Resolved, *, provider: Client | None = None, emit: Listener = ignore_events
) -> AsyncIterator[Session]:
    """A session on these settings; ``provider`` replaces the real ones, as tests and replays do.

    Raises:
        StoreError: the response store cannot be opened.
    """
    from_file = resolved.keys_of_file()
    for notice in from_file.notices:
        emit(Notice(notice))
    with in_environment(from_file.keys):
        async with _opened(resolved, provider, emit) as session:
            yield session


@asynccontextmanager
async def _opened(resolved: Resolved, provider: Client | None, emit: Listener) -> AsyncIterator[Session]:
    """The session, its keys being in the environment."""
    settings = resolved.settings
    provider_notices: dict[str, None] = {}

    def keep(event: Event) -> None:
        if isinstance(event, Notice) and event.level == "warning":
            provider_notices[event.message] = None
        emit(event)

    options = provider_options(resolved, keep)
    warn_about_unkeyed_servers(resolved, options, emit)
    store = await open_store(settings.store)
    try:
        client = build(
            provider if provider is not None else Router(options),
            store=store,
            emit=keep,
            rng=random.Random(settings.seed),
            clock=time.monotonic,
            options=stack_options(settings),
        )
        try:
            with open_engine(settings.engine, workers=settings.workers, address=settings.address) as engine:
                yield Session(
                    resolved=resolved,
                    client=client,
                    store=store,
                    roles=Roles(resolved, Structured(client), emit),
                    emit=emit,
                    provider_notices=provider_notices,
                    engine=engine,
                )
        finally:
            await client.close()
    finally:
        await store.close()


T = TypeVar("T")


def result_of(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine, also where a loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    return _in_own_thread(work())


def _in_own_thread(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine in a loop and a thread of its own; an interruption cancels it, as ``asyncio.run`` does,
    also one that comes while it begins."""
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop = runner.get_loop()
    task, ended = loop.create_task(work), ThreadEvent()

    def run() -> None:
        with suppress(BaseException), runner:  # whatever it raises is what came of the task
            loop.run_until_complete(task)
        ended.set()

    thread = Thread(target=run, name="promptpex")
    try:
        thread.start()
        ended.wait()  # a join that is interrupted takes the thread for one that has ended (Python 3.11)
    except BaseException:
        with suppress(RuntimeError):  # it has ended, and its loop is closed
            loop.call_soon_threadsafe(task.cancel)
        with suppress(RuntimeError):  # it never started
            thread.join()
        raise
    return task.result()
