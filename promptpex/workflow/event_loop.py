"""Coroutines for callers that have no event loop, and for those that are in one already, as notebooks are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from threading import Event, Thread
from typing import Any, TypeVar

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
