"""A run's budget, shared by all roles: reserved before a request is sent, settled when it is answered.

It is asked below the cache, so stored answers are free, and behind the queue, so that only what is in flight is
reserved. The reservation takes the longest answer that the request allows; the limits are not passed, but for a
provider that counts more tokens than the prompt has bytes for, or ignores ``max_tokens``.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass

from promptpex.codecs.text.wording import plural
from promptpex.core.errors import BudgetExceeded
from promptpex.core.records import Completion, Request
from promptpex.core.translation import stored
from promptpex.llm.pacing import DEFAULT_ANSWER_TOKENS
from promptpex.llm.pacing.cancellation import Changes

BYTES_PER_TOKEN = 3
"""Pessimistic: English has about four."""

TOKENS_PER_MESSAGE = 8
"""For a message's role and separators, pessimistic too."""

Answerer = tuple[str, str | None, str | None]
"""As in ``Request``."""

Rates = tuple[float, float]
"""US dollars per million tokens in and out."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Requests, tokens (in and out) and US dollars; ``unpriced`` requests are in no amount of dollars."""

    requests: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def plus(self, other: Spending) -> Spending:
        return Spending(
            self.requests + other.requests,
            self.tokens + other.tokens,
            self.cost_usd + other.cost_usd,
            self.unpriced + other.unpriced,
        )

    def times(self, count: float) -> Spending:
        return Spending(math.ceil(self.requests * count), math.ceil(self.tokens * count), self.cost_usd * count)

    def minus(self, other: Spending) -> Spending:
        return Spending(
            self.requests - other.requests,
            self.tokens - other.tokens,
            self.cost_usd - other.cost_usd,
            self.unpriced - other.unpriced,
        )


NOTHING = Spending()


class Budget:
    """What may be spent.

    Args:
        max_cost: US dollars.
        max_requests: answered requests.
        max_tokens: tokens in and out.
        rates: the prices of a model; None = unknown, which is refused where ``max_cost`` is set.
    """

    def __init__(
        self,
        max_cost: float | None = None,
        max_requests: int | None = None,
        max_tokens: int | None = None,
        *,
        rates: Callable[[Request], Rates | None] = lambda request: None,
    ) -> None:
        self.max_cost = max_cost
        self.max_requests = max_requests
        self.max_tokens = max_tokens
        self.spent = Spending()
        self._rates = rates
        self._reserved = Spending()
        self._settlements = Changes()
        self._turn = asyncio.Lock()
        self._ended: dict[tuple[str, Answerer], str] = {}

    @property
    def unlimited(self) -> bool:
        return self.max_cost is None and self.max_requests is None and self.max_tokens is None

    @property
    def counts_requests_alone(self) -> bool:
        return self.max_cost is None and self.max_tokens is None

    def has_room_for(self, more: Spending) -> bool:
        return self._passed(self.spent.plus(more)) is None

    async def reserve(self, request: Request) -> Spending:
        """Sets aside what the request may cost; waits for others to be settled where that may make room.

        One after the other, and nothing of a stage to a model once a request of it did not fit: else long prompts and
        long answers would be left out, and the short ones asked.

        Raises:
            BudgetExceeded: it does not fit, or its price is unknown and a cost limit is set.
        """
        need, asked = self._need(request), (request.stage, request.answerer)
        async with self._turn:
            while what := self._ended.get(asked) or self._passed(self.spent.plus(self._reserved).plus(need)):
                if asked in self._ended or not self._reserved.requests or self._passed(self.spent.plus(need)):
                    self._ended[asked] = what
                    raise _spent(request.model, what)
                await self._settlements.wait()
            self._reserved = self._reserved.plus(need)
        return need

    def settle(self, reserved: Spending, used: Spending) -> None:
        self._reserved = self._reserved.minus(reserved)
        self.spent = self.spent.plus(used)
        self._settlements.announce()

    def _need(self, request: Request) -> Spending:
        tokens_in = tokens_of(request)
        tokens_out = request.params.max_tokens or DEFAULT_ANSWER_TOKENS
        return Spending(1, tokens_in + tokens_out, self._cost(request, tokens_in, tokens_out))

    def _cost(self, request: Request, tokens_in: int, tokens_out: int) -> float:
        if self.max_cost is None:
            return 0.0
        rates = self._rates(request)
        if rates is None:
            raise BudgetExceeded(
                stored(
                    "{model} was not asked: its price is unknown, so the limit on cost cannot be kept. Give its price "
                    "in the configuration (prices), or limit requests or tokens instead.",
                    model=request.model,
                ),
                model=request.model,
            )
        return (tokens_in * rates[0] + tokens_out * rates[1]) / 1e6

    def _passed(self, total: Spending) -> str | None:
        if self.max_cost is not None and total.cost_usd > self.max_cost + 1e-12:
            return f"{self.max_cost:g} US dollars"
        if self.max_requests is not None and total.requests > self.max_requests:
            return plural(self.max_requests, "request")
        if self.max_tokens is not None and total.tokens > self.max_tokens:
            return plural(self.max_tokens, "token")
        return None


def _spent(model: str, limit_in_words: str) -> BudgetExceeded:
    message = stored(
        "{model} was not asked: the budget of {limit_in_words} would be passed. Run the same command "
        "with a larger one to go on from here.",
        model=model,
        limit_in_words=limit_in_words,
    )
    return BudgetExceeded(message, model=model)


def tokens_of(request: Request) -> int:
    """Tokens of a request's messages, rather too many than too few."""
    size = sum(len(message.content.encode("utf-8", "surrogatepass")) for message in request.messages)
    return size // BYTES_PER_TOKEN + TOKENS_PER_MESSAGE * len(request.messages)


def used_of(completion: Completion, reserved: Spending) -> Spending:
    """What an answered request took; what the provider did not count is taken as reserved."""
    tokens_known = completion.tokens_in is not None and completion.tokens_out is not None
    tokens = (completion.tokens_in or 0) + (completion.tokens_out or 0) if tokens_known else reserved.tokens
    if completion.cost_usd is not None:
        return Spending(1, tokens, completion.cost_usd)
    return Spending(1, tokens, reserved.cost_usd, unpriced=1)
