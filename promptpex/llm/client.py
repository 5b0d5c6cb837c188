"""The one seam to models: everything that answers or wraps what answers has this shape; and what was asked and took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from promptpex.core.records import Completion, Request


class Client(Protocol):
    """Something that completes requests.

    ``complete`` returns what the model answered, whatever its content (empty, truncated and filtered answers are
    returned, with their ``finish_reason``), or raises an ``errors.ModelError``. ``close`` frees connections and
    loaded models; it may be called twice.
    """

    async def complete(self, request: Request) -> Completion: ...

    async def close(self) -> None: ...


@runtime_checkable
class Loading(Protocol):
    """A client that has to load something before it can send a request, which takes seconds and is done once.

    ``load`` raises what ``complete`` would raise.
    """

    async def load(self, request: Request) -> None: ...


@dataclass(slots=True)
class Totals:
    """Sums over the requests of one stage to one model.

    Attributes:
        sent: sent to a provider; each attempt counts.
        requests: answered by a provider, or from a recording.
        replayed: those of them that came from a recording, for which nothing was sent.
        cached: answered from the store.
        failed: not answered.
        tokens_in, tokens_out: of provider answers that say how many they were.
        cost_usd: US dollars of provider answers whose price is known; ``unpriced`` is the number of the others.
        latency_ms: sum over provider answers.
    """

    sent: int = 0
    requests: int = 0
    replayed: int = 0
    cached: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    latency_ms: float = 0.0

    def add(self, other: Totals) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Meter:
    """Totals so far, by stage and model, in order of their first request."""

    def __init__(self) -> None:
        self.totals: dict[tuple[str, str], Totals] = {}

    @property
    def total(self) -> Totals:
        total = Totals()
        for each in self.totals.values():
            total.add(each)
        return total

    def sent(self, request: Request) -> None:
        self._of(request).sent += 1

    def answered(self, request: Request, completion: Completion) -> None:
        totals = self._of(request)
        if completion.cached:
            totals.cached += 1
            return
        totals.requests += 1
        totals.replayed += request.is_replay
        totals.tokens_in += completion.tokens_in or 0
        totals.tokens_out += completion.tokens_out or 0
        totals.cost_usd += completion.cost_usd or 0.0
        totals.unpriced += completion.cost_usd is None
        totals.latency_ms += completion.latency_ms or 0.0

    def failed(self, request: Request) -> None:
        self._of(request).failed += 1

    def _of(self, request: Request) -> Totals:
        return self.totals.setdefault((request.stage, request.model), Totals())
