"""Which models can be reached from here: by keys in the environment, a running Ollama, a server, the embedded one.

No model id is written down in this package: hosted ones come from what the provider lists, or from litellm's table.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Literal

from promptpex.core.errors import ModelError, PromptpexError
from promptpex.core.translation import stored
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.ollama_admin import LocalModel, host_url, list_models
from promptpex.llm.providers.openai_compatible import OpenAICompatible
from promptpex.llm.providers.prices import key_variable, known_models, known_providers, rates_of
from promptpex.llm.providers.weights import DEFAULT_MODEL, found_default

Role = Literal["test", "author", "judge"]
ALL_ROLES: tuple[Role, ...] = ("test", "author", "judge")
NO_JUDGES: tuple[Role, ...] = ("test", "author")
SMALL_MODEL = stored("a very small model: its specs and verdicts are not to be relied on")


LOOK_S = 5.0
"""Seconds for one server's list of models, which `promptpex models` waits for."""


@dataclass(frozen=True, slots=True)
class AvailableModel:
    """A model that can be asked from here.

    Attributes:
        name: as one would write it after ``--models``.
        provider: who answers.
        roles: what it could be used for.
        note: what people should know: size, price, limits.
    """

    name: str
    provider: str
    roles: tuple[Role, ...] = ALL_ROLES
    note: str = ""


async def available_models(
    options: ProviderOptions | None = None, *, today: date | None = None
) -> list[AvailableModel]:
    """What can be reached: hosted models of providers with a key, cheapest first; then local ones; then the embedded.

    Asks only OpenAI (or the named server) and Ollama for their lists, and only where a key or an address says that
    they are used; whoever does not answer within seconds is left out.
    """
    chosen = replace(options or ProviderOptions(), timeout_s=LOOK_S)
    day = today or datetime.now(UTC).date()
    by_source = await asyncio.gather(
        _openai(chosen),
        _server(chosen),
        asyncio.to_thread(_by_keys, day),
        _ollama(),
        asyncio.to_thread(_embedded, chosen),
    )
    return [model for models in by_source for model in models]


def not_found(available: Sequence[AvailableModel], options: ProviderOptions | None = None) -> list[str]:
    """Why there are no models of a kind among ``found``, and what would bring them: a sentence for each kind."""
    kinds = {model.provider for model in available}
    hosted = kinds & {"openai-compatible", "litellm"}
    base = options.api_base if options else None
    reasons = []
    if base and not any(model.note == _at(base) for model in available):
        reasons.append(
            stored(
                "{server}: gave no list of models; one that it serves can be named all the same: openai/NAME.",
                server=base,
            )
        )
    elif not hosted and os.environ.get("OPENAI_API_KEY"):
        reasons.append(
            stored("Hosted models: OPENAI_API_KEY is set, but OpenAI gave no list; check key and connection.")
        )
    elif not hosted:
        reasons.append(stored("Hosted models: no key in the environment, such as OPENAI_API_KEY."))
    if "ollama" not in kinds:
        nothing = stored(
            "Ollama: nothing answers at {server}, or it has no model (promptpex models --pull-model NAME).",
            server=host_url(),
        )
        reasons.append(nothing)
    if "embedded" not in kinds:
        reasons.append(stored("The embedded model: not installed (pip install 'promptpex[embedded]')."))
    return reasons


def _at(base_url: str) -> str:
    return stored("served at {server}", server=base_url)


async def _openai(options: ProviderOptions) -> list[AvailableModel]:
    if not os.environ.get("OPENAI_API_KEY"):
        return []
    names = await _listed(None, options)
    chat = [name for name in names if _is_chat(name)]
    return [AvailableModel(name, "openai-compatible", note=_price(name)) for name in _cheapest_first(chat or names)]


async def _server(options: ProviderOptions) -> list[AvailableModel]:
    if not options.api_base:
        return []
    names = await _listed(options.api_base, options)
    return [AvailableModel(f"openai/{name}", "openai-compatible", note=_at(options.api_base)) for name in names]


async def _listed(base_url: str | None, options: ProviderOptions) -> list[str]:
    client = OpenAICompatible(base_url, options)
    try:
        return await client.models()
    except ModelError:
        return []
    finally:
        await client.close()


def _is_chat(name: str) -> bool:
    model = known_models().get(name)
    return model is not None and model.mode == "chat" and model.answers_in_text


def _by_keys(day: date) -> list[AvailableModel]:
    keyed = sorted(
        name for name in known_providers() if name not in ("openai", "ollama") and os.environ.get(key_variable(name))
    )
    return [model for provider in keyed for model in _of_provider(provider, day)]


def _of_provider(provider: str, day: date) -> Iterable[AvailableModel]:
    names = [
        name
        for name, model in known_models().items()
        if model.provider == provider and model.mode == "chat" and (model.retired_on or "9999") > day.isoformat()
    ]
    return [AvailableModel(_prefixed(name, provider), "litellm", note=_price(name)) for name in _cheapest_first(names)]


def _prefixed(name: str, provider: str) -> str:
    return name if name.startswith(f"{provider}/") else f"{provider}/{name}"


def _cheapest_first(names: Iterable[str]) -> list[str]:
    def price(name: str) -> tuple[float, str]:
        rates = rates_of(name)
        return (sum(rates) if rates else float("inf"), name)

    return sorted(names, key=price)


def _price(name: str) -> str:
    rates = rates_of(name)
    if not rates:
        return stored("price unknown")
    return stored("${low} in, ${high} out per million tokens", low=f"{rates[0]:g}", high=f"{rates[1]:g}")


async def _ollama() -> list[AvailableModel]:
    try:
        models = await asyncio.to_thread(list_models, timeout_s=LOOK_S)
    except PromptpexError:
        return []
    return [AvailableModel(_with_provider(model.name), "ollama", _roles(model), _size(model)) for model in models]


def _roles(model: LocalModel) -> tuple[Role, ...]:
    """A model with less than a billion parameters (``494.03M``) judges nothing."""
    return NO_JUDGES if model.parameters and model.parameters.upper().endswith("M") else ALL_ROLES


def _with_provider(name: str) -> str:
    return name if ":" in name else f"ollama/{name}"


def _size(model: LocalModel) -> str:
    size = f"{model.size_bytes / 1e9:.1f} GB" if model.size_bytes else ""
    about = ", ".join(part for part in (model.parameters, model.quantization, size) if part)
    server = host_url()
    return stored("{about}, served at {server}", about=about, server=server) if about else _at(server)


def _embedded(options: ProviderOptions) -> list[AvailableModel]:
    if importlib.util.find_spec("xllamacpp") is None:
        return []
    try:
        path = found_default(configured=options.embedded_model_path)
    except ModelError as error:
        return [AvailableModel(DEFAULT_MODEL, "embedded", roles=(), note=str(error))]
    note = SMALL_MODEL
    if not path:
        note = stored(
            "a very small model: its specs and verdicts are not to be relied on; its weights (92 MB) would be fetched "
            "first"
        )
    return [AvailableModel(DEFAULT_MODEL, "embedded", NO_JUDGES, note)]
