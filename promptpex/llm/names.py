"""Names of models: reading ``gpt-4o-mini?temperature=0,llama3.2:1b``, and telling who answers to a name.

Nothing is imported or asked over the network to tell; what litellm knows is read from the table that it ships.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import ValidationError

from promptpex.errors import ConfigError, UnknownModel
from promptpex.llm.secrets import scrub
from promptpex.records import ModelName, Params

Provider = Literal["openai-compatible", "ollama", "embedded", "replay", "fake", "litellm"]

PARAMETERS = ("temperature", "max_tokens", "top_p", "seed", "stop", "logprobs")
_RESERVED = ("model", "messages", "stream", "stream_options", "n", "api_key", "response_format")
_OWN_PREFIXES: dict[str, Provider] = {
    "embedded": "embedded",
    "replay": "replay",
    "fake": "fake",
    "ollama": "ollama",
    "ollama_chat": "ollama",
    "openai": "openai-compatible",
}
_OPENAI = re.compile(r"^(?:gpt-(?!oss)|chatgpt-|ft:(?:gpt|o\d)|o\d+(?:$|-)|computer-use-|chat-latest$)")


def parse_models(text: str | Iterable[str], *, api_base: str | None = None) -> tuple[ModelName, ...]:
    """The models that ``text`` names, in order.

    Args:
        text: names divided by commas, or several such texts. Parameters follow a ``?``, joined by ``&``; those that
            ``Params`` knows are typed, others are read as JSON where they are JSON and ride along as ``extra``.
        api_base: the server for those models that name none and whose provider takes one: names with ``openai/``,
            ``ollama/`` or a tag, and names that no provider is known for.

    Raises:
        ConfigError: an empty name, a parameter that cannot be used, or the same label twice.
    """
    parts = [text] if isinstance(text, str) else list(text)
    labels = [label.strip() for part in parts for label in part.split(",")]
    models = tuple(parse_model(label, api_base=api_base) for label in labels if label)
    if not models:
        raise ConfigError("No model is named; write --models NAME,NAME.")
    seen: set[str] = set()
    for model in models:
        if model.label in seen:
            raise ConfigError(f"The model {scrub(model.label)} is named twice; name it once, or vary its parameters.")
        seen.add(model.label)
    return models


def parse_model(label: str, *, api_base: str | None = None) -> ModelName:
    """One model; see ``parse_models``."""
    name, _, query = label.strip().partition("?")
    if not name or name.endswith("/") or any(char.isspace() or not char.isprintable() for char in name):
        raise ConfigError(f"{scrub(label)!r} is no model name; write NAME, NAME?temperature=0 or PROVIDER/NAME.")
    values: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    own_base: str | None = None
    for key, value in _pairs(query, label):
        if key in values or key in extra or (key == "api_base" and own_base is not None):
            raise ConfigError(f"{scrub(label)}: the parameter {key} is given twice; give it once.")
        if key == "api_base":
            own_base = _base(value, label)
        elif key in PARAMETERS:
            values[key] = (value,) if key == "stop" else value
        else:
            extra[key] = _scalar(value)
    base = own_base or (_base(api_base, label) if api_base and takes_base(name) else None)
    return ModelName(name=name, params=_params(values, extra, label), api_base=base, label=label.strip())


def provider_of(
    name: str, api_base: str | None = None, *, known_to_litellm: Callable[[str], bool] | None = None
) -> Provider:
    """Who answers to ``name``: an explicit prefix wins, then the server, then the name's shape, then litellm's table.

    Args:
        name: without parameters.
        api_base: the server that the user named for it. A bare ``name:tag`` there is Ollama's, unless the address
            has a path, as in ``/v1``: then it is an OpenAI-compatible server.
        known_to_litellm: whether litellm serves this name; by its own table unless given.

    Raises:
        UnknownModel: nobody does; similar names are suggested.
    """
    prefix, slash, _ = name.partition("/")
    if slash and prefix in _OWN_PREFIXES:
        return _OWN_PREFIXES[prefix]
    if api_base:
        return "ollama" if _tagged(name) and not urlsplit(api_base).path.strip("/") else "openai-compatible"
    if _OPENAI.match(name):
        return "openai-compatible"
    if _tagged(name):
        return "ollama"
    if (known_to_litellm or litellm_knows)(name):
        return "litellm"
    raise UnknownModel(_unknown(name), model=name)


def litellm_knows(name: str) -> bool:
    """Whether litellm serves ``name``, by its table of models and providers."""
    from promptpex.llm.providers.prices import known_models, known_providers

    prefix, slash, _ = name.partition("/")
    return name in known_models() or bool(slash and prefix in known_providers())


def _tagged(name: str) -> bool:
    """``llama3.2:1b`` or ``someone/model:tag``, but not a path or a fine-tune."""
    head, colon, tag = name.rpartition(":")
    return bool(colon and head and tag) and "/" not in tag and not name.startswith("ft:")


def takes_base(name: str) -> bool:
    """Whether ``--api-base`` is for this model; hosted models of other providers keep their own address."""
    prefix, slash, _ = name.partition("/")
    if slash and prefix in _OWN_PREFIXES:
        return _OWN_PREFIXES[prefix] in ("openai-compatible", "ollama")
    return bool(_OPENAI.match(name)) or _tagged(name) or not litellm_knows(name)


def _pairs(query: str, label: str) -> list[tuple[str, str]]:
    if not query:
        return []
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError as error:
        raise ConfigError(f"{scrub(label)}: the part after ? is not NAME=VALUE&NAME=VALUE; correct it.") from error
    for key, value in pairs:
        if not key or value == "":
            raise ConfigError(f"{scrub(label)}: the parameter {key or '?'} has no value; write {key or 'NAME'}=VALUE.")
        if key in _RESERVED:
            raise ConfigError(f"{scrub(label)}: the parameter {key} is set by promptpex itself; leave it out.")
    return pairs


def _base(value: str, label: str) -> str:
    from promptpex.llm.providers.http import checked_base

    try:
        return checked_base(value)
    except ConfigError as error:
        raise ConfigError(f"{label.partition('?')[0]}: {error.message}") from error


def _scalar(value: str) -> Any:
    """``value`` as JSON if it is a JSON scalar that a request can carry, else as text."""
    try:
        read = json.loads(value, parse_constant=lambda constant: constant)
    except (ValueError, RecursionError):
        return value
    return value if isinstance(read, (list, dict)) or read in (float("inf"), float("-inf")) else read


def _params(values: dict[str, Any], extra: dict[str, Any], label: str) -> Params:
    try:
        params = Params.model_validate({**values, "extra": extra})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ConfigError(f"{scrub(label)}: the parameter {first['loc'][0]} cannot be {first['input']!r}.") from error
    for name, low, high in (("temperature", 0.0, 100.0), ("top_p", 0.0, 1.0), ("max_tokens", 1, 2**31)):
        value = getattr(params, name)
        if value is not None and not low <= value <= high:
            raise ConfigError(f"{scrub(label)}: the parameter {name} must be from {low:g} to {high:g}, not {value:g}.")
    return params


def _unknown(name: str) -> str:
    from promptpex.llm.providers.prices import known_models

    close = difflib.get_close_matches(name, list(known_models()), n=3, cutoff=0.75)
    hint = f"did you mean {' or '.join(close)}? Otherwise " if close else ""
    return (
        f"No provider is known for the model {name}; {hint}write ollama/{name} or {name}:TAG for Ollama, "
        f"openai/{name} with --api-base for a server, or PROVIDER/{name}."
    )
