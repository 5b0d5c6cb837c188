"""What an answer cost: the user's price, else a known one, else unknown. Never 0 for unknown.

Known prices come from the table that litellm ships, read as a file: importing the library would take seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from promptpex.records import Completion

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
    names = priced | set(listed if isinstance(listed, dict) else ())
    return frozenset(name for name in names if name and " " not in name and "/" not in name)


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
    names = (model, model.partition("/")[2])
    for name in names:
        if name and prices and name in prices:
            return prices[name]
    for name in names:
        entry = known_models().get(name) if name else None
        if entry is None:
            continue
        rate_in, rate_out = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
        if isinstance(rate_in, (int, float)) and isinstance(rate_out, (int, float)) and (rate_in or rate_out):
            return rate_in * 1e6, rate_out * 1e6
    return None


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
