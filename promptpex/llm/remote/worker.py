"""The service that asks models: in a worker, for the process of a run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from promptpex.core.records import Request
from promptpex.engines.links import Receive, Send, portable
from promptpex.llm.client import Client
from promptpex.llm.meter import Meter
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.remote.leased_limits import Leases, TellingGate, sends_belong_to, telling
from promptpex.llm.remote.messages import Begin, Cancel, Forget, Granted, Ready, Refused, SentAnswer, SentQuestion
from promptpex.llm.run_limits import Shared

OpenClient = Callable[[Shared, Begin], AbstractAsyncContextManager[Client]]
"""Opens, in a worker, the client that answers there, with its store and providers; can be pickled."""


@dataclass(frozen=True, slots=True)
class AskingService:
    """Answers requests with a client of its own, and leases of the run.

    Attributes:
        open: opens the client.
        unlimited: whether the run has no budget.
        clock: seconds, monotonic, as the client's.
    """

    open: OpenClient
    unlimited: bool
    clock: Callable[[], float] = time.monotonic

    async def serve(self, receive: Receive, send: Send) -> None:
        """As ``Service``."""
        messages = await receive()
        if not messages:
            return
        begin, *rest = messages
        if not isinstance(begin, Begin):
            raise AssertionError(f"a worker is told to begin first, not {type(begin).__name__}")
        gate, cancel_token = TellingGate(send), CancelToken()
        leases = Leases(send, gate, self.clock, unlimited=self.unlimited)
        shared = Shared(cancel_token, Meter(), leases, leases, gate, telling(send))
        async with self.open(shared, begin) as client:
            send(Ready())
            desk = _Asking(client, leases, cancel_token, send)
            try:
                desk.take(rest)
                while messages := await receive():
                    desk.take(messages)
            finally:
                await desk.end()


class _Asking:
    """What a worker is at: a task for each request."""

    def __init__(self, client: Client, leases: Leases, cancel_token: CancelToken, send: Send) -> None:
        self._client = client
        self._leases = leases
        self._cancel_token = cancel_token
        self._send = send
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def take(self, messages: Sequence[object]) -> None:
        """Does what the process of the run says."""
        for message in messages:
            match message:
                case SentQuestion():
                    task = asyncio.ensure_future(self._answer(message.number, message.request))
                    self._tasks[message.number] = task
                case Granted() | Refused():
                    self._leases.take(message)
                case Forget():
                    if message.number in self._tasks:
                        self._tasks[message.number].cancel()
                case Cancel():
                    self._cancel_token.cancel()

    async def end(self) -> None:
        """Ends what is under way."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, number: int, request: Request) -> None:
        try:
            with sends_belong_to(number, request):
                self._send(SentAnswer(number, await self._client.complete(request)), soon=True)
        except Exception as error:  # it is raised again where the run is
            self._send(SentAnswer(number, portable(error)), soon=True)
        finally:
            self._tasks.pop(number, None)
            self._leases.forget(number)
