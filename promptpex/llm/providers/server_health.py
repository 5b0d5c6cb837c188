"""Whether each of several servers of a model can be reached, and lists the model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from promptpex.core.errors import PromptpexError
from promptpex.core.records import ModelName
from promptpex.llm.providers.ollama_admin import list_models
from promptpex.llm.providers.openai_compatible import OpenAICompatible, bare_name
from promptpex.llm.providers.options import ProviderOptions
from promptpex.llm.resolve_model import resolve

LOOK_S = 5.0
"""Seconds for one server's list of models, which `promptpex models` waits for."""


@dataclass(frozen=True, slots=True)
class ServerLook:
    """What a server said when it was asked for its models.

    Attributes:
        server: its base URL.
        model: the model's name as the server knows it.
        listed: the ids of its models; None where it gave no list.
        lists_model: whether the model is among them.
        problem: why there is no list.
    """

    server: str
    model: str
    listed: tuple[str, ...] | None = None
    lists_model: bool = False
    problem: str = ""


async def look_at_servers(model: ModelName, options: ProviderOptions) -> tuple[ServerLook, ...]:
    """What each server of the model says, in their order; all are asked at once."""
    quick = replace(options, timeout_s=LOOK_S)
    return tuple(await asyncio.gather(*(_look(model, server, quick) for server in model.addresses)))


async def _look(model: ModelName, server: str, options: ProviderOptions) -> ServerLook:
    model_name = bare_name(model.name).removeprefix("ollama/")
    try:
        listed_models = await _listed(model, server, options)
    except PromptpexError as error:
        return ServerLook(server, model_name, problem=getattr(error, "message", str(error)))
    return ServerLook(
        server, model_name, tuple(listed_models), model_name in listed_models or f"{model_name}:latest" in listed_models
    )


async def _listed(model: ModelName, server: str, options: ProviderOptions) -> Sequence[str]:
    if resolve(model.name, server).provider == "ollama":
        return [each.name for each in await asyncio.to_thread(list_models, server, timeout_s=LOOK_S)]
    client = OpenAICompatible(server, options)
    try:
        return await client.models(model.key_env)
    finally:
        await client.close()
