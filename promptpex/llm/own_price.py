"""The cost of answers of a model to which the settings give a price under its own name (``[models.small]``)."""

from __future__ import annotations

from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client


class OwnPriceClient:
    """Puts the cost on answers to requests that carry a price; all others pass as they are.

    One model may have a price at each of its servers, so the price goes with the request and not with the model.

    Args:
        only_unknown: whether a cost that is known stays: what a stored answer cost when it was paid for.
    """

    def __init__(self, inner: Client, *, only_unknown: bool = False) -> None:
        self._inner = inner
        self._only_unknown = only_unknown

    async def complete(self, request: Request) -> Completion:
        """The answer of ``inner``; its cost is unknown where its tokens were not counted."""
        completion = await self._inner.complete(request)
        if request.price is None or (self._only_unknown and completion.cost_usd is not None):
            return completion
        usd_in, usd_out = request.price
        counts = completion.tokens_in, completion.tokens_out
        cost = None if None in counts else ((counts[0] or 0) * usd_in + (counts[1] or 0) * usd_out) / 1e6
        return completion.replace(cost_usd=cost, cached=completion.cached)

    async def close(self) -> None:
        """Closes ``inner``."""
        await self._inner.close()
