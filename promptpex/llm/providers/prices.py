"""What an answer cost: the user's price, else a known one, else unknown. Never 0 for unknown.

Known prices come from ``known_models.json``, which ``scripts/model_table.py`` makes from litellm's public tables. (The
library itself takes 2 s to import; genai-prices takes 0.14 s and a second HTTP stack, and knows half of the models and
none of the providers' names.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from promptpex.core.records import Completion, Request

TABLE = Path(__file__).with_name("known_models.json")

Prices = Mapping[str, tuple[float, float]]
"""Model name to US dollars per million tokens in and out."""


class KnownModel(NamedTuple):
    """What litellm knows of a model.

    Attributes:
        provider: by litellm's name.
        mode: ``chat``, ``embedding`` ...; None = not said.
        usd_in, usd_out: US dollars per million tokens; None = not said.
        retired_on: ISO date, if there is one.
        answers_in_text: whether text is among what it answers.
    """

    provider: str
    mode: str | None
    usd_in: float | None
    usd_out: float | None
    retired_on: str | None
    answers_in_text: bool


@dataclass(frozen=True, slots=True)
class _Table:
    providers: frozenset[str]
    models: Mapping[str, KnownModel]


@lru_cache(maxsize=1)
def _table() -> _Table:
    data = json.loads(TABLE.read_text(encoding="utf-8"))
    models = {name: KnownModel(*row) for name, row in data["models"].items()}
    return _Table(frozenset(data["providers"]), models)


def known_models() -> Mapping[str, KnownModel]:
    return _table().models


def known_providers() -> frozenset[str]:
    return _table().providers


def key_variable(provider: str) -> str:
    return f"{provider.upper().replace('-', '_')}_API_KEY"


def vendor_of(provider: str) -> str:
    """Whose service a provider of litellm's is: it has several names for one vendor's APIs and kinds of models."""
    base = "vertex_ai" if provider.startswith("vertex_ai") else provider.removesuffix("-embedding-models")
    return _ONE_SERVICE.get(base, base)


_ONE_SERVICE = {
    "bedrock_converse": "bedrock",
    "cohere_chat": "cohere",
    "ai21_chat": "ai21",
    "anthropic_text": "anthropic",
    "azure_text": "azure",
    "text-completion-openai": "openai",
    "custom_openai": "openai",
    "aiohttp_openai": "openai",
    "text-completion-codestral": "codestral",
    "text-completion-inception": "inception",
    "sagemaker_chat": "sagemaker",
    "sagemaker_nova": "sagemaker",
    "watsonx_text": "watsonx",
}


def price_of(model: str, tokens_in: int | None, tokens_out: int | None, prices: Prices | None = None) -> float | None:
    """US dollars for so many tokens of ``model``; None when the price or a count is unknown."""
    if tokens_in is None or tokens_out is None:
        return None
    rates = rates_of(model, prices)
    return None if rates is None else (tokens_in * rates[0] + tokens_out * rates[1]) / 1e6


def rates_of(model: str, prices: Prices | None = None) -> tuple[float, float] | None:
    """US dollars per million tokens in and out; None = unknown."""
    for name in (model, model.partition("/")[2]):
        if name and prices and name in prices:
            return prices[name]
    if model.startswith("openrouter/") and model.endswith(":free"):
        return (0.0, 0.0)
    for name in _listed_as(model):
        usd_in, usd_out = known_models()[name].usd_in, known_models()[name].usd_out
        if usd_in is not None and usd_out is not None and (usd_in or usd_out):
            return usd_in, usd_out
    return None


def _listed_as(model: str) -> list[str]:
    """The entries of the table that hold for ``model``, the most exact first.

    A name without its provider's prefix counts only if the entry is that provider's own: another vendor's price for a
    model of the same name is another price. A fine-tuned model is listed by the model that it was made from.
    """
    prefix, slash, rest = model.partition("/")
    bare = [rest, rest.rpartition("/")[2]] if slash else []
    tuned = [name.split(":") for name in (model, *bare)]
    bare += [":".join(parts[:2]) for parts in tuned if parts[0] == "ft" and len(parts) > 2]
    models = known_models()
    own = vendor_of(prefix) if slash else "openai"
    same = [name for name in bare if name in models and vendor_of(models[name].provider) == own]
    return [name for name in (model, *same) if name in models]


def cost_of(model: str, answer: Completion, *, prices: Prices | None = None, hosted: bool = True) -> float | None:
    """What ``answer`` cost.

    Args:
        model: as named by the user.
        answer: with its token counts.
        prices: the user's own.
        hosted: whether the model's vendor serves it; on other servers only the user knows the price.
    """
    if hosted or (prices and (model in prices or model.partition("/")[2] in prices)):
        return price_of(model, answer.tokens_in, answer.tokens_out, prices)
    return None


def with_own_price(completion: Completion, request: Request, *, only_unknown: bool = False) -> Completion:
    """The answer with its cost by the price that the settings give its model (``[models.small]``), if they give one.

    The price goes with the request and not with the model, as one model may have another at each of its servers.

    Args:
        only_unknown: whether a cost that is known stays: what a stored answer cost when it was paid for.
    """
    if request.price is None or (only_unknown and completion.cost_usd is not None):
        return completion
    usd_in, usd_out = request.price
    counts = completion.tokens_in, completion.tokens_out
    cost = None if None in counts else ((counts[0] or 0) * usd_in + (counts[1] or 0) * usd_out) / 1e6
    return completion.replace(cost_usd=cost, cached=completion.cached)
