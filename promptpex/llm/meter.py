"""What was asked and what it took: an event per request, and totals per stage and model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from promptpex.core.errors import ModelError
from promptpex.core.events import Answered, Failed, Listener, ignore_events
from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client


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
        """Adds ``other`` to these."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Meter:
    """Totals so far, by stage and model."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, str], Totals] = {}

    @property
    def totals(self) -> Mapping[tuple[str, str], Totals]:
        """By (stage, model), in order of their first request."""
        return self._totals

    @property
    def total(self) -> Totals:
        """Over all stages and models."""
        total = Totals()
        for each in self._totals.values():
            total.add(each)
        return total

    def sent(self, request: Request) -> None:
        """Counts a request that leaves."""
        self._of(request).sent += 1

    def answered(self, request: Request, completion: Completion) -> None:
        """Counts an answer."""
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
        """Counts a request that was not answered."""
        self._of(request).failed += 1

    def _of(self, request: Request) -> Totals:
        return self._totals.setdefault((request.stage, request.model), Totals())


class MeteredClient:
    """Tells ``meter`` and ``emit`` of every request to ``inner``."""

    def __init__(self, inner: Client, meter: Meter, emit: Listener = ignore_events) -> None:
        self._inner = inner
        self._emit = emit
        self.meter = meter

    async def complete(self, request: Request) -> Completion:
        """The answer of ``inner``."""
        try:
            completion = await self._inner.complete(request)
        except ModelError as error:
            self.meter.failed(request)
            self._emit(Failed(request.label or request.model, request.stage, request.id, error.reason, error.message))
            raise
        self.meter.answered(request, completion)
        self._emit(
            Answered(
                request.label or request.model,
                request.stage,
                request.id,
                completion.cached,
                completion.latency_ms,
                completion.tokens_in,
                completion.tokens_out,
                completion.cost_usd,
            )
        )
        return completion

    async def close(self) -> None:
        """Closes ``inner``."""
        await self._inner.close()
