"""Everything that answers: one client per provider, and the router that chooses among them."""

from __future__ import annotations

from promptpex.llm.providers.discovery import AvailableModel, available_models
from promptpex.llm.providers.openai_compatible import key_for
from promptpex.llm.providers.options import ProviderOptions
from promptpex.llm.providers.router import Router

__all__ = ["ProviderOptions", "AvailableModel", "Router", "key_for", "available_models"]
