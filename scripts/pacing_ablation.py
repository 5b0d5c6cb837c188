#!/usr/bin/env python3
"""What each part of pacing is for: servers that behave badly, asked with everything, and with one part switched off.

    python scripts/pacing_ablation.py

Time is virtual (``tests/llm/virtual_time.py``), so an hour of outage takes a second, and the figures are the same on
every machine. The table stands in ``docs/written-by-hand.md``.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from promptpex.core.errors import ModelError, NotAuthorised, RateLimited, Unavailable  # noqa: E402
from promptpex.core.records import Completion, Message, Request  # noqa: E402
from promptpex.llm.pacing import aimd, breaker, first_request  # noqa: E402
from promptpex.llm.stack import StackOptions, build  # noqa: E402
from tests.llm.virtual_time import VirtualTimeLoop, now  # noqa: E402

REQUESTS = 1000
CONCURRENCY = 64


@dataclass
class Server:
    """A model's server in virtual time: ``refuses`` says why it does not answer, ``latency`` how long it takes."""

    refuses: Callable[[Server], ModelError | None]
    latency: Callable[[Server], float] = lambda server: 1.0
    in_flight: int = 0
    sent: int = 0

    async def complete(self, request: Request) -> Completion:
        """One attempt."""
        self.sent += 1
        self.in_flight += 1
        try:
            if (error := self.refuses(self)) is not None:
                await asyncio.sleep(0.05)
                raise error
            await asyncio.sleep(self.latency(self))
            return Completion(text="yes")
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        """Nothing is open."""


def _bears(most: int) -> Callable[[Server], ModelError | None]:
    """429 without a time to wait, beyond so many in flight."""
    return lambda server: RateLimited("too many", model="m") if server.in_flight > most else None


def _quota(most: int) -> Callable[[Server], ModelError | None]:
    """429 that names a second, beyond so many answers within a minute."""
    answered: list[float] = []

    def refuses(server: Server) -> ModelError | None:
        if sum(at > now() - 60 for at in answered) >= most:
            return RateLimited("quota", model="m", retry_after=answered[-most] + 60 - now())
        answered.append(now())
        return None

    return refuses


def _down(start: float, end: float) -> Callable[[Server], ModelError | None]:
    return lambda server: Unavailable("refused", model="m") if start <= now() < end else None


def _wrong_key(server: Server) -> ModelError | None:
    return NotAuthorised("no such key", model="m")


def _one_machine(server: Server) -> float:
    """Ten answers a second in all, however many are asked for; beyond 32 in flight its memory is swapped."""
    return server.in_flight / 10 * (1 if server.in_flight <= 32 else 6)


def _crowded(server: Server) -> float:
    """A second an answer; from 3 s on, for a minute, thirty of them where more than 16 are asked for at once."""
    return 30.0 if 3 <= now() < 63 and server.in_flight > 16 else 1.0


SERVERS: dict[str, Callable[[], Server]] = {
    "bears 16 at once, else 429": lambda: Server(_bears(16)),
    "300 a minute, else 429 with a time": lambda: Server(_quota(300)),
    "is down from 5 s to 25 s": lambda: Server(_down(5, 25)),
    "is down for good after 5 s": lambda: Server(_down(5, 1e9)),
    "refuses the key": lambda: Server(_wrong_key),
    "swaps beyond 32 at once": lambda: Server(lambda server: None, _one_machine),
    "is slow for a minute beyond 16": lambda: Server(lambda server: None, _crowded),
    "has no fault": lambda: Server(lambda server: None),
}


class NoAimd(aimd.ConcurrencyController):
    """Keeps pauses, changes nothing else."""

    def _halve(self) -> None:
        self._decreased = self._clock()

    def _end_round(self) -> None:
        self._begin_round()


class NoPauses(aimd.ConcurrencyController):
    """Halves, and never waits."""

    def refused(self, started: float, retry_after: float | None) -> None:
        super().refused(started, retry_after)
        self.not_before = float("-inf")


class NoBreaker(breaker.Breaker):
    """Never holds a request back."""

    def failed(self) -> None:
        pass


class NoGate(first_request.FirstRequestGate):
    """Lets all requests go at once."""

    def __init__(self) -> None:
        super().__init__()
        self.known = _Everyone()
        self.dead = _Nobody()


class _Everyone(set[Any]):
    def __contains__(self, who: object) -> bool:
        return True


class _Nobody(dict[Any, Any]):
    def __setitem__(self, who: object, error: object) -> None:
        pass


@contextmanager
def without(part: str) -> Iterator[None]:
    """Inside, this part of pacing does nothing."""
    replaced: dict[str, tuple[str, object]] = {
        "AIMD": ("promptpex.llm.pacing.server_queue.ConcurrencyController", NoAimd),
        "pauses": ("promptpex.llm.pacing.server_queue.ConcurrencyController", NoPauses),
        "breaker": ("promptpex.llm.pacing.retry.Breaker", NoBreaker),
        "first request alone": ("promptpex.llm.stack.FirstRequestGate", NoGate),
        "ramp": ("promptpex.llm.pacing.server_queue.RAMP_S", 1e-9),
    }
    if part not in replaced:
        yield
        return
    with patch(*replaced[part]):
        yield


PARTS = ("nothing", "retries", "AIMD", "pauses", "breaker", "first request alone", "ramp")


async def _run(server: Server, part: str) -> str:
    options = StackOptions(concurrency=CONCURRENCY, max_attempts=1 if part == "retries" else 5)
    stack = build(server, rng=random.Random(7), clock=now, options=options, emit=lambda event: None, store=None)
    unanswered = 0

    async def ask(number: int) -> None:
        nonlocal unanswered
        request = Request(model="openai/m", messages=(Message(role="user", content=str(number)),), stage="output")
        try:
            await stack.complete(request)
        except ModelError:
            unanswered += 1

    began = now()
    await asyncio.gather(*(ask(number) for number in range(REQUESTS)))
    return f"{now() - began:.0f} s, {server.sent:,} sent, {unanswered} unanswered"


def measured(make: Callable[[], Server], part: str) -> str:
    """Virtual seconds, requests sent, and requests without an answer."""
    with without(part), asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(_run(make(), part))


def main() -> None:
    """Prints a row for each server, a column for each part that is off."""
    print("| a server that | with everything |", *(f"without {part} |" for part in PARTS[1:]))
    print("|---" * (len(PARTS) + 1) + "|")
    for name, make in SERVERS.items():
        print(f"| {name} |", *(f"{measured(make, part)} |" for part in PARTS), flush=True)


if __name__ == "__main__":
    main()
