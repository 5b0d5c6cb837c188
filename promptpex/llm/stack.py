"""The wrappers in their order around a provider.

::

    RecordingClient    what the run asked and got, stored answers and errors included
      MeteredClient    counts and events
        OwnPriceClient   reckons what was stored before its model had a price
          CachedClient   paid for once; lets so many through at a time
            SchemaFallback   reply schemas in words where a model takes none
              FirstRequestClient      each model once before many times
                RetryingClient   queue, deadlines, budget, attempts
                  FirstAttemptClient      the first attempt's answer lets all go
                      OwnPriceClient   reckons by the price of a named model
                        CountedClient    counts what is sent
                          the provider

The id of a request is taken above the fallback, so what is learned about a model changes no id. The budget is asked
behind the queue, so that what merely waits reserves nothing, and stored answers are free.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import Completion, ModelName, Request
from promptpex.core.response_store import ResponseStore
from promptpex.llm.cache import CachedClient
from promptpex.llm.client import Client, Loading
from promptpex.llm.meter import Meter, MeteredClient
from promptpex.llm.own_price import OwnPriceClient
from promptpex.llm.pacing import CALL_DEADLINE_S, CONCURRENCY, DRAIN_S, MAX_ATTEMPTS
from promptpex.llm.pacing.budget import Budget, Rates
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.first_request import FirstAttemptClient, FirstRequestClient, FirstRequestGate
from promptpex.llm.pacing.retry import RetryingClient, RetryPolicy
from promptpex.llm.pacing.server_queue import Limiter
from promptpex.llm.providers.prices import rates_of
from promptpex.llm.record_replay import RecordingClient
from promptpex.llm.resolve_model import resolve
from promptpex.llm.schema_fallback import SchemaFallback
from promptpex.llm.sent_signal import CountedClient


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

    @property
    def gives_up_s(self) -> float:
        """Seconds after which a request without an answer ends."""
        if self.run_deadline_s is None:
            return self.call_deadline_s
        return min(self.call_deadline_s, self.run_deadline_s + DRAIN_S)


class Stack:
    """A provider in all its wrappers: the client that the stages are handed.

    Attributes:
        meter: what was asked so far.
        budget: what was spent of what may be.
    """

    def __init__(self, outermost: Client, *, meter: Meter, budget: Budget, cancel_token: CancelToken) -> None:
        self._outermost = outermost
        self._cancel_token = cancel_token
        self.meter = meter
        self.budget = budget

    @property
    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._cancel_token.cancelled

    async def complete(self, request: Request) -> Completion:
        """The answer to ``request``: stored, or asked for.

        Raises:
            ModelError: the model could not answer, or was not asked (``BudgetExceeded``, ``Stopped``).
            StoreError: the answer could not be stored.
        """
        return await self._outermost.complete(request)

    def counting_apart(self) -> Stack:
        """The same stack with a meter of its own, for what is asked through it alone; attempts are not in it."""
        meter = Meter()
        apart = MeteredClient(self._outermost, meter)
        return Stack(apart, meter=meter, budget=self.budget, cancel_token=self._cancel_token)

    def cancel(self) -> None:
        """Sends nothing more: what is not sent yet ends with ``Stopped``, and so does what is in flight after a few
        seconds; stored answers are still given.

        To be called in the event loop's thread; may be called twice.
        """
        self._cancel_token.cancel()

    async def close(self) -> None:
        """Closes the wrappers and the provider; the store belongs to whoever opened it. May be called twice."""
        await self._outermost.close()


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

    Args:
        provider: who answers.
        store: where answers are kept; None = nowhere.
        emit: receives what happens.
        rng: draws the jitter of retries.
        clock: seconds, monotonic.
        options: the settings.
        sleep: waits that many seconds.

    Raises:
        ConfigError: the recording cannot be written.
    """
    cancel_token, meter, gate, budget = CancelToken(), Meter(), FirstRequestGate(), _budget(options)
    client: Client = OwnPriceClient(CountedClient(provider, meter, emit, gives_up_s=options.gives_up_s))
    client = FirstAttemptClient(client, gate, loading=provider if isinstance(provider, Loading) else None)
    client = RetryingClient(
        client,
        RetryPolicy(
            options.max_attempts, call_deadline_s=options.call_deadline_s, run_deadline_s=options.run_deadline_s
        ),
        limiter=_limiter(options, clock, cancel_token),
        budget=budget,
        cancel_token=cancel_token,
        rng=rng,
        clock=clock,
        sleep=sleep,
        emit=emit,
    )
    client = SchemaFallback(FirstRequestClient(client, gate, emit), emit)
    if store is not None:
        cached = partial(CachedClient, client, store, concurrency=options.concurrency, fresh=options.fresh)
        client = OwnPriceClient(cached(cancel_token=cancel_token, sleep=sleep, emit=emit), only_unknown=True)
    client = MeteredClient(client, meter, emit)
    if options.record is not None:
        client = RecordingClient(client, options.record)
    return Stack(client, meter=meter, budget=budget, cancel_token=cancel_token)


def _budget(options: StackOptions) -> Budget:
    return Budget(
        options.max_cost,
        options.max_requests,
        options.max_tokens,
        rates=lambda request: rates(request, options.prices),
    )


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
    """As ``rates``, for a model that requests will go to."""
    return model.price or _rates(model.name, model.api_base, prices)


def _rates(name: str, api_base: str | None, prices: Mapping[str, Rates]) -> Rates | None:
    own = prices.get(name) or prices.get(name.partition("/")[2])
    if own is not None:
        return own
    source = resolve(name, api_base).price_source
    if source == "free":
        return (0.0, 0.0)
    return rates_of(name) if source == "table" else None
