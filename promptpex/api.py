"""The steps as functions on records, for programs and notebooks.

Each opens a session, does its work and closes it. Settings are the command line's, by name (``seed=1``,
``store="..."``, ``max_cost=0.5``); environment and settings files apply here as well. ``client`` replaces the real
models, as ``FakeClient`` does in tests. An interruption (``KeyboardInterrupt``, a notebook's stop button) cancels what
is being asked; what was answered stays in the store.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

from promptpex.config import load
from promptpex.core.errors import ConfigError
from promptpex.core.records import Prompt, Run, Spec, Suite
from promptpex.llm.client import Client
from promptpex.workflow import early_stopping, generating, running, specifying
from promptpex.workflow.session import Session, open_session

T = TypeVar("T")


def extract(prompt: Prompt, *, author: str | None = None, client: Client | None = None, **settings: Any) -> Spec:
    """The spec of a prompt, by the author model.

    Raises:
        errors.PromptpexError: settings that cannot be used; an author that could not name a single rule.
    """

    async def job(session: Session) -> Spec:
        return await specifying.extract(session, prompt, spec_for=Path(prompt.path or prompt.name).name)

    return _in_session(job, {"author": author, **settings}, client)


def generate(
    prompt: Prompt,
    spec: Spec,
    *,
    suite: Suite | None = None,
    author: str | None = None,
    more: int = 0,
    keep: int | None = None,
    client: Client | None = None,
    **settings: Any,
) -> Suite:
    """The suite with what is missing or stale made by the author model; people's cases stay as they are.

    Args:
        more: cases to make for each rule and inverse beyond those that there are.
        keep: how many cases to keep, the most valuable ones; the others are put aside. None: as it is.
    """

    async def job(session: Session) -> Suite:
        wishes = generating.Wishes(more=more, keep=keep)
        return (await generating.generate(session, prompt, spec, suite or Suite(prompt=spec.prompt), wishes)).suite

    return _in_session(job, {"author": author, **settings}, client)


def run(
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    *,
    models: str | Sequence[str],
    judge: str | Sequence[str] | None = None,
    client: Client | None = None,
    **settings: Any,
) -> Run:
    """Every usable case sent to every model, and each answer judged; ``promptpex.tables`` makes DataFrames of it."""

    async def job(session: Session) -> Run:
        return await early_stopping.execute(session, await running.begin(session, prompt, spec, suite))

    if not models:
        raise ConfigError("models names no model; give at least one")
    return _in_session(job, {"models": _listed(models), "judge": _listed(judge), **settings}, client)


def judge(run: Run, *, judge: str | Sequence[str] | None = None, client: Client | None = None, **settings: Any) -> Run:
    """The run with new verdicts on its outputs; no model under test is asked."""

    async def job(session: Session) -> Run:
        return await running.judge(session, run)

    return _in_session(job, {"judge": _listed(judge), **settings}, client)


def _listed(names: str | Sequence[str] | None) -> list[str] | None:
    return [names] if isinstance(names, str) else None if names is None else list(names)


def _in_session(job: Callable[[Session], Awaitable[T]], settings: dict[str, Any], client: Client | None) -> T:
    given = {name: value for name, value in settings.items() if value is not None}
    resolved = load(given, start=Path.cwd(), env=os.environ)

    async def work() -> T:
        async with open_session(resolved, provider=client) as session:
            return await job(session)

    return _result_of(work)


def _result_of(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
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
    task, ended = loop.create_task(work), Event()

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
