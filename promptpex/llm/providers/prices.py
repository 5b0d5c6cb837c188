"""What an answer cost: the user's price, else a known one, else unknown. Never 0 for unknown.

Known prices come from the table that litellm ships, read as a file: importing the library would take seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from promptpex.core.records import Completion

_TABLE = "model_prices_and_context_window_backup.json"
_PROVIDERS = "provider_endpoints_support_backup.json"

Prices = Mapping[str, tuple[float, float]]
"""Model name to US dollars per million tokens in and out."""


@lru_cache(maxsize=1)
def known_models() -> Mapping[str, Mapping[str, Any]]:
    """litellm's table: model name to its provider, mode, limits and prices per token; empty without the file."""
    table = _shipped(_TABLE)
    return {name: entry for name, entry in table.items() if isinstance(entry, dict) and name != "sample_spec"}


@lru_cache(maxsize=1)
def known_providers() -> frozenset[str]:
    """Prefixes of model names that litellm serves, by its tables."""
    priced = {str(entry.get("litellm_provider", "")) for entry in known_models().values()}
    listed = _shipped(_PROVIDERS).get("providers")
    names = priced | set(listed if isinstance(listed, dict) else ()) | _enumerated()
    return frozenset(name for name in names if name and " " not in name and "/" not in name)


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


def _enumerated() -> set[str]:
    """litellm's own list of providers, from the source of its types."""
    try:
        text = distribution("litellm").read_text("../litellm/types/utils.py") or ""
    except (PackageNotFoundError, OSError, ValueError):
        return set()
    found = re.search(r"^class LlmProviders\(.*?(?=^\S)", text, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"""^\s+[A-Z0-9_]+\s*=\s*["']([^"']+)["']""", found[0], re.MULTILINE)) if found else set()


def _shipped(name: str) -> dict[str, Any]:
    """A JSON file of the installed litellm; empty without it."""
    try:
        text = distribution("litellm").read_text(f"../litellm/{name}")
        table = json.loads(text) if text else {}
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def price_of(model: str, tokens_in: int | None, tokens_out: int | None, prices: Prices | None = None) -> float | None:
    """US dollars for so many tokens of ``model``; None when the price or a count is unknown.

    Args:
        model: as named by the user, or without its provider.
        tokens_in: tokens of the prompt.
        tokens_out: tokens of the answer.
        prices: the user's own, which win.
    """
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
        entry = known_models()[name]
        rate_in, rate_out = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
        if isinstance(rate_in, (int, float)) and isinstance(rate_out, (int, float)) and (rate_in or rate_out):
            return rate_in * 1e6, rate_out * 1e6
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
    known = known_models()
    own = vendor_of(prefix) if slash else "openai"
    same = [name for name in bare if vendor_of(str(known.get(name, {}).get("litellm_provider", ""))) == own]
    return [name for name in (model, *same) if name in known]


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
