"""Everything that answers: a module for each provider, and the router that chooses among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from promptpex.core.events import Listener, ignore_events


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """Settings of the providers.

    Attributes:
        api_base: base URL for models that name none themselves and whose provider takes one.
        key_servers: origins (scheme, host, port) that the user named by flag or environment, or allowed: the only ones
            of no known provider that are sent a key.
        timeout_s: seconds that one request may take, from sending to the last byte.
        pull: whether a model that Ollama lacks may be downloaded by it.
        prices: the user's own prices: model name to US dollars per million tokens in and out.
        embedded_threads: CPU threads of the embedded model; None = by the machine.
        embedded_slots: requests that the embedded model answers side by side.
        embedded_model_path: the GGUF file behind ``embedded/smollm2-135m``, instead of the usual places.
        emit: receives notices, such as a parameter that a model refuses.
    """

    api_base: str | None = None
    key_servers: frozenset[str] = frozenset()
    timeout_s: float = 300.0
    pull: bool = False
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    embedded_threads: int | None = None
    embedded_slots: int = 1
    embedded_model_path: str | None = None
    emit: Listener = ignore_events
