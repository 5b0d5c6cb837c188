"""The wrappers in their order around a provider.

::

    Stack            counts, with an event for each request
      RecordingClient  what the run asked and got, stored answers and errors included
        CachedClient     paid for once; lets so many through at a time
          SchemaFallback   reply schemas in words where a model takes none
            RetryingClient   each model once before many times; queue, deadlines, budget, attempts, price
              the provider

The id of a request is taken above the fallback, so what is learned about a model changes no id. The budget is asked
behind the queue, so that what merely waits reserves nothing, and stored answers are free.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.core.errors import ModelError
from promptpex.core.events import Answered, Failed, Listener, ignore_events
from promptpex.core.records import Completion, ModelName, Request
from promptpex.core.response_store import ResponseStore
from promptpex.llm.cache import CachedClient
from promptpex.llm.client import Client, Meter
from promptpex.llm.pacing import CALL_DEADLINE_S, CONCURRENCY, MAX_ATTEMPTS
from promptpex.llm.pacing.budget import Budget, Rates
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.retry import RetryingClient
from promptpex.llm.pacing.server_queue import Limiter
from promptpex.llm.providers.prices import rates_of
from promptpex.llm.record_replay import RecordingClient
from promptpex.llm.resolve_model import resolve
from promptpex.llm.structured import SchemaFallback


@dataclass(frozen=True, slots=True)
class StackOptions:
    """Settings of the wrappers.

    Attributes:
        concurrency: most requests in flight to one server.
        rpm, tpm: most requests, and tokens, per minute and server; None = no limit.
        call_deadline_s: seconds for one request with its attempts, queueing not included.
        run_deadline_s: seconds after which nothing is sent any more; None = no limit.
        max_attempts: tries of one request.
        max_cost, max_requests, max_tokens: the run's budget; None = no limit.
        fresh: whether nothing is taken from the store.
        record: file that the run is recorded in.
        prices: the user's own: model name to US dollars per million tokens in and out.
    """

    concurrency: int = CONCURRENCY
    rpm: int | None = None
    tpm: int | None = None
    call_deadline_s: float = CALL_DEADLINE_S
    run_deadline_s: float | None = None
    max_attempts: int = MAX_ATTEMPTS
    max_cost: float | None = None
    max_requests: int | None = None
    max_tokens: int | None = None
    fresh: bool = False
    record: Path | str | None = None
    prices: Mapping[str, Rates] = field(default_factory=dict)


class Stack:
    """A provider in all its wrappers: the client that the stages are handed.

    Attributes:
        meter: what was asked so far.
        budget: what was spent of what may be.
    """

    def __init__(
        self, inner: Client, *, meter: Meter, budget: Budget, cancel_token: CancelToken, emit: Listener = ignore_events
    ) -> None:
        self._inner = inner
        self._cancel_token = cancel_token
        self._emit = emit
        self.meter = meter
        self.budget = budget

    @property
    def cancelled(self) -> bool:
        return self._cancel_token.cancelled

    async def complete(self, request: Request) -> Completion:
        """The answer to ``request``: stored, or asked for.

        Raises:
            ModelError: the model could not answer, or was not asked (``BudgetExceeded``, ``Stopped``).
            StoreError: the answer could not be stored.
        """
        label = request.label or request.model
        try:
            completion = await self._inner.complete(request)
        except ModelError as error:
            self.meter.failed(request)
            self._emit(Failed(label, request.stage, request.id, error.reason, error.message))
            raise
        self.meter.answered(request, completion)
        counts = completion.latency_ms, completion.tokens_in, completion.tokens_out, completion.cost_usd
        self._emit(Answered(label, request.stage, request.id, completion.cached, *counts))
        return completion

    def counting_apart(self) -> Stack:
        """The same stack with a meter of its own, for what is asked through it alone; attempts are not in it."""
        return Stack(self, meter=Meter(), budget=self.budget, cancel_token=self._cancel_token)

    def cancel(self) -> None:
        """Sends nothing more: what is not sent yet ends with ``Stopped``, and so does what is in flight after a few
        seconds; stored answers are still given.

        To be called in the event loop's thread; may be called twice.
        """
        self._cancel_token.cancel()

    async def close(self) -> None:
        """Closes the wrappers and the provider; the store belongs to whoever opened it. May be called twice."""
        await self._inner.close()


def build(
    provider: Client,
    *,
    store: ResponseStore | None,
    emit: Listener = ignore_events,
    rng: random.Random,
    clock: Callable[[], float],
    options: StackOptions,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Stack:
    """``provider`` in its wrappers.


    Raises:
        ConfigError: the recording cannot be written.
    """
    cancel_token, meter = CancelToken(), Meter()
    limits = options.max_cost, options.max_requests, options.max_tokens
    budget = Budget(*limits, rates=lambda request: rates(request, options.prices))
    client: Client = RetryingClient(
        provider,
        limiter=_limiter(options, clock, cancel_token),
        cancel_token=cancel_token,
        rng=rng,
        clock=clock,
        budget=budget,
        max_attempts=options.max_attempts,
        call_deadline_s=options.call_deadline_s,
        run_deadline_s=options.run_deadline_s,
        sleep=sleep,
        meter=meter,
        emit=emit,
    )
    client = SchemaFallback(client, emit)
    if store is not None:
        client = CachedClient(
            client,
            store,
            concurrency=options.concurrency,
            fresh=options.fresh,
            cancel_token=cancel_token,
            sleep=sleep,
            emit=emit,
        )
    if options.record is not None:
        client = RecordingClient(client, options.record)
    return Stack(client, meter=meter, budget=budget, cancel_token=cancel_token, emit=emit)


def _limiter(options: StackOptions, clock: Callable[[], float], cancel_token: CancelToken) -> Limiter:
    return Limiter(
        concurrency=options.concurrency,
        rpm=options.rpm,
        tpm=options.tpm,
        clock=clock,
        cancel_token=cancel_token,
        longest_pause_s=options.call_deadline_s,
    )


def rates(request: Request, prices: Mapping[str, Rates]) -> Rates | None:
    """US dollars per million tokens in and out: the user's, none for local models, the vendor's known ones."""
    return request.price or _rates(request.model, request.api_base, prices)


def rates_for(model: ModelName, prices: Mapping[str, Rates]) -> Rates | None:
    return model.price or _rates(model.name, model.api_base, prices)


def _rates(name: str, api_base: str | None, prices: Mapping[str, Rates]) -> Rates | None:
    own = prices.get(name) or prices.get(name.partition("/")[2])
    if own is not None:
        return own
    source = resolve(name, api_base).price_source
    if source == "free":
        return (0.0, 0.0)
    return rates_of(name) if source == "table" else None
