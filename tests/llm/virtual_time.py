"""Time that passes only when nothing else is left to do, so that waits cost nothing and no machine is too slow.

For tests in which all that happens is in one event loop: no sockets, no threads.
"""

from __future__ import annotations

import asyncio
import functools
import random
import selectors
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ParamSpec, cast

from promptpex.config import load
from promptpex.core.events import ignore_events
from promptpex.core.records import Request
from promptpex.llm.fake import FakeClient
from promptpex.llm.stack import build
from promptpex.llm.structured import Structured
from promptpex.workflow.roles import Roles, stack_options
from promptpex.workflow.session import Session

P = ParamSpec("P")


class _Jumping(selectors.DefaultSelector):
    """Where a loop would sleep until its next timer, the clock jumps there instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout if timeout is None else 0)
        if timeout and not ready:
            self.now += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still while it works."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def now() -> float:
    """The clock of the loop that runs: of virtual time in a test that is in it."""
    return asyncio.get_running_loop().time()


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test that runs in a loop of its own, in virtual time."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def session_of(reply: Callable[[Request], Any], rng: random.Random | None = None, **given: Any) -> Session:
    """A session without a store on the clock of the loop that runs, with these settings."""
    resolved = load(given, start=Path(), env={})
    options, clock = stack_options(resolved.settings), asyncio.get_running_loop().time
    client = build(FakeClient(reply), store=None, rng=rng or random.Random(0), clock=clock, options=options)
    roles = Roles(resolved, Structured(client), ignore_events)
    return Session(resolved=resolved, client=client, store=cast("Any", None), roles=roles)
